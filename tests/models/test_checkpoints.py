"""What is committed to SQLite's log reaches the file beside those who write; a long log begins anew."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import cast

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
    monkeypatch.setattr(checkpoints, "STEP", 20)
    monkeypatch.setattr(checkpoints, "LIMIT", 80)
    monkeypatch.setattr(checkpoints, "LAST", 10)
    opened = open_database(new_database("sqlite", request), synchronous="normal")
    assert isinstance(opened, SqliteDatabase)
    with opened.connected():
        yield opened
    opened.close_all()


@pytest.fixture
def copied_by(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The thread of each copy that was made."""
    copy, threads = apsw.Connection.wal_checkpoint, []

    def counted(conn: apsw.Connection) -> tuple[int, int]:
        threads.append(threading.current_thread().name)
        return copy(conn)

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
        database: SqliteDatabase, copied_by: list[str], tmp_path: Path) -> None:
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
    assert log.stat().st_size < 2 * checkpoints.LIMIT * FRAME


# (the log's length in pages after each commit, who copies it then)
LOGS = {
    "a short log is left alone": [(2000, ""), (3999, "")],
    "a thread copies each step": [(4000, "thread"), (4100, ""), (8000, "thread"), (11_999, "")],
    "once a thread has copied a long log, the next writer finishes it": [(16_000, "thread"), (16_500, "writer")],
    "no writer copies much": [(16_000, "thread"), (16_501, "thread"), (17_100, "thread"), (17_200, "writer")],
    "a transaction that makes the log very long copies it": [(32_000, "writer"), (32_100, "")],
    "a log that is still read from goes on as it began": [
        (16_000, "thread"), (16_100, "writer"), (16_200, ""), (20_000, ""), (20_100, "thread"), (20_200, "writer")],
    "a new log is copied like the first": [
        (16_000, "thread"), (16_100, "writer"), (70, ""), (4000, "thread"), (15_900, "thread"), (16_000, "writer")],
}


@pytest.mark.parametrize("log", LOGS)
def test_who_copies_a_log(log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []
    monkeypatch.setattr(Checkpoints, "_copy", lambda _self: copied.append("thread"))
    writer = cast(apsw.Connection, SimpleNamespace(wal_checkpoint=lambda: copied.append("writer")))
    some = Checkpoints(lambda: nullcontext(writer))
    for pages, by in LOGS[log]:
        copied.clear()
        some.committed(writer, "main", pages)
        some.finish()
        assert copied == [by] * bool(by), pages


def test_a_thread_that_takes_long_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, copied = threading.Event(), []
    monkeypatch.setattr(Checkpoints, "_copy", lambda _self: go_on.wait(30))
    writer = cast(apsw.Connection, SimpleNamespace(wal_checkpoint=lambda: copied.append(1)))
    some = Checkpoints(lambda: nullcontext(writer))
    for pages in range(4000, 32_000, 1000):
        some.committed(writer, "main", pages)
    assert not copied
    some.committed(writer, "main", 32_000)
    assert copied
    go_on.set()
    some.finish()


def test_the_log_is_copied_no_sooner_than_it_has_grown_by_a_step(
        database: SqliteDatabase, copied_by: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "LIMIT", 100_000)
    for _ in range(30):
        write(database, 1)
        database._checkpoints.finish()
    # Each of them writes fewer than half as many pages.
    assert 1 <= len(copied_by) <= 15


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

    monkeypatch.setattr(checkpoints, "LIMIT", 100_000)
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
    assert log.stat().st_size > checkpoints.LIMIT * FRAME
    reader.close()
    grown = log.stat().st_size
    write(database, 60)
    assert log.stat().st_size < grown + 2 * checkpoints.LIMIT * FRAME


@pytest.mark.parametrize("error", [apsw.BusyError("another process copies"), apsw.IOError("the disk is full")])
def test_a_copy_that_fails_takes_nothing_back(
        database: SqliteDatabase, error: apsw.Error, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_conn: apsw.Connection) -> None:
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
