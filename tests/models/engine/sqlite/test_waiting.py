"""Waiting writers on SQLite: a common deadline, a limit of their number, and writers that need not wait."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

import apsw
import pytest

from models.engine.connect import open_database
from models.engine.errors import Busy, Overloaded
from models.engine.sqlite import group_commit
from models.engine.sqlite.database import SqliteDatabase
from models.engine.sqlite.writer_lock import WriterLock
from models.engine.waiting import Places, Wait, uncounted
from models.tables.tenant import Tenant
from tests.databases import new_database
from tests.running import wait_until

AT_LAST = 30  # seconds after which an event will never happen


@pytest.fixture
def database(request: pytest.FixtureRequest) -> Iterator[SqliteDatabase]:
    opened = open_database(new_database("sqlite", request), synchronous="normal", waiting=2)
    assert isinstance(opened, SqliteDatabase)
    yield opened
    opened.close_all()


@contextmanager
def held_elsewhere(database: SqliteDatabase) -> Iterator[None]:
    """Another process keeps the write lock."""
    lock = WriterLock(database.path)
    lock.acquire(Wait(Places(None, moment=1, timeout=AT_LAST, late=Busy)))
    try:
        yield
    finally:
        lock.release()


def started(database: SqliteDatabase, *, grouped: bool = True) -> tuple[threading.Thread, list[Any]]:
    """Starts a thread that adds a tenant. Returns it and its result."""
    results: list[Any] = []

    def run() -> None:
        # Another thread may do the work.
        name = threading.current_thread().name
        try:
            results.append(database.transact(lambda: Tenant.add(name).name, grouped=grouped))
        except Exception as error:
            results.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, results


@pytest.mark.parametrize(("group_commit", "transactions"), [(True, 1), (False, 3)])
def test_writers_that_wait_share_a_transaction_unless_that_is_ruled_out(
        request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, group_commit: bool, transactions: int) -> None:
    database = open_database(new_database("sqlite", request), synchronous="normal", group_commit=group_commit)
    assert isinstance(database, SqliteDatabase)
    database.places.moment, begin, begun = 0.01, database.begin, []
    monkeypatch.setattr(database, "begin", lambda *how: (begun.append(1), begin(*how)))
    with held_elsewhere(database):
        waiting = [started(database) for _ in range(3)]
        wait_until(lambda: len(database.places._taken) == 3)
    for thread, _ in waiting:
        thread.join()
    names = [name for _, results in waiting for name in results]
    with database.connected():
        assert sorted(tenant.name for tenant in Tenant.all()) == sorted(names)
    assert len(begun) == transactions
    database.close_all()


@pytest.mark.parametrize("grouped", [True, False])
def test_half_of_the_threads_wait_for_a_writer_and_the_others_are_refused(
        database: SqliteDatabase, grouped: bool) -> None:
    with held_elsewhere(database):
        waiting = [started(database, grouped=grouped) for _ in range(2)]
        wait_until(lambda: len(database.places._taken) == 2)
        for _ in range(3):
            with pytest.raises(Overloaded) as refused:
                database.transact(lambda: None, grouped=grouped)
            assert 1 <= refused.value.retry_after <= database.places.timeout
    for thread, _ in waiting:
        thread.join()
    assert [result for _, results in waiting for result in results] == [thread.name for thread, _ in waiting]
    assert not database.places._taken
    assert database.transact(lambda: "again", grouped=grouped) == "again"


def test_without_a_bound_every_writer_waits(request: pytest.FixtureRequest) -> None:
    database = open_database(new_database("sqlite", request), synchronous="normal")
    assert isinstance(database, SqliteDatabase)
    with held_elsewhere(database):
        waiting = [started(database) for _ in range(4)]
        wait_until(lambda: len(database.places._taken) == 4)
    for thread, results in waiting:
        thread.join()
        assert results == [thread.name]
    database.close_all()


def test_what_runs_beside_the_requests_takes_no_place_and_needs_none(database: SqliteDatabase) -> None:
    lock = threading.Lock()
    lock.acquire()
    database.places.acquire(Wait(database.places))
    with uncounted():
        beside = Wait(database.places)
        assert beside.acquire_place()
    assert len(database.places._taken) == 1
    database.places.acquire(Wait(database.places))
    with uncounted():
        database.places.timeout = 0
        another = Wait(database.places)
        with pytest.raises(Busy):
            another.acquire(lock)
    database.places.timeout = AT_LAST
    with pytest.raises(Overloaded):
        Wait(database.places).acquire(lock)


def test_a_newcomer_waits_a_moment_where_writers_follow_one_another(database: SqliteDatabase) -> None:
    lock = threading.Lock()
    lock.acquire()
    for _ in range(2):
        database.places.acquire(Wait(database.places))
    # The others have waited for long, and writers have had their turns since.
    database.places.moment, database.places.moved = AT_LAST, monotonic()
    for wait in database.places._taken:
        wait.begun -= AT_LAST + 1
    assert 0 < Wait(database.places).limit() <= AT_LAST
    database.places.moved -= AT_LAST + 1
    with pytest.raises(Overloaded):
        Wait(database.places).acquire(lock)


def test_a_newcomer_waits_a_moment_where_the_others_came_just_now(database: SqliteDatabase) -> None:
    """A burst after a pause: no thread had its turn for long, and the limit is reached, but none has waited yet."""
    for _ in range(2):
        database.places.acquire(Wait(database.places))
    database.places.moment, database.places.moved = AT_LAST, monotonic() - AT_LAST - 1
    assert 0 < Wait(database.places).limit() <= AT_LAST


def test_retry_after_is_when_the_first_place_becomes_free(database: SqliteDatabase) -> None:
    for database.places.timeout in (40, 3):
        database.places.acquire(Wait(database.places))
    with pytest.raises(Overloaded) as refused:
        database.places.acquire(Wait(database.places))
    assert 1 <= refused.value.retry_after <= 3


def test_one_deadline_goes_through_the_group_and_the_lock(
        database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "MOST", 1)
    acquire, entered, finish = database.writer_lock.acquire, threading.Event(), threading.Event()
    deadlines: list[float] = []

    def note(wait: Wait) -> None:
        deadlines.append(wait.deadline)
        acquire(wait)

    first = threading.Thread(target=lambda: database.transact(
        lambda: (entered.set(), finish.wait(AT_LAST)), grouped=True))
    first.start()
    entered.wait(AT_LAST)
    second, _ = started(database)
    wait_until(lambda: database.group.waiting)
    monkeypatch.setattr(database.writer_lock, "acquire", note)
    appointed_after = monotonic()
    finish.set()
    first.join()
    second.join()
    assert len(deadlines) == 1 and deadlines[0] < appointed_after + database.places.timeout


def test_sqlite_itself_waits_for_a_strange_writer_only_as_long_as_is_left(database: SqliteDatabase) -> None:
    strange = apsw.Connection(str(database.path))
    strange.execute("BEGIN IMMEDIATE")
    database.places.timeout = 0.2
    with database.writing():
        assert database.query("PRAGMA busy_timeout")[0][0] <= 200
    for grouped in (True, False):
        with pytest.raises(Busy):
            database.transact(lambda: None, grouped=grouped)
    strange.close()


def test_a_member_whose_work_has_begun_has_no_place(database: SqliteDatabase) -> None:
    finish, begun = threading.Event(), threading.Event()
    with held_elsewhere(database):
        leading, _ = started(database)
        wait_until(lambda: len(database.places._taken) == 1)
        member = threading.Thread(target=lambda: database.transact(
            lambda: (begun.set(), finish.wait(AT_LAST)), grouped=True))
        member.start()
        wait_until(lambda: len(database.places._taken) == 2)
    begun.wait(AT_LAST)
    assert not database.places._taken
    finish.set()
    leading.join()
    member.join()


def test_a_connection_waits_while_another_process_gives_a_new_file_its_log(
        database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    refused: list[apsw.BusyError] = []
    set_pragmas = SqliteDatabase._add_conn_hooks

    def refuse_twice(self: SqliteDatabase, conn: Any) -> None:
        if len(refused) < 2:
            refused.append(apsw.BusyError("database is locked"))
            raise refused[-1]
        set_pragmas(self, conn)

    monkeypatch.setattr(SqliteDatabase, "_add_conn_hooks", refuse_twice)
    database.close_all()
    with database.connected():
        assert database.query("PRAGMA journal_mode") == [("wal",)]
    assert len(refused) == 2
