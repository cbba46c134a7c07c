"""The class of a fault, and the service that it happens to."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import IO, Any

from tests.databases import Server, free_port
from tests.incidents.load import SERVERS
from tests.running import GATEPOST, Instance, Served

PATIENCE = 60.0  # seconds that a start, a stop or a command may take
WRITES = 60.0  # seconds that a killed worker may need to finish a write
# Root respects the modes of files, like the user of a service.
MODES_COUNT = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search,-fowner,-chown")


@dataclass
class Place:
    """One instance, and its server in a process group of its own.

    prefix   words before the command line of the server and of `gatepost doctor`
    errors   file for the server's log; `server.log` by default
    postgres its database server; None for SQLite
    beside   the result of `Fault.prepare`, for `Fault.happen`
    """

    instance: Instance
    server: str
    postgres: Server | None = None
    prefix: Sequence[str] = ()
    errors: IO[bytes] | int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    beside: dict[str, Any] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    @property
    def folder(self) -> Path:
        return self.instance.folder

    @property
    def database(self) -> Path:
        """The SQLite file."""
        return self.folder / "gatepost.db"

    @property
    def log(self) -> Path:
        return self.folder.with_name("server.log")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> str:
        """Starts the server. Returns an empty text, or the message of a failed start."""
        before = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.prefix, *GATEPOST, "serve", "--port", str(self.port), *SERVERS[self.server]],
                env={**self.instance.environ(), **self.environment}, stdout=subprocess.PIPE,
                stderr=log if self.errors is None else self.errors, start_new_session=True)
        assert self.process.stdout is not None
        if self.process.stdout.readline():
            return ""
        self.process.stdout.close()
        self.process.wait(PATIENCE)
        self.process = None
        said = self.log.read_bytes()[before:].decode()
        found = re.search(r"Error: .*", said, re.DOTALL)
        return " ".join((found.group() if found else said).split()) or "no word"

    def end(self, *, kill: bool = False) -> None:
        """Stops the server, or kills all its processes."""
        if self.process is None:
            return
        children = _children(self.process.pid) if self.process.poll() is None else []
        with suppress(ProcessLookupError):
            if kill:
                os.killpg(self.process.pid, signal.SIGKILL)
                _kill(children)
            else:
                self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(PATIENCE)
            raise
        finally:
            if self.process.stdout is not None:
                self.process.stdout.close()
        self.process = None
        # A killed worker finishes the write that it is in, and the next step may copy the file.
        deadline = monotonic() + WRITES
        while kill and any(map(_lives, children)):
            if monotonic() >= deadline:
                raise TimeoutError(f"of the killed processes {children}, one still lives")
            sleep(0.01)

    def processes(self) -> list[int]:
        """The ids of the serving processes: of the workers, if there are any."""
        assert self.process is not None
        return _children(self.process.pid) or [self.process.pid]

    def doctor(self) -> list[str]:
        """Returns the findings of `gatepost doctor`."""
        done = self.command("doctor")
        if done.returncode not in (0, 1) or "Traceback" in done.stderr:
            return [f"broken: {done.stderr[-400:]}"]
        found = [line.partition("FAIL")[2].strip() for line in done.stdout.splitlines() if "FAIL" in line]
        return found or ([f"error {done.stderr.strip()}"] if done.returncode else [])

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs a command of `gatepost` with the rights and the environment of the server."""
        return subprocess.run([*self.prefix, *GATEPOST, *words], text=True, capture_output=True, check=False,
                              timeout=PATIENCE, env={**self.instance.environ(), **self.environment})

    def asked(self) -> Served:
        """Returns the service for requests."""
        assert self.process is not None
        return Served(self.url, self.process)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Fault:
    """A fault, and the expected behaviour of the service.

    happen     context manager: the fault lasts while its block runs
    health     the status of `/api/health` in the end: ok, degraded, down; empty if the service does not run
    check      the health check, and the line of doctor, that name the fault
    doctor     True if doctor sees the fault, too; False for a fault of one running process
    prepare    called before the service starts
    stopped    the service is stopped before the fault, and started during it
    killed     the same, with kill -9
    restarted  the service does not recover by itself: it is killed and started again after the fault
    unserved   requests may stay without an answer during the fault
    starts     for a fault of a stopped service: True if the start may succeed
    loses      acknowledged writes may be lost with the damaged bytes, and health and doctor report it
    """

    name: str
    happen: Callable[[Place], AbstractContextManager[None]]
    health: str = "down"
    check: str = "database"
    doctor: bool = True
    prepare: Callable[[Place], AbstractContextManager[None]] | None = None
    stopped: bool = False
    killed: bool = False
    restarted: bool = False
    unserved: bool = False
    starts: bool = False
    loses: bool = False
    postgres: bool = False
    redis: bool = False
    servers: Sequence[str] = tuple(SERVERS)
    needs: str = ""

    @property
    def missing(self) -> bool:
        """True if a program that the fault needs is not installed."""
        return bool(self.needs) and shutil.which(self.needs) is None


def _kill(workers: Sequence[int]) -> None:
    """Kills workers, which are in groups of their own and would stop in their own time."""
    for worker in workers:
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)


def _lives(pid: int) -> bool:
    """True unless the process has ended, also if nobody has waited for it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _children(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []  # it has ended
