"""A SQLite file that is locked, damaged, missing or replaced."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import apsw

from tests.databases import turn_held

from .fault import Fault, Place

PAGE = 4096  # bytes
HOLDER = """
import sys, apsw
connection = apsw.Connection(sys.argv[1])
connection.execute(sys.argv[2]).fetchall()
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def _held(place: Place, statement: str) -> Iterator[None]:
    """Another program is in the middle of a transaction."""
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(place.database), statement], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as other:
        assert other.stdin is not None and other.stdout is not None
        assert other.stdout.readline()
        try:
            yield
        finally:
            other.stdin.close()
            other.wait()


def foreign_lock(place: Place):
    return _held(place, "BEGIN EXCLUSIVE")


def long_reader(place: Place):
    return _held(place, "BEGIN; SELECT count(*) FROM articles")


def writer_lock(place: Place):
    return turn_held(place.database)


@contextmanager
def _other_bytes(file: Path, spot: int, number: int) -> Iterator[None]:
    with file.open("r+b", buffering=0) as disk:
        before = os.pread(disk.fileno(), number, spot)
        os.pwrite(disk.fileno(), bytes(byte ^ 0xA5 for byte in before), spot)
        try:
            yield
        finally:
            os.pwrite(disk.fileno(), before, spot)


def damaged_header(place: Place):
    return _other_bytes(place.database, 0, 100)


@contextmanager
def damaged_page(place: Place) -> Iterator[None]:
    """The first page of a table that is only read is damaged."""
    with closing(apsw.Connection(str(place.database), apsw.SQLITE_OPEN_READONLY)) as look:
        root = look.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'categories'").get
    with _other_bytes(place.database, (root - 1) * PAGE, PAGE):
        yield


@contextmanager
def damaged_log(place: Place) -> Iterator[None]:
    """The newest bytes of the log are damaged. The service is stopped, so that it copies nothing."""
    log = Path(f"{place.database}-wal")
    with _other_bytes(log, log.stat().st_size // 2, 64):
        yield


@contextmanager
def cut_short(place: Place) -> Iterator[None]:
    """Half of the file is missing."""
    kept = shutil.copy(place.database, place.folder.with_name("kept.db"))
    os.truncate(place.database, place.database.stat().st_size // 2)
    try:
        yield
    finally:
        shutil.copy(kept, place.database)


@contextmanager
def away(place: Place) -> Iterator[None]:
    """The file has another name."""
    other = place.database.rename(place.folder / "elsewhere.db")
    try:
        yield
    finally:
        other.rename(place.database)


def _deleted(*suffixes: str) -> Callable[[Place], AbstractContextManager[None]]:
    @contextmanager
    def happen(place: Place) -> Iterator[None]:
        """A cleanup script deletes the files."""
        for suffix in suffixes:
            Path(f"{place.database}{suffix}").unlink()
        yield

    return happen


@contextmanager
def copy_of_before(place: Place) -> Iterator[None]:
    """An older copy of the database file exists."""
    with closing(apsw.Connection(str(place.database))) as connection:
        connection.execute("VACUUM INTO ?", (str(place.folder.with_name("older.db")),))
    yield


@contextmanager
def replaced(place: Place) -> Iterator[None]:
    """An older copy replaces the file, and the log belongs to the file."""
    kept = place.database.rename(place.folder / "newer.db")
    shutil.copy(place.folder.with_name("older.db"), place.database)
    try:
        yield
    finally:
        kept.replace(place.database)


@contextmanager
def overwritten(place: Place) -> Iterator[None]:
    """An older copy was written over the file, and the log belongs to the file."""
    kept = shutil.copy(place.database, place.folder.with_name("newer.db"))
    shutil.copy(place.folder.with_name("older.db"), place.database)
    try:
        yield
    finally:
        shutil.copy(kept, place.database)


@contextmanager
def crashed(place: Place) -> Iterator[None]:
    """The service was killed; there is no other fault."""
    yield


FILES = (
    Fault("another program holds the file", foreign_lock, doctor=True, check="database"),
    Fault("the turn to write is held", writer_lock, check="database"),
    Fault("another program reads for long", long_reader, health="ok", check="", doctor=False),
    Fault("the header of the file is damaged", damaged_header, stopped=True),
    Fault("a page of the file is damaged", damaged_page),
    Fault("the file is cut short", cut_short, stopped=True),
    Fault("bytes of the log are damaged", damaged_log, killed=True, starts=True, loses=True, health="degraded"),
    Fault("the file is gone", away),
    Fault("the log is deleted", _deleted("-wal"), restarted=True),
    Fault("the index of the log is deleted", _deleted("-shm"), restarted=True, doctor=False),
    Fault("an older file by mv", replaced, prepare=copy_of_before),
    Fault("an older file by cp", overwritten, prepare=copy_of_before, killed=True),
    Fault("a crash", crashed, killed=True, starts=True, health="ok", check="", doctor=False),
)

