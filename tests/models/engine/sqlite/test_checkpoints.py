"""Checkpoints copy SQLite's log to the file while writers go on; a long log restarts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from time import sleep

import apsw
import pytest

from models.base import new_id
from models.engine.connect import open_database
from models.engine.errors import Unavailable
from models.engine.sqlite import checkpoints
from models.engine.sqlite.checkpoints import Checkpoints
from models.engine.sqlite.database import SqliteDatabase
from models.engine.sqlite.pair import Pair
from models.tables.tenant import Tenant
from tests.databases import new_database

FRAME = 24 + 4096  # bytes of one page in the log, with its header


@pytest.fixture
def database(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteDatabase]:
    monkeypatch.setattr(checkpoints, "LONG", 20)
    monkeypatch.setattr(checkpoints, "LAST", 10)
    monkeypatch.setattr(checkpoints, "VERY_LONG", 80)
    opened = open_database(new_database("sqlite", request), synchronous="normal")
    assert isinstance(opened, SqliteDatabase)
    with opened.connected():
        write(opened, 1)  # a new log is copied once, for the token of its file
        yield opened
    opened.close_all()


@pytest.fixture
def copied_by(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns the thread of each copy."""
    copy, threads = apsw.Connection.wal_checkpoint, []

    def counted(conn: apsw.Connection, mode: int = apsw.SQLITE_CHECKPOINT_PASSIVE) -> tuple[int, int]:
        threads.append(threading.current_thread().name)
        return copy(conn, mode=mode)

    monkeypatch.setattr("models.engine.sqlite.connection.Connection.wal_checkpoint", counted, raising=False)
    return threads


def write(database: SqliteDatabase, times: int) -> None:
    for _ in range(times):
        database.transact(lambda: Tenant.add(new_id()))


def stored_without_the_log(database: SqliteDatabase, folder: Path) -> int:
    copy = folder / "copy.db"
    copy.write_bytes(database.path.read_bytes())
    return int(apsw.Connection(str(copy)).execute("SELECT count(*) FROM tenants").get)


def test_what_is_committed_reaches_the_file_in_a_thread_of_its_own(
        database: SqliteDatabase, copied_by: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "LAST", -1)
    monkeypatch.setattr(checkpoints, "VERY_LONG", 100_000)
    before = stored_without_the_log(database, tmp_path)
    write(database, 12)
    database._checkpoints.finish()
    assert copied_by
    assert set(copied_by) == {"checkpoint"}
    assert stored_without_the_log(database, tmp_path) > before


def test_a_log_that_the_thread_does_not_keep_up_with_is_copied_by_the_writer_that_commits(
        database: SqliteDatabase, copied_by: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database._checkpoints, "_copy", lambda: None)  # the thread is always too late
    write(database, 200)
    log = Path(f"{database.path}-wal")
    assert set(copied_by) == {threading.current_thread().name}
    assert log.stat().st_size < 2 * checkpoints.VERY_LONG * FRAME


class Unchecked(Pair):
    """A log and its file without a check or a note."""

    def begun(self) -> bool:
        self.noted = True
        return False

    def look(self) -> None: ...

    def renew(self, conn: apsw.Connection, *, lost: bool = False) -> None: ...

    def settle(self) -> None: ...


WHOLE = 10**9  # pages, more than any log has


class Log(apsw.Connection):
    """A connection to a log of `pages` pages. A reader keeps all pages after the first `free` from being copied.

    `copied` has the thread of each copy, and True if the copy waits.
    """

    def __init__(self, free: int = WHOLE) -> None:
        super().__init__(":memory:")
        self.pages, self.copied, self._free = 0, [], free

    def wal_checkpoint(self, dbname: str | None = None, mode: int = apsw.SQLITE_CHECKPOINT_PASSIVE) -> tuple[int, int]:
        who = "thread" if threading.current_thread().name == "checkpoint" else "writer"
        self.copied.append(who if mode == apsw.SQLITE_CHECKPOINT_PASSIVE else "waits")
        return self.pages, min(self.pages, self._free)


# pages that can be copied, and (length of the log in pages after each commit, threads that copy it)
LOGS: dict[str, tuple[int, list[tuple[int, list[str]]]]] = {
    "a short log is left alone": (WHOLE, [(2000, []), (3999, [])]),
    "a thread copies a long one, and the next writer what has come since": (
        WHOLE, [(4000, ["thread"]), (4500, ["writer"])]),
    "no writer copies much": (
        WHOLE, [(4000, ["thread"]), (4501, ["thread"]), (5100, ["thread"]), (5200, ["writer"])]),
    "a writer that has finished a very long one waits for readers": (
        WHOLE, [(54_000, ["thread"]), (54_100, ["writer", "waits"]), (54_200, [])]),
    "one that is copied and still read from is copied again when it is a quarter longer": (
        WHOLE, [(4000, ["thread"]), (4400, ["writer"]), (5400, []), (5500, ["thread"]), (5600, ["writer"])]),
    "no writer waits for a reader of old pages": (
        3000, [(40_000, ["thread"]), (40_100, []), (49_900, []), (50_000, ["thread"]), (50_100, [])]),
    "a new log is copied like the first": (
        WHOLE, [(4000, ["thread"]), (4100, ["writer"]), (70, []), (4000, ["thread"])]),
    "so is one after a log of which nothing could be copied": (
        0, [(8000, ["thread"]), (9999, []), (70, []), (4000, ["thread"])]),
}


