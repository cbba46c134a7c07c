"""The write-ahead log is deleted while processes have it open: writes stop, and its contents are saved."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest

from models.base import new_id
from models.engine.connect import open_database
from models.engine.errors import LostLog
from models.engine.sqlite.database import SqliteDatabase
from models.tables.tenant import Tenant
from tests.databases import new_database
from tests.running import wait_until

OTHER = """
import sys
from models.base import new_id
from models.engine.connect import open_database
from models.engine.errors import RowError
from models.tables.tenant import Tenant
database = open_database(sys.argv[1], pool_size=2, synchronous="normal")
for line in sys.stdin:
    name = new_id()
    try:
        if line == "watch\\n":
            database.watch()
        else:
            database.transact(lambda: Tenant.add(name))
    except RowError as error:
        print(type(error).__name__, error, flush=True)
    else:
        print(name, flush=True)
"""


def opened(file: Path) -> SqliteDatabase:
    database = open_database(f"sqlite:///{file}", pool_size=4, synchronous="normal")
    assert isinstance(database, SqliteDatabase)
    return database


def write(database: SqliteDatabase) -> str:
    name = new_id()
    database.transact(lambda: Tenant.add(name))
    return name


class Other:
    """Another process with the database open."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, what: str = "write") -> str:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def other_process(file: Path) -> Iterator[Other]:
    with subprocess.Popen([sys.executable, "-c", OTHER, f"sqlite:///{file}"], text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        try:
            yield Other(process)
        finally:
            process.kill()


@pytest.fixture
def running(request: pytest.FixtureRequest) -> Iterator[SqliteDatabase]:
    database = opened(Path(new_database("sqlite", request).removeprefix("sqlite:///")))
    yield database
    database.close_all()


def side(database: SqliteDatabase, suffix: str) -> Path:
    return Path(f"{database.path}{suffix}")


def in_the_file(database: SqliteDatabase, folder: Path) -> set[str]:
    """Returns the names in the file without a log, after all processes were killed."""
    with closing(apsw.Connection(str(shutil.copy(database.path, folder / "left.db")))) as conn:
        return {name for (name,) in conn.execute("SELECT name FROM tenants")}


def test_nothing_is_acknowledged_any_more_and_all_of_the_log_is_saved(running: SqliteDatabase, tmp_path: Path) -> None:
    names = {write(running) for _ in range(40)}
    with running.connected():
        pass  # a connection that reads
    side(running, "-wal").unlink()
    for _ in range(2):
        with pytest.raises(LostLog, match="-wal was deleted or replaced"):
            write(running)
    wait_until(lambda: running.pair.log.settled)
    assert names <= in_the_file(running, tmp_path)
    with running.connected():
        assert len(running.query("SELECT name FROM tenants")) >= 40, "what is there can be read"
    assert "start Gatepost again" in str(running.fault())
    assert "-wal.saved is a copy of it" in str(running.loss())


def test_a_process_that_writes_nothing_notices_it_by_looking(running: SqliteDatabase, tmp_path: Path) -> None:
    names = {write(running) for _ in range(5)}
    side(running, "-wal").unlink()
    running.watch()
    assert running.pair.log.settled
    assert names <= in_the_file(running, tmp_path)


def test_a_process_that_stops_before_it_looks_saves_the_log(running: SqliteDatabase, tmp_path: Path) -> None:
    names = {write(running) for _ in range(5)}
    side(running, "-wal").unlink()
    running.close_all()
    assert names <= in_the_file(running, tmp_path)


def test_the_next_start_writes_again_and_tells_until_the_copy_is_moved_away(running: SqliteDatabase) -> None:
    names = {write(running) for _ in range(5)}
    side(running, "-wal").unlink()
    running.close_all()
    names.add(write(running))
    with running.connected():
        assert names <= {tenant.name for tenant in Tenant.all()}
    assert running.fault() is None
    assert "All that it held is in" in str(running.loss())
    for suffix in ("-wal.saved", "-wal.saved.txt"):
        side(running, suffix).unlink()
    assert running.loss() is None


def test_the_copy_is_the_log_as_it_was_and_readable_by_its_owner_alone(running: SqliteDatabase) -> None:
    for _ in range(5):
        write(running)
    log = side(running, "-wal").read_bytes()
    side(running, "-wal").unlink()
    running.watch()
    saved = side(running, "-wal.saved")
    assert saved.read_bytes().startswith(log)
    assert [path.stat().st_mode & 0o777 for path in (saved, Path(f"{saved}.txt"))] == [0o600, 0o600]


def test_a_second_loss_keeps_the_first_copy(running: SqliteDatabase) -> None:
    for _ in range(2):
        write(running)
        side(running, "-wal").unlink()
        running.close_all()
    assert side(running, "-wal.saved").read_bytes() != side(running, "-wal.saved.2").read_bytes()


def test_all_processes_stop_and_nothing_of_any_is_lost(running: SqliteDatabase, tmp_path: Path) -> None:
    with other_process(running.path) as other:
        names = {write(running), other.ask(), write(running), other.ask()}
        side(running, "-wal").unlink()
        assert other.ask().startswith("LostLog")
        with pytest.raises(LostLog):
            write(running)
        wait_until(lambda: running.pair.log.settled)
        other.kill()
    assert names <= in_the_file(running, tmp_path)


def test_a_process_that_opens_the_database_afterwards_is_refused_and_changes_nothing(running: SqliteDatabase) -> None:
    for _ in range(5):
        write(running)
    side(running, "-wal").unlink()
    with other_process(running.path) as other:
        assert "is not the log that other processes of Gatepost have open" in other.ask()
    assert not side(running, "-wal").exists() or not side(running, "-wal").stat().st_size


def test_a_log_that_another_process_has_begun_is_left_and_so_is_the_file(running: SqliteDatabase) -> None:
    write(running)
    for suffix in ("-wal", "-shm"):
        side(running, suffix).unlink()
    with other_process(running.path) as other:
        theirs = other.ask()
        before = side(running, "-wal").read_bytes(), running.path.read_bytes()
        with pytest.raises(LostLog):
            write(running)
        wait_until(lambda: running.pair.log.settled)
        assert (side(running, "-wal").read_bytes(), running.path.read_bytes()) == before
        other.kill()
    assert "another process has begun a new" in str(running.fault())
    assert "another process has begun a new" in str(running.loss())
    running.close_all()
    with running.connected():
        assert theirs in {tenant.name for tenant in Tenant.all()}
    running.close_all()
    # As in docs/running/failures.md: the saved log replaces the new one.
    assert not side(running, "-wal").exists()


def test_the_saved_log_can_be_put_back_in_the_place_of_a_new_one(running: SqliteDatabase, tmp_path: Path) -> None:
    names = {write(running) for _ in range(5)}
    for suffix in ("-wal", "-shm"):
        side(running, suffix).unlink()
    with other_process(running.path) as other:
        other.ask()
        running.watch()
        other.kill()
    for suffix in ("-wal", "-shm"):
        side(running, suffix).rename(tmp_path / suffix)
    shutil.copy(side(running, "-wal.saved"), side(running, "-wal"))
    with other_process(running.path) as other:
        names.add(other.ask())
        other.kill()
    shutil.copy(side(running, "-wal"), tmp_path / "x.db-wal")
    shutil.copy(running.path, tmp_path / "x.db")
    with closing(apsw.Connection(str(tmp_path / "x.db"))) as conn:
        assert names <= {name for (name,) in conn.execute("SELECT name FROM tenants")}


def test_a_lost_index_of_the_log_stops_writes_too(running: SqliteDatabase) -> None:
    write(running)
    side(running, "-shm").unlink()
    running.watch()
    with pytest.raises(LostLog, match="-shm was deleted"):
        write(running)
    running.close_all()
    write(running)
    assert running.loss() is None


def test_a_log_that_sqlite_deletes_itself_is_none_that_is_lost(running: SqliteDatabase) -> None:
    with other_process(running.path) as other:
        for _ in range(3):
            write(running)
            running._pool.close()
            running._writers.close()  # the other process is the only one now
            assert "LostLog" not in other.ask()
            write(running)
    other.kill()
    running._pool.close()
    running._writers.close()
    assert not side(running, "-wal").exists()
    running.watch()
    write(running)
    assert running.fault() is None and running.loss() is None
