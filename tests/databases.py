"""Databases for the tests: SQLite files, and a private Postgres server if its programs are installed.

The server listens on a socket in a temporary directory and on a free port of the loopback address, runs as
the user `postgres` when the tests run as root (initdb refuses root), and ends with the tests. Without its
programs the Postgres half is skipped, loudly; with CI=true that is a failure.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from models import migrate
from models.engine.connect import open_database
from models.engine.database import Database

STOP_PATIENCE = 3.0  # seconds

_numbers = itertools.count(1)

# Locales for CREATE DATABASE on Postgres: one without letters beyond ASCII, and one with special letters.
NO_LETTERS = "LC_COLLATE 'C' LC_CTYPE 'C'"
TURKISH = "LOCALE_PROVIDER icu ICU_LOCALE 'tr'"


class Server:
    """A Postgres server that the tests own."""

    configured = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=32MB",
                  "max_connections=100", "log_min_messages=fatal", "autovacuum=off")

    def __init__(self, programs: Path, directory: Path) -> None:
        self.programs, self.directory = programs, directory
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        if os.geteuid() == 0:
            os.chown(directory, pwd.getpwnam("postgres").pw_uid, -1)
        self._fill()

    @cached_property
    def quick_copy(self) -> str:
        """The option of CREATE DATABASE that copies files without logging pages; older servers always do that."""
        with psycopg.connect(self.url("postgres")) as connection:
            return "STRATEGY FILE_COPY" if connection.info.server_version >= 150_000 else ""

    def url(self, name: str) -> str:
        return f"postgresql://gatepost@127.0.0.1:{self.port}/{name}"

    def start(self) -> None:
        # A server that is killed would leave its shared memory in /dev/shm. In its own folder, it goes with that.
        configured = ("listen_addresses=127.0.0.1", "dynamic_shared_memory_type=mmap", *self.configured)
        self.process = subprocess.Popen(
            [*self._as_postgres(), str(self.programs / "postgres"), "-D", str(self.directory / "data"),
             "-p", str(self.port), "-k", str(self.directory), *itertools.chain(*(("-c", each) for each in configured))],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(1200):
            with contextlib.suppress(psycopg.OperationalError):
                psycopg.connect(self.url("postgres"), connect_timeout=1).close()
                return
            if self.process.poll() is not None:
                raise RuntimeError("the Postgres server of the tests did not start")
            time.sleep(0.05)
        raise RuntimeError("the Postgres server of the tests does not answer")

    def stop(self) -> None:
        """Stops the server at once. Its connections end as in a power cut."""
        if self.process is not None:
            self.process.send_signal(signal.SIGQUIT)
            try:
                self.process.wait(timeout=STOP_PATIENCE)
            except subprocess.TimeoutExpired:
                # A backend stopped during its start may ignore the signal, and Postgres waits a minute for it.
                self._signal(_children(self.process.pid), signal.SIGKILL)
                self.process.wait(timeout=30)
            self.process = None

    def kill(self) -> None:
        """Kills all its processes with SIGKILL."""
        if self.process is not None:
            # A process that is stopped first cannot start others.
            self._signal([self.process.pid], signal.SIGSTOP)
            self._signal([*_children(self.process.pid), self.process.pid], signal.SIGKILL)
            self.process.wait(timeout=30)
            self.process = None

    @contextlib.contextmanager
    def silent(self) -> Iterator[None]:
        """Stops the server with SIGSTOP during the block: the kernel still accepts connections and data."""
        assert self.process is not None
        stopped = self._signal([self.process.pid], signal.SIGSTOP)
        # Processes that were starting have started now.
        stopped += self._signal(_children(self.process.pid), signal.SIGSTOP)
        try:
            yield
        finally:
            self._signal(stopped, signal.SIGCONT)

    @contextlib.contextmanager
    def lost_standby(self) -> Iterator[None]:
        """Makes commits wait for a missing standby, if `synchronous_commit` is on. Everything else continues."""
        self.configure("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        try:
            self._until_a_commit_waits()
            yield
        finally:
            self.configure("ALTER SYSTEM RESET synchronous_standby_names")

    @contextlib.contextmanager
    def refusing(self, url: str) -> Iterator[None]:
        """Ends the connections to that database, and refuses new ones during the block."""
        name = urlsplit(url).path.removeprefix("/")
        self.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        try:
            self.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
            yield
        finally:
            self.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")

    def execute(self, statement: str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement)

    def configure(self, change: str) -> None:
        """Runs ALTER SYSTEM, and waits until the server has read it."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            before = connection.execute("SELECT pg_conf_load_time()").fetchone()
            connection.execute(change)
            connection.execute("SELECT pg_reload_conf()")
            for _ in range(2000):
                if connection.execute("SELECT pg_conf_load_time()").fetchone() != before:
                    return
                time.sleep(0.01)
        raise RuntimeError("the Postgres server of the tests does not read its configuration")

    def _until_a_commit_waits(self) -> None:
        """Waits until the checkpointer, too, has read the configuration: only then commits wait."""
        for _ in range(200):
            with psycopg.connect(self.url("postgres"), autocommit=True,
                                 options="-c synchronous_commit=on") as connection:
                canceller = threading.Timer(0.2, connection.cancel_safe)
                noticed: list[psycopg.errors.Diagnostic] = []
                connection.add_notice_handler(noticed.append)
                canceller.start()
                connection.execute("SELECT pg_logical_emit_message(true, '', '')")
                canceller.cancel()
                canceller.join()
                if noticed:
                    # A cancelled wait of a commit warns that the standby may not have it.
                    return
        raise RuntimeError("no commit waits for the standby that is not there")

    def _fill(self) -> None:
        self._run("initdb", "--pgdata", str(self.directory / "data"), "--username", "gatepost", "--auth", "trust",
                  "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync")

    def _signal(self, processes: list[int], number: int) -> list[int]:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)
        return processes

    def _as_postgres(self) -> list[str]:
        if os.geteuid() != 0:
            return []
        return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [*self._as_postgres(), str(self.programs / program), *arguments], cwd=self.directory,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{program}: {done.stderr or done.stdout}")


