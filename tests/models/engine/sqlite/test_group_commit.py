"""Concurrent writers share one transaction on SQLite, and do not affect each other."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from typing import Any

import apsw
import pytest

from models.engine.connect import open_database
from models.engine.database import current
from models.engine.errors import AlreadyExists, Busy, TimedOut, Unavailable
from models.engine.sqlite import group_commit
from models.engine.sqlite.database import SqliteDatabase
from models.engine.sqlite.writer_lock import WriterLock
from models.engine.waiting import Wait
from models.tables.tenant import Tenant
from tests.databases import new_database
from tests.running import wait_until

who: ContextVar[str] = ContextVar("who")
Work = Callable[[], object]


@pytest.fixture
def database(request: pytest.FixtureRequest) -> Iterator[SqliteDatabase]:
    opened = open_database(new_database("sqlite", request), pool_size=10, synchronous="normal", statement_timeout=0.3)
    assert isinstance(opened, SqliteDatabase)
    yield opened
    opened.close_all()


@pytest.fixture
def begun(database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list with a number for each begun transaction."""
    begin, seen = database.begin, []
    monkeypatch.setattr(database, "begin", lambda *how: (seen.append(1), begin(*how)))
    return seen


def in_threads(database: SqliteDatabase, *works: Work) -> tuple[list[threading.Thread], list[Any]]:
    """Starts a thread for each work. Each waits for its turn, or has it, before the next one starts.

    Returns the threads and their results and exceptions.
    """
    results: list[Any] = [None] * len(works)
    has_turn = [threading.Event() for _ in works]

    def run(number: int) -> None:
        def work() -> object:
            has_turn[number].set()
            return works[number]()

        who.set(f"thread {number}")
        try:
            results[number] = database.transact(work, grouped=True)
        except BaseException as error:
            results[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(works))]
    for number, thread in enumerate(threads):
        before, turn = len(database.group.waiting), has_turn[number]
        thread.start()
        wait_until(lambda before=before, turn=turn, thread=thread: (
            len(database.group.waiting) != before or turn.is_set() or not thread.is_alive()))
    return threads, results


def at_once(database: SqliteDatabase, *works: Work) -> list[Any]:
    """Runs works that all wait for the same moment. Returns their results and exceptions."""
    with database.writing():
        threads, results = in_threads(database, *works)
    for thread in threads:
        thread.join()
    return results


def held(database: SqliteDatabase) -> tuple[list[threading.Thread], list[Any], threading.Event]:
    """A leader that finishes once the event is set, with the result `first`."""
    entered, finish = threading.Event(), threading.Event()

    def first() -> str:
        entered.set()
        finish.wait(30)
        return "first"

    threads, results = in_threads(database, first)
    entered.wait(30)
    return threads, results, finish


def add(name: str) -> Work:
    return lambda: Tenant.add(name).name


def add_and_fail(name: str) -> Work:
    def work() -> None:
        Tenant.add(name)
        raise ValueError(name)

    return work


def fail() -> None:
    raise LookupError("before anything was written")


def endless_write() -> None:
    current.execute_sql("UPDATE tenants SET name = name || (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL "
                        "SELECT i + 1 FROM n) SELECT sum(i) FROM n)")


def names(database: SqliteDatabase) -> list[str]:
    with database.connected():
        return sorted(tenant.name for tenant in Tenant.all())


def test_writers_that_wait_share_one_transaction(database: SqliteDatabase, begun: list[int]) -> None:
    assert at_once(database, add("a"), add("b"), add("c")) == ["a", "b", "c"]
    assert names(database) == ["a", "b", "c"]
    assert len(begun) == 1


def test_no_work_is_acknowledged_before_it_is_committed(database: SqliteDatabase) -> None:
    last, finish = threading.Event(), threading.Event()

    def long() -> None:
        last.set()
        finish.wait(30)

    with database.writing():
        threads, results = in_threads(database, add("a"), add("b"), long)
    last.wait(30)
    assert names(database) == [] and results == [None, None, None]
    assert all(thread.is_alive() for thread in threads)
    finish.set()
    for thread in threads:
        thread.join()
    assert results == ["a", "b", None]
    assert names(database) == ["a", "b"]


