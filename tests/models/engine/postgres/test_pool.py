"""The pool of Postgres connections: the connecting thread, waiting threads, and refused ones."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from models.engine.connect import open_database
from models.engine.errors import Overloaded, Unavailable
from models.engine.postgres import connection
from models.engine.postgres.connection import Connection, Pool
from models.engine.postgres.database import PostgresDatabase
from models.engine.waiting import Places, Wait, uncounted
from tests.databases import new_database
from tests.running import wait_until

AT_LAST = 30  # seconds after which an event will never happen


@pytest.fixture(scope="module")
def url(request: pytest.FixtureRequest) -> str:
    return new_database("postgres", request)


@pytest.fixture
def database(url: str) -> Iterator[PostgresDatabase]:
    opened = open_database(url, pool_size=4)
    assert isinstance(opened, PostgresDatabase)
    yield opened
    opened.close_all()


class Asked:
    """A pool whose `connect` waits for `go_on`."""

    def __init__(self, database: PostgresDatabase, *, size: int = 4, waiting: int | None = None) -> None:
        self.made: list[int] = []
        self.go_on = threading.Event()
        self.error: Exception | None = None
        self._database = database
        self.places = Places(waiting, moment=0.1, timeout=AT_LAST, late=lambda: Unavailable("none is free"))
        self.pool = Pool(self.connect, size, self.places)

    def connect(self) -> Connection:
        self.made.append(1)
        self.go_on.wait(AT_LAST)
        if self.error is not None:
            raise self.error
        return self._database._connect()


@pytest.fixture
def asked(database: PostgresDatabase) -> Iterator[Asked]:
    asked = Asked(database)
    yield asked
    asked.pool.close()


def timed_out() -> Exception:
    return psycopg.errors.ConnectionTimeout("no answer")


def test_after_a_silence_no_thread_tries_for_a_while(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    asked.go_on.set()
    asked.error = timed_out()
    monkeypatch.setattr(connection, "LATER", AT_LAST)
    with pytest.raises(psycopg.OperationalError):
        asked.pool.take()
    for _ in range(10):
        with pytest.raises(Unavailable):
            asked.pool.take()
    assert len(asked.made) == 1


def test_then_one_thread_tries_while_the_others_are_refused(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LATER", 0)
    asked.go_on.set()
    asked.error = timed_out()
    with pytest.raises(psycopg.OperationalError):
        asked.pool.take()
    asked.go_on.clear()
    asked.error = None
    with ThreadPoolExecutor(1) as thread:
        trying = thread.submit(asked.pool.take)
        wait_until(lambda: len(asked.made) >= 2)
        for _ in range(3):
            with pytest.raises(Unavailable):
                asked.pool.take()
        assert len(asked.made) == 2
        asked.go_on.set()
        asked.pool.give_back(trying.result())
    assert asked.pool.take() is trying.result()


def test_a_server_that_refuses_is_asked_again_by_every_thread(asked: Asked) -> None:
    asked.go_on.set()
    asked.error = psycopg.OperationalError("connection refused")
    for _ in range(3):
        with pytest.raises(psycopg.OperationalError):
            asked.pool.take()
    assert len(asked.made) == 3


def test_while_one_connects_another_takes_what_is_given_back(asked: Asked) -> None:
    asked.go_on.set()
    first = asked.pool.take()
    asked.go_on.clear()
    with ThreadPoolExecutor(1) as thread:
        connecting = thread.submit(asked.pool.take)
        wait_until(lambda: len(asked.made) >= 2)
        asked.pool.give_back(first)
        assert asked.pool.take() is first
        asked.go_on.set()
        assert connecting.result() is not first


def test_half_of_the_threads_connect_or_wait_for_a_connection_and_the_others_are_refused(
        database: PostgresDatabase) -> None:
    asked = Asked(database, size=3, waiting=2)
    with ThreadPoolExecutor(2) as threads:
        connecting = [threads.submit(asked.pool.take) for _ in range(2)]
        wait_until(lambda: len(asked.made) >= 2)
        with pytest.raises(Overloaded):
            asked.pool.take()
        assert len(asked.made) == 2
        asked.go_on.set()
        taken = [one.result() for one in connecting]
    taken.append(asked.pool.take())
    with ThreadPoolExecutor(2) as threads:
        waiting = [threads.submit(asked.pool.take) for _ in range(2)]
        wait_until(lambda: len(asked.places._taken) >= 2)
        with pytest.raises(Overloaded) as refused:
            asked.pool.take()
        assert 1 <= refused.value.retry_after <= AT_LAST
        for conn in taken[:2]:
            asked.pool.give_back(conn)
        assert {id(one.result()) for one in waiting} == {id(conn) for conn in taken[:2]}
    with uncounted(), pytest.raises(Unavailable, match="none is free"):
        asked.places.timeout = 0.01
        asked.pool.take()
    asked.pool.close()


@pytest.mark.parametrize("ready", [0, 1], ids=["after the start", "after a lull"])
def test_a_burst_is_answered_though_half_of_its_threads_find_all_places_taken(url: str, ready: int) -> None:
    database = open_database(url, pool_size=8, waiting=2)
    assert isinstance(database, PostgresDatabase)
    database._pool._places.moment = AT_LAST  # longer than a connection takes on any busy machine
    barrier, connected = threading.Barrier(8), threading.Barrier(8)

    def ask(_number: int) -> bool:
        barrier.wait(AT_LAST)
        with database.connected():
            connected.wait(AT_LAST)
            return database.query("SELECT true")[0][0]

    for _ in range(ready):
        database.ping()
    database._pool._places.moved -= 2 * AT_LAST
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(ask, range(8))) == [True] * 8
    database.close_all()


def test_a_thread_that_gets_a_place_after_a_moment_connects_at_it(
        database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(database, size=2, waiting=1)
    asked.go_on.set()
    asked.places.moment = AT_LAST
    kept = Wait(asked.places)
    asked.places.acquire(kept)
    # A connection becomes free while it waits.
    monkeypatch.setattr(asked.pool._changed, "wait", lambda seconds: kept.end())
    assert asked.pool.take()
    assert kept.over
    asked.pool.close()


def test_a_connection_that_was_left_in_a_transaction_is_used_again_without_it(asked: Asked) -> None:
    asked.go_on.set()
    conn = asked.pool.take()
    conn.execute("BEGIN")
    asked.pool.give_back(conn)
    assert asked.pool.take() is conn
    assert conn.pgconn.transaction_status == psycopg.pq.TransactionStatus.IDLE
    conn.execute("BEGIN")
    with pytest.raises(psycopg.Error):
        conn.execute("nonsense")
    asked.pool.give_back(conn)
    assert asked.pool.take() is conn