@contextlib.contextmanager
def turn_held(database: Path) -> Iterator[None]:
    """Holds the write lock of the SQLite database in that file, in another process."""
    descriptor = os.open(f"{database}.writer-lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(descriptor)


def _children(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def free_port() -> int:
    """Returns a port of the loopback address on which no program listens now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def find_programs() -> Path | None:
    """Returns the folder of initdb and postgres: on the PATH, else the newest of Debian's folders."""
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


def missing(reason: str) -> None:
    """Skips the test, or fails if nothing may be skipped."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    print(f"\n*** NOT TESTED ON POSTGRES: {reason} ***", file=sys.__stderr__)
    pytest.skip(reason)


def programs_of_postgres() -> Path:
    """Returns the folder of the programs. Skips if there are none, or no user to run them as."""
    programs = find_programs()
    if programs is None:
        missing("no initdb and postgres on this machine")
    if os.geteuid() == 0 and not any(user.pw_name == "postgres" for user in pwd.getpwall()):
        missing("initdb refuses root, and there is no user postgres to run it as")
    return programs


@contextlib.contextmanager
def running_server() -> Iterator[Server]:
    programs = programs_of_postgres()
    directory = Path(tempfile.mkdtemp(prefix="gatepost-postgres-"))
    server = Server(programs, directory)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """A running Postgres server, for the whole run."""
    with running_server() as server:
        yield server


@pytest.fixture(scope="module")
def own_server() -> Iterator[Server]:
    """A server for one module, which may stop it or remove its standby. Its database `gatepost` is migrated."""
    with running_server() as server:
        server.execute("CREATE DATABASE gatepost")
        prepare(server.url("gatepost"))
        yield server


@pytest.fixture(scope="session")
def postgres_template(postgres_server: Server) -> str:
    """The name of a migrated database, from which others are copied."""
    postgres_server.execute("CREATE DATABASE migrated")
    prepare(postgres_server.url("migrated"))
    return "migrated"


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a migrated database, from which others are copied."""
    path = tmp_path_factory.mktemp("template") / "migrated.db"
    prepare(f"sqlite:///{path}")
    return path


def prepare(url: str) -> None:
    """Applies all migrations to the empty database at `url`."""
    database = open_database(url, pool_size=1, synchronous="normal", statement_timeout=60)
    migrate.upgrade(database)
    database.close_all()


def new_database(dialect: str, request: pytest.FixtureRequest, *, migrated: bool = True, locale: str = "") -> str:
    """Returns the URL of a new database, migrated or empty; with a `locale` for CREATE DATABASE it is empty."""
    if dialect == "sqlite":
        factory = request.getfixturevalue("tmp_path_factory")
        path = factory.mktemp("database") / "gatepost.db"
        if migrated:
            shutil.copy(request.getfixturevalue("sqlite_template"), path)
        return f"sqlite:///{path}"
    server = request.getfixturevalue("postgres_server")
    name = f"gatepost_{os.getpid()}_{next(_numbers)}"
    template = request.getfixturevalue("postgres_template") if migrated and not locale else "template0"
    server.execute(f"CREATE DATABASE {name} TEMPLATE {template} {locale} {server.quick_copy}")
    return server.url(name)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """The URL of a new, migrated database for each test module, on each dialect."""
    return new_database(request.param, request)


@pytest.fixture(scope="module", params=["sqlite"], name="database_url")
def on_sqlite(request: pytest.FixtureRequest) -> str:
    """`database_url` for modules that import this, because their answers are the same on each database.

    `each_database` runs one of their tests on Postgres, too.
    """
    return new_database(request.param, request)


each_database = pytest.mark.parametrize("database_url", ["sqlite", "postgres"], indirect=True, scope="module")


@pytest.fixture(scope="module")
def opened(database_url: str) -> Iterator[Database]:
    """The database of `database_url`, opened without a connection: for tests with threads of their own."""
    database = open_database(database_url, pool_size=20, synchronous="normal", statement_timeout=10)
    yield database
    database.close_all()


@pytest.fixture
def database(opened: Database) -> Iterator[Database]:
    """The database as the current one, with one connection."""
    with opened.connected():
        yield opened


class _Undo(Exception):
    pass


@contextlib.contextmanager
def undone(database: Database) -> Iterator[None]:
    """Runs the block in one transaction, which is rolled back."""
    with contextlib.suppress(_Undo), database.connected(), database.writing(), database.atomic():
        yield
        raise _Undo


class Statements(list[object]):
    """Statements of one thread: `note` appends one. It ignores statements of the app's background tasks."""

    def __init__(self) -> None:
        super().__init__()
        self._thread = threading.get_ident()

    def note(self, sent: object) -> None:
        if threading.get_ident() == self._thread:
            self.append(sent)
