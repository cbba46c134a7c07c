"""What is committed to SQLite's log reaches the file beside those who write, and the log does not grow for ever."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from models import checkpoints
from models.base import new_id
from models.database import open_database
from models.sqlite import SqliteDatabase
from models.tenant import Tenant
from tests.databases import new_database

PAGE = 4096 + 24  # bytes of one page in the log


@pytest.fixture
def database(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteDatabase]:
    monkeypatch.setattr(checkpoints, "STEP", 20)
    monkeypatch.setattr(checkpoints, "LONGEST", 80)
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


def test_a_log_that_others_keep_from_beginning_anew_is_copied_whole_by_who_writes(
        database: SqliteDatabase, copied_by: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database._checkpoints, "_copy", lambda: None)  # the thread always comes too late
    write(database, 200)
    log = Path(f"{database.path}-wal")
    assert set(copied_by) == {threading.current_thread().name}
    assert log.stat().st_size < 2 * checkpoints.LONGEST * PAGE


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


def test_where_no_thread_can_be_started_the_log_is_copied_all_the_same(
        database: SqliteDatabase, copied_by: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    write(database, 60)
    assert set(copied_by) == {threading.current_thread().name}
