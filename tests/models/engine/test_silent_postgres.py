"""A Postgres that says nothing any more: no caller waits for it without end, and once it answers all is as before."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from models.base import Rows, new_id, now
from models.engine.connect import open_database
from models.engine.database import current
from models.engine.errors import Overloaded, TimedOut, Unavailable
from models.engine.postgres import connection
from models.engine.postgres.connection import Connection, Pool
from models.engine.postgres.database import PostgresDatabase
from models.engine.waiting import Places, Wait, uncounted
from models.records import bulk
from models.tables.article import Article
from models.tables.tenant import Tenant
from tests.databases import Server
from tests.running import wait_until

AT_LAST = 30  # seconds after which something will never happen


@pytest.fixture
def database(own_server: Server) -> Iterator[PostgresDatabase]:
    opened = open_database(f"{own_server.url('gatepost')}?options=-c%20synchronous_commit%3Don", pool_size=4,
                           statement_timeout=0.5)
    assert isinstance(opened, PostgresDatabase)
    yield opened
    opened.close_all()


def works_again(database: PostgresDatabase) -> None:
    """After a pause in which no thread tries, all connections are as good as new."""
    deadline = threading.Event()
    timer = threading.Timer(AT_LAST, deadline.set)
    timer.start()
    while not deadline.is_set():
        try:
            database.ping()
            break
        except Unavailable:
            deadline.wait(0.05)
    timer.cancel()
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: database.ping(), range(16)))
    assert database.transact(lambda: Tenant.add(new_id()).name)


def test_a_statement_ends_though_the_server_says_nothing(own_server: Server, database: PostgresDatabase) -> None:
    with database.connected():
        conn = database.connection()
        with own_server.silent():
            with pytest.raises(Unavailable, match="silent"):
                database.query("SELECT 1")
            assert conn.closed
            with pytest.raises(Unavailable):
                database.write("DELETE FROM tenants")
            with pytest.raises(Unavailable):
                Tenant.all()
    works_again(database)


def test_the_servers_own_limit_speaks_first_where_the_server_is_alive(database: PostgresDatabase) -> None:
    with database.connected():
        with pytest.raises(TimedOut):
            database.query("SELECT pg_sleep(60)")
        assert database.query("SELECT 1") == [(1,)]


def test_a_transaction_whose_server_falls_silent_is_not_tried_again(
        own_server: Server, database: PostgresDatabase) -> None:
    runs = []

    def work() -> None:
        runs.append(1)
        silence.__enter__()
        Tenant.add("never")

    silence = own_server.silent()
    with pytest.raises(Unavailable, match="silent"):
        database.transact(work)
    silence.__exit__(None, None, None)
    assert runs == [1]
    works_again(database)
    with database.connected():
        assert Tenant.by_name("never") is None


def test_a_commit_that_waits_for_a_lost_standby_ends_and_its_work_is_not_done_again(
        own_server: Server, database: PostgresDatabase) -> None:
    runs, name = [], f"perhaps {new_id()}"
    with own_server.lost_standby():
        with pytest.raises(Unavailable, match="silent"):
            database.transact(lambda: (runs.append(1), Tenant.add(name)))
        # All else goes on, at once.
        for _ in range(5):
            with database.connected():
                Tenant.all()
    assert runs == [1]
    works_again(database)
    with database.connected():
        # What could not be told then: here it had been stored.
        assert Tenant.by_name(name) is not None


def test_connections_that_lay_ready_are_given_up(own_server: Server, database: PostgresDatabase) -> None:
    barrier = threading.Barrier(3)

    def hold(_number: int) -> Any:
        with database.connected():
            barrier.wait(AT_LAST)
            return database.connection()

    with ThreadPoolExecutor(3) as threads:
        ready = list(threads.map(hold, range(3)))
    with own_server.silent(), pytest.raises(Unavailable):
        database.ping()
    assert all(conn.closed for conn in ready)
    works_again(database)


def test_a_caller_that_connects_is_refused_in_time(own_server: Server, database: PostgresDatabase) -> None:
    with own_server.silent(), pytest.raises(Unavailable):
        database.ping()
    works_again(database)


def test_a_copy_ends_wherever_the_server_falls_silent(own_server: Server, database: PostgresDatabase) -> None:
    tenant = database.transact(lambda: Tenant.add(new_id()).id)
    rows = [(new_id(), tenant, 1, now(), now(), f"slug-{number}", "t", "b" * 10_000) for number in range(2_000)]

    def work() -> None:
        cursor = current.cursor()
        # More than the kernel keeps for a server that does not read.
        with cursor.copy("COPY articles (id, tenant_id, version, created_at, updated_at, slug, title, body) "
                         "FROM STDIN") as copy:
            copy.write_row(rows[0])
            silence.__enter__()
            for row in rows[1:]:
                copy.write_row(row)

    silence = own_server.silent()
    with pytest.raises(Unavailable):
        database.transact(work)
    silence.__exit__(None, None, None)
    works_again(database)
    with database.connected():
        assert Rows(Article, tenant).select().count() == 0
    made = [Article(title="t", slug=f"s-{number}", body="b") for number in range(500)]
    database.transact(lambda: bulk.insert(database, tenant, made))


def test_a_load_may_take_longer_than_a_statement_as_long_as_the_server_takes_what_is_sent(
        database: PostgresDatabase) -> None:
    database._patience = 0.5
    with database.connected():
        database.execute_sql("SET statement_timeout = 0")
        with database.cursor().copy("COPY tenants (id, name, created_at) FROM STDIN") as copy:
            for _ in range(4):
                threading.Event().wait(0.2)
                copy.write_row((new_id(), new_id(), now()))


def test_a_migration_and_an_analysis_may_take_their_time(database: PostgresDatabase) -> None:
    database._patience = 0.2
    with database.migrating():
        assert database.query("SELECT 1 FROM pg_sleep(0.6)") == [(1,)]
        assert database.connection().patience is None
    with database.connected():
        assert database.connection().patience == 0.2
    database.analyze()


class Asked:
    """A pool whose connections are made by `connect`, which waits for `go_on`."""

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
def test_a_burst_is_answered_though_half_of_its_threads_find_all_places_taken(own_server: Server, ready: int) -> None:
    database = open_database(own_server.url("gatepost"), pool_size=8, waiting=2)
    assert isinstance(database, PostgresDatabase)
    database._pool._places.moment = AT_LAST  # longer than connecting takes, however busy the machine
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


def test_a_thread_that_gets_a_place_after_a_moment_connects_at_it(database: PostgresDatabase) -> None:
    asked = Asked(database, size=2, waiting=1)
    asked.go_on.set()
    kept = Wait(asked.places)
    asked.places.acquire(kept)
    with ThreadPoolExecutor(1) as thread:
        asked.places.moment = 0.5
        connecting = thread.submit(asked.pool.take)
        while not asked.pool._changed._waiters and not connecting.done():
            threading.Event().wait(0.005)
        kept.end()
        assert connecting.result(AT_LAST / 2)
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