def test_a_writer_that_comes_while_the_transaction_lasts_joins_it(database: SqliteDatabase, begun: list[int]) -> None:
    leading, results, came = held(database)
    following, others = in_threads(database, add("b"))
    came.set()
    for thread in (*leading, *following):
        thread.join()
    assert results + others == ["first", "b"]
    assert len(begun) == 1


def test_a_transaction_takes_no_more_than_its_number_of_members(database: SqliteDatabase, begun: list[int],
                                                                monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "MOST", 2)
    assert at_once(database, *(add(name) for name in "abcde")) == list("abcde")
    assert len(begun) == 3


@pytest.mark.parametrize("position", range(3))
def test_one_that_fails_before_it_wrote_fails_alone(database: SqliteDatabase, begun: list[int], position: int) -> None:
    works: list[Work] = [add("a"), add("b")]
    works.insert(position, fail)
    results = at_once(database, *works)
    assert isinstance(results.pop(position), LookupError)
    assert (results, names(database), len(begun)) == (["a", "b"], ["a", "b"], 1)


@pytest.mark.parametrize("position", range(3))
def test_what_a_failed_one_wrote_is_undone_and_the_others_have_their_effect_once(
        database: SqliteDatabase, position: int) -> None:
    works: list[Work] = [add("a"), add("b")]
    works.insert(position, add_and_fail("x"))
    results = at_once(database, *works)
    assert isinstance(results.pop(position), ValueError)
    assert (results, names(database)) == (["a", "b"], ["a", "b"])


def test_of_two_that_want_the_same_one_gets_it(database: SqliteDatabase) -> None:
    results = at_once(database, add("a"), add("a"), add("b"))
    assert isinstance(results[1], AlreadyExists)
    assert (results[0], results[2], names(database)) == ("a", "b", ["a", "b"])


def test_a_statement_that_is_stopped_takes_no_other_members_rows_with_it(database: SqliteDatabase) -> None:
    # SQLite rolls back the whole transaction when it interrupts a writing statement.
    results = at_once(database, add("a"), endless_write, add("b"))
    assert isinstance(results.pop(1), TimedOut)
    assert (results, names(database)) == (["a", "b"], ["a", "b"])


def test_no_work_is_acknowledged_when_the_leader_ends_before_the_commit(
        database: SqliteDatabase) -> None:
    def end() -> None:
        raise SystemExit

    results = at_once(database, add("a"), add("b"), end)
    assert names(database) == [], "SystemExit is no error of the work: no member catches it"
    assert [type(result) for result in results].count(Unavailable) == 2
    assert database.transact(add("c"), grouped=True) == "c"


@pytest.mark.parametrize("position", range(3))
def test_work_that_goes_on_without_its_transaction_is_not_acknowledged_and_harms_no_other(
        database: SqliteDatabase, position: int) -> None:
    def careless() -> None:
        with suppress(TimedOut):
            endless_write()

    database.transact(add("0"))
    works: list[Work] = [add("a"), add("b")]
    works.insert(position, careless)
    results = at_once(database, *works)
    assert isinstance(results.pop(position), Unavailable)
    assert (results, names(database)) == (["a", "b"], ["0", "a", "b"])


def test_what_was_committed_on_the_connection_of_another_is_recalled(database: SqliteDatabase) -> None:
    def recalled() -> list[str]:
        return [name for name, in database.recall("SELECT name FROM tenants ORDER BY name", ())]

    found = []

    def follow() -> None:
        with database.connected():
            found.append(recalled())
            database.transact(add("b"), grouped=True)
            found.append(recalled())

    with database.writing():
        leading, _ = in_threads(database, add("a"))
        following = threading.Thread(target=follow)
        following.start()
        wait_until(lambda: len(database.group.waiting) == 2)
    for thread in (*leading, following):
        thread.join()
    assert found == [[], ["a", "b"]]