@pytest.mark.parametrize("case", LOGS)
def test_a_log_is_copied_by_the_thread_or_a_writer(case: str) -> None:
    free, commits = LOGS[case]
    log = Log(free)
    some = Checkpoints(lambda: nullcontext(log), Unchecked(Path('log')))
    for log.pages, by in commits:
        log.copied = []
        some.committed(log, "main", log.pages)
        some.finish()
        assert log.copied == by, log.pages


def test_writers_wait_for_a_thread_that_is_far_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, waited, log = threading.Event(), [], Log()
    monkeypatch.setattr(Checkpoints, "_copy", lambda _self: go_on.wait(30))
    some = Checkpoints(lambda: nullcontext(log), Unchecked(Path('log')))
    try:
        some.committed(log, "main", 4000)
        assert some._thread is not None
        monkeypatch.setattr(some._thread, "join", lambda seconds=None: waited.append(seconds))
        for pages in range(5000, 18_000, 1000):
            some.committed(log, "main", pages)
        assert waited == [checkpoints.PATIENCE] * 2  # with 16 000 pages, and 17 000
        assert not log.copied
    finally:
        go_on.set()


@pytest.mark.parametrize("error", [apsw.BusyError("a reader is there"), apsw.IOError("the disk is full")])
def test_a_writer_that_waited_for_readers_waits_for_writers_as_long_as_ever(
        database: SqliteDatabase, error: apsw.Error, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_conn: apsw.Connection, mode: int = apsw.SQLITE_CHECKPOINT_PASSIVE) -> tuple[int, int]:
        if mode == apsw.SQLITE_CHECKPOINT_PASSIVE:
            return 100, 100
        failed.append(1)
        raise error

    failed: list[int] = []
    monkeypatch.setattr("models.engine.sqlite.connection.Connection.wal_checkpoint", fail, raising=False)
    write(database, 100)
    database._checkpoints.finish()
    write(database, 1)
    assert failed
    # SQLite returns 0 if another handler than its own is installed.
    assert all(conn.execute("PRAGMA busy_timeout").get > 0 for conn in database._writers._stack)


def test_a_log_that_began_anew_is_copied_again(database: SqliteDatabase, copied_by: list[str]) -> None:
    for _ in range(2):
        copied_by.clear()
        write(database, 12)
        database._checkpoints.finish()
        assert copied_by
        database.query("PRAGMA wal_checkpoint(TRUNCATE)")


def test_one_copy_is_made_at_a_time(database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = [], threading.Event()

    def copy() -> None:
        begun.append(1)
        go_on.wait(30)

    monkeypatch.setattr(checkpoints, "LAST", -1)
    monkeypatch.setattr(checkpoints, "VERY_LONG", 100_000)
    monkeypatch.setattr(database._checkpoints, "_copy", copy)
    write(database, 40)
    go_on.set()
    database._checkpoints.finish()
    assert len(begun) == 1


def begin_reading(reader: apsw.Connection) -> None:
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM tenants").fetchall()


def test_a_log_that_is_read_grows_until_the_reader_is_done(database: SqliteDatabase) -> None:
    log = Path(f"{database.path}-wal")
    reader = apsw.Connection(str(database.path))
    begin_reading(reader)
    write(database, 60)
    assert log.stat().st_size > checkpoints.VERY_LONG * FRAME
    reader.close()
    grown = log.stat().st_size
    for _ in range(200):
        write(database, 1)
        database._checkpoints.finish()
    assert log.stat().st_size < 1.6 * grown


@pytest.mark.slow
def test_a_very_long_log_begins_anew_though_reads_overlap_all_the_time(database: SqliteDatabase) -> None:
    stop = threading.Event()

    def read() -> None:
        # One of the two always begins before the other has finished reading.
        readers = [apsw.Connection(str(database.path)) for _ in range(2)]
        for reader in readers:
            begin_reading(reader)
        while not stop.wait(0.01):
            readers.reverse()
            readers[0].execute("COMMIT")
            begin_reading(readers[0])
        for reader in readers:
            reader.close()

    reading = threading.Thread(target=read)
    reading.start()
    try:
        for _ in range(300):
            write(database, 1)
            sleep(0.005)
    finally:
        stop.set()
        reading.join()
    assert Path(f"{database.path}-wal").stat().st_size < 600 * FRAME


@pytest.mark.parametrize("error", [apsw.BusyError("another process copies"), apsw.IOError("the disk is full")])
def test_a_copy_that_fails_takes_nothing_back(
        database: SqliteDatabase, error: apsw.Error, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_conn: apsw.Connection, mode: int = apsw.SQLITE_CHECKPOINT_PASSIVE) -> tuple[int, int]:
        if mode == apsw.SQLITE_CHECKPOINT_NOOP:
            return 0, 0
        raise error

    monkeypatch.setattr("models.engine.sqlite.connection.Connection.wal_checkpoint", fail, raising=False)
    before = len(list(Tenant.all()))
    write(database, 40)
    database._checkpoints.finish()
    assert len(list(Tenant.all())) == before + 40


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("error", [FileNotFoundError("gatepost.db"), Unavailable("no log"), apsw.CantOpenError("gone")])
def test_a_thread_that_finds_no_database_ends_in_silence(
        database: SqliteDatabase, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> None:
        raise error

    asked = []
    monkeypatch.setattr(database._checkpoints, "_connection", lambda: (asked.append(1), gone()))
    write(database, 12)
    database._checkpoints.finish()
    assert asked


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), MemoryError()])
def test_where_no_thread_can_be_started_the_log_is_copied_all_the_same(
        database: SqliteDatabase, copied_by: list[str], error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise error

    monkeypatch.setattr(threading.Thread, "start", refuse)
    write(database, 60)
    assert set(copied_by) == {threading.current_thread().name}
