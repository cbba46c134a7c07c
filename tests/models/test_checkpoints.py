"""What is committed to SQLite's log reaches the file beside those who write; a long log begins anew."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import apsw
import pytest

from models import checkpoints
from models.base import new_id
from models.checkpoints import Checkpoints
from models.database import open_database
from models.errors import Unavailable
from models.sqlite import SqliteDatabase
from models.tenant import Tenant
from tests.databases import new_database

FRAME = 24 + 4096  # bytes of one page in the log, with its header


@pytest.fixture
def database(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteDatabase]:
    monkeypatch.setattr(checkpoints, "LONG", 20)
    monkeypatch.setattr(checkpoints, "LAST", 10)
    monkeypatch.setattr(checkpoints, "MOST", 60)
    opened = open_database(new_database("sqlite", request), synchronous="normal")
    assert isinstance(opened, SqliteDatabase)
    with opened.connected():
        yield opened
    opened.close_all()


@pytest.fixture
def copied_by(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The thread of each copy that was made."""
    copy, threads = apsw.Connection.wal_checkpoint, []

    def counted(conn: apsw.Connection, mode: int = apsw.SQLITE_CHECKPOINT_PASSIVE) -> tuple[int, int]:
        threads.append(threading.current_thread().name)
        return copy(conn, mode=mode)

    monkeypatch.setattr("models.sqlite_connection.Connection.wal_checkpoint", counted, raising=False)
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
    monkeypatch.setattr(checkpoints, "MOST", 100_000)
    before = stored_without_the_log(database, tmp_path)
    write(database, 12)
    database._checkpoints.finish()
    assert copied_by
    assert set(copied_by) == {"checkpoint"}
    assert stored_without_the_log(database, tmp_path) > before


def test_a_log_that_the_thread_does_not_keep_up_with_is_copied_by_whoever_commits(
        database: SqliteDatabase, copied_by: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database._checkpoints, "_copy", lambda: None)  # the thread always comes too late
    write(database, 200)
    log = Path(f"{database.path}-wal")
    assert set(copied_by) == {threading.current_thread().name}
    assert log.stat().st_size < 2 * (checkpoints.LONG + checkpoints.MOST) * FRAME


class Writer(apsw.Connection):
    """The connection of one who has just committed."""

    def __init__(self, copied: list[str]) -> None:
        super().__init__(":memory:")
        self._copied = copied

    def wal_checkpoint(self, dbname: str | None = None, mode: int = apsw.SQLITE_CHECKPOINT_PASSIVE) -> tuple[int, int]:
        self._copied.append("writer" if mode == apsw.SQLITE_CHECKPOINT_PASSIVE else "patient")
        return 0, 0


# (the log's length in pages after each commit, who copies it then)
LOGS = {
    "a short log is left alone": [(2000, ""), (3999, "")],
    "a thread copies a long one, and the next writer what has come since": [(4000, "thread"), (4500, "writer")],
    "no writer copies much": [(4000, "thread"), (4501, "thread"), (5100, "thread"), (5200, "writer")],
    "a transaction that makes the log very long copies it, once readers are done": [(54_000, "patient"), (54_100, "")],
    "a log that is still read from is copied again when it is a quarter longer": [
        (4000, "thread"), (4400, "writer"), (5400, ""), (5500, "thread"), (5600, "writer"), (6900, "")],
    "whoever finishes a very long one waits for readers": [(50_000, "thread"), (50_100, "patient"), (50_200, "")],
    "a new log is copied like the first": [(4000, "thread"), (4100, "writer"), (70, ""), (4000, "thread")],
}


@pytest.mark.parametrize("log", LOGS)
def test_who_copies_a_log(log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []
    monkeypatch.setattr(Checkpoints, "_copy", lambda _self: copied.append("thread"))
    writer = Writer(copied)
    some = Checkpoints(lambda: nullcontext(writer))
    for pages, by in LOGS[log]:
        copied.clear()
        some.committed(writer, "main", pages)
        some.finish()
        assert copied == [by] * bool(by), pages


def test_a_thread_that_takes_long_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, copied = threading.Event(), []
    monkeypatch.setattr(Checkpoints, "_copy", lambda _self: go_on.wait(30))
    writer = Writer(copied)
    some = Checkpoints(lambda: nullcontext(writer))
    for pages in range(4000, 54_000, 1000):
        some.committed(writer, "main", pages)
    assert not copied
    some.committed(writer, "main", 54_000)
    assert copied
    go_on.set()
    some.finish()


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
    monkeypatch.setattr(checkpoints, "MOST", 100_000)
    monkeypatch.setattr(database._checkpoints, "_copy", copy)
    write(database, 40)
    go_on.set()
    database._checkpoints.finish()
    assert len(begun) == 1


def test_a_log_that_somebody_reads_grows_until_they_are_done(database: SqliteDatabase) -> None:
    log = Path(f"{database.path}-wal")
    reader = apsw.Connection(str(database.path))
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM tenants").fetchall()
    write(database, 60)
    assert log.stat().st_size > (checkpoints.LONG + checkpoints.MOST) * FRAME
    reader.close()
    grown = log.stat().st_size
    for _ in range(200):
        write(database, 1)
        database._checkpoints.finish()
    assert log.stat().st_size < 1.5 * grown


def test_a_log_that_is_read_from_all_the_time_begins_anew(
        database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "MOST", 200)
    stop = threading.Event()

    def read() -> None:
        # Whenever one of the two has done reading, the other has begun before.
        readers = [apsw.Connection(str(database.path)) for _ in range(2)]
        for reader in readers:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM tenants").fetchall()
        while not stop.wait(0.01):
            readers.reverse()
            readers[0].execute("COMMIT")
            readers[0].execute("BEGIN")
            readers[0].execute("SELECT count(*) FROM tenants").fetchall()
        for reader in readers:
            reader.close()

    reading = threading.Thread(target=read)
    reading.start()
    try:
        write(database, 1000)
    finally:
        stop.set()
        reading.join()
    assert Path(f"{database.path}-wal").stat().st_size < 1000 * FRAME


def test_readers_are_waited_for_no_longer_than_is_bearable(
        database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "PATIENCE", 0.01)
    reader = apsw.Connection(str(database.path))
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM tenants").fetchall()
    write(database, 200)
    reader.close()
    # Whoever waited so shortly waits for another writer as long as ever.
    assert {conn.execute("PRAGMA busy_timeout").get for conn in database._writers._stack} == {5000}


@pytest.mark.parametrize("error", [apsw.BusyError("another process copies"), apsw.IOError("the disk is full")])
def test_a_copy_that_fails_takes_nothing_back(
        database: SqliteDatabase, error: apsw.Error, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_conn: apsw.Connection, mode: int = apsw.SQLITE_CHECKPOINT_PASSIVE) -> None:
        raise error

    monkeypatch.setattr("models.sqlite_connection.Connection.wal_checkpoint", fail, raising=False)
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