@pytest.mark.parametrize("grouped", [False, True])
def test_what_this_thread_committed_is_recalled(database: SqliteDatabase, grouped: bool) -> None:
    statement = "SELECT name FROM tenants ORDER BY name"
    with database.connected():
        assert database.recall(statement, ()) == []
        database.transact(add("a"), grouped=grouped)
        assert database.recall(statement, ()) == [("a",)]


@pytest.mark.parametrize("writes", [False, True])
def test_what_failed_work_held_goes_with_its_error(database: SqliteDatabase, writes: bool) -> None:
    # A refused request and its body must not stay in memory until the garbage collector runs.
    class Body:
        pass

    def work(held: Body) -> None:
        if writes:
            Tenant.add("x")
        raise ValueError(held)

    gc.disable()
    try:
        body = Body()
        gone = weakref.ref(body)
        try:
            database.transact(partial(work, body), grouped=True)
        except ValueError:
            del body
        assert gone() is None
    finally:
        gc.enable()


def test_when_the_commit_fails_each_has_another_try(database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    commit, failures = database.commit, [Unavailable("the disk is full")]

    def failing() -> object:
        if failures:
            raise failures.pop()
        return commit()

    monkeypatch.setattr(database, "commit", failing)
    assert at_once(database, add("a"), add("b")) == ["a", "b"]
    assert names(database) == ["a", "b"]


@pytest.mark.parametrize("error", [Unavailable("the disk is full"), apsw.FullError("the disk is full")])
def test_a_single_writer_whose_commit_fails_gets_the_error(
        database: SqliteDatabase, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing() -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(database, "commit", failing)
        with pytest.raises(Unavailable):
            database.transact(add("a"), grouped=True)
    assert database.transact(add("b"), grouped=True) == "b"
    assert names(database) == ["b"]


def test_each_work_sees_the_context_of_its_own_thread(database: SqliteDatabase) -> None:
    assert at_once(database, who.get, who.get, who.get) == ["thread 0", "thread 1", "thread 2"]


def test_without_a_turn_in_time_every_member_gets_busy(database: SqliteDatabase) -> None:
    database.places.timeout = 0.2
    with database.writing():
        threads, results = in_threads(database, add("a"), add("b"))
        for thread in threads:
            thread.join()
    assert [type(result) for result in results] == [Busy, Busy]
    assert database.transact(add("c"), grouped=True) == "c"
    assert names(database) == ["c"]


def test_a_member_that_came_later_may_wait_longer_for_a_turn(database: SqliteDatabase) -> None:
    # For example after an import, which holds the lock for seconds.
    with database.writing():
        database.places.timeout = 0.3
        threads, first = in_threads(database, add("a"))
        database.places.timeout = 30
        others, second = in_threads(database, add("b"))
        threads[0].join()
    others[0].join()
    assert isinstance(first[0], Busy)
    assert (second, names(database)) == (["b"], ["b"])


def test_a_member_that_waits_too_long_goes_and_leaves_the_rest_in_order(
        database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "MOST", 1)
    leading, results, finish = held(database)
    database.places.timeout = 0.1
    with pytest.raises(Busy):
        database.transact(add("b"), grouped=True)
    finish.set()
    leading[0].join()
    assert results == ["first"]
    assert database.transact(add("c"), grouped=True) == "c"
    assert names(database) == ["c"]


def test_members_that_give_up_leave_no_other_without_a_turn(
        database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "MOST", 1)
    database.places.timeout = 0.002
    stored, given_up = [], []

    def crowd(number: int) -> None:
        for turn in range(60):
            name = f"{number}-{turn}"
            try:
                stored.append(database.transact(add(name), grouped=True))
            except Busy:
                given_up.append(name)

    threads = [threading.Thread(target=crowd, args=(number,), daemon=True) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert names(database) == sorted(stored)
    assert len(stored) + len(given_up) == 8 * 60
    assert database.transact(add("last"), grouped=True) == "last"


def test_in_a_crowd_each_writer_gets_its_own_result(database: SqliteDatabase) -> None:
    failures = []

    def crowd(number: int) -> None:
        for turn in range(20):
            name = f"{number}-{turn}"
            work = add_and_fail(name) if (number + turn) % 5 == 0 else add(name)
            try:
                if database.transact(work, grouped=turn % 4 > 0) != name:
                    failures.append(name)
            except ValueError as error:
                if str(error) != name:
                    failures.append(name)

    threads = [threading.Thread(target=crowd, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert names(database) == sorted(f"{number}-{turn}" for number in range(8) for turn in range(20)
                                     if (number + turn) % 5)


def test_a_leader_waits_while_fewer_have_come_than_lately(
        database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    rests: list[float] = []
    at_once(database, add("one"), add("two"), add("three"))
    monkeypatch.setattr(database.group._gathered, "wait", rests.append)
    waited = []
    for name in ("four", "five", "six"):
        rests.clear()
        database.transact(add(name), grouped=True)
        waited.append(len(rests))
    # Each time it expects one writer less: it does not wait for writers that have stopped.
    assert waited == [1, 1, 0]


def test_while_a_leader_waits_another_process_can_write(
        database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once(database, add("one"), add("two"))
    free = []

    def look(_seconds: float) -> None:
        lock = WriterLock(database.path)
        lock.acquire(Wait(database.places))
        lock.release()
        free.append(True)

    monkeypatch.setattr(database.group._gathered, "wait", look)
    database.transact(add("three"), grouped=True)
    assert free == [True]


def test_a_leader_goes_on_as_soon_as_the_last_one_has_come(
        database: SqliteDatabase, begun: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    at_once(database, add("one"), add("two"))
    begun.clear()
    monkeypatch.setattr(group_commit, "REST", 60)
    threads, results = in_threads(database, add("three"), add("four"))
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    assert (results, len(begun)) == (["three", "four"], 1)


def test_writers_that_wait_hold_no_connection(database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    connect, opened = database._connect, []
    for pool in (database._pool, database._writers):
        monkeypatch.setattr(pool, "_connect", lambda: (opened.append(1), connect())[1])
    with database.writing():
        threads, results = in_threads(database, add("a"), add("b"), add("c"), add("d"))
        assert len(opened) == 1  # that of the writer whose turn it is
    for thread in threads:
        thread.join()
    assert results == ["a", "b", "c", "d"]


def test_writers_follow_each_other_on_one_connection(database: SqliteDatabase) -> None:
    used = [database.transact(database.connection, grouped=grouped) for grouped in (True, False, True)]
    assert len(set(map(id, used))) == 1


def test_a_leader_waits_on_as_long_as_one_comes_after_the_other(
        database: SqliteDatabase, begun: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    at_once(database, add("one"), add("two"), add("three"))
    begun.clear()
    threads: list[threading.Thread] = []

    def come(_seconds: float) -> None:
        if len(threads) < 2:
            threads.extend(in_threads(database, add(f"later {len(threads)}"))[0])

    monkeypatch.setattr(database.group._gathered, "wait", come)
    database.transact(add("first"), grouped=True)
    for thread in threads:
        thread.join()
    assert (len(threads), len(begun)) == (2, 1)


@pytest.mark.parametrize("grouped", [False, True])
def test_a_file_that_is_gone_is_unavailable(database: SqliteDatabase, grouped: bool) -> None:
    database.close_all()
    database.path.rename(database.path.with_suffix(".moved"))
    with pytest.raises(Unavailable):
        database.transact(add("a"), grouped=grouped)
    database.path.with_suffix(".moved").rename(database.path)
    assert database.transact(add("b"), grouped=grouped) == "b"
