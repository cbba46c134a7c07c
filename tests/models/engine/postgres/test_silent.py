"""A Postgres that stops answering: no caller waits for it endlessly, and once it answers everything works again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from models.base import Rows, new_id, now
from models.engine.connect import open_database
from models.engine.database import current
from models.engine.errors import TimedOut, Unavailable
from models.engine.postgres.database import PostgresDatabase
from models.records import bulk
from models.tables.article import Article
from models.tables.tenant import Tenant
from tests.databases import Server
from tests.models.engine.postgres.patience import LONG, hurried, hurry
from tests.running import wait_until

pytestmark = pytest.mark.slow

AT_LAST = 30  # seconds after which an event will never happen


@pytest.fixture
def database(own_server: Server) -> Iterator[PostgresDatabase]:
    opened = open_database(f"{own_server.url('gatepost')}?connect_timeout=8&options=-c%20synchronous_commit%3Don",
                           pool_size=4, statement_timeout=LONG)
    assert isinstance(opened, PostgresDatabase)
    yield opened
    opened.close_all()


def answers(database: PostgresDatabase) -> bool:
    try:
        database.ping()
        return True
    except Unavailable:
        return False


def works_again(database: PostgresDatabase) -> None:
    """Checks that all connections work after a pause in which no thread tries."""
    hurry(database, LONG)
    wait_until(lambda: answers(database))
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: database.ping(), range(16)))
    assert database.transact(lambda: Tenant.add(new_id()).name)


def test_a_statement_ends_though_the_server_says_nothing(own_server: Server, database: PostgresDatabase) -> None:
    with database.connected():
        conn = database.connection()
        with own_server.silent(), hurried(database):
            with pytest.raises(Unavailable, match="silent"):
                database.query("SELECT 1")
            assert conn.closed
            with pytest.raises(Unavailable):
                database.write("DELETE FROM tenants")
            with pytest.raises(Unavailable):
                Tenant.all()
    works_again(database)


def test_the_servers_own_limit_speaks_first_where_the_server_is_alive(own_server: Server) -> None:
    database = open_database(own_server.url("gatepost"), pool_size=1, statement_timeout=0.5)
    assert isinstance(database, PostgresDatabase)
    assert database._patience >= 0.5 + 1
    hurry(database, LONG)
    with database.connected():
        with pytest.raises(TimedOut):
            database.query("SELECT pg_sleep(120)")
        hurry(database, LONG)
    database.close_all()


def test_a_transaction_whose_server_falls_silent_is_not_tried_again(
        own_server: Server, database: PostgresDatabase) -> None:
    runs = []

    def work() -> None:
        runs.append(1)
        hurry(database)
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
            database.transact(lambda: (runs.append(1), Tenant.add(name), hurry(database)))
        hurry(database, LONG)
        # Everything else continues at once.
        for _ in range(5):
            with database.connected():
                Tenant.all()
    assert runs == [1]
    works_again(database)
    with database.connected():
        # The commit without an answer: here it was stored.
        assert Tenant.by_name(name) is not None


def test_connections_that_lay_ready_are_given_up(own_server: Server, database: PostgresDatabase) -> None:
    barrier = threading.Barrier(3)

    def hold(_number: int) -> Any:
        with database.connected():
            barrier.wait(AT_LAST)
            return database.connection()

    with ThreadPoolExecutor(3) as threads:
        ready = list(threads.map(hold, range(3)))
    with own_server.silent(), hurried(database), pytest.raises(Unavailable):
        database.ping()
    assert all(conn.closed for conn in ready)
    works_again(database)


def test_a_caller_that_connects_is_refused_in_time(own_server: Server, database: PostgresDatabase) -> None:
    with own_server.silent(), hurried(database), pytest.raises(Unavailable):
        database.ping()
    works_again(database)


def test_a_copy_ends_wherever_the_server_falls_silent(own_server: Server, database: PostgresDatabase) -> None:
    tenant = database.transact(lambda: Tenant.add(new_id()).id)
    rows = [(new_id(), tenant, 1, now(), now(), f"slug-{number}", "t", "b" * 10_000) for number in range(2_000)]

    def work() -> None:
        cursor = current.cursor()
        # More than the kernel buffers for a server that does not read.
        with cursor.copy("COPY articles (id, tenant_id, version, created_at, updated_at, slug, title, body) "
                         "FROM STDIN") as copy:
            copy.write_row(rows[0])
            hurry(database)
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
    database._patience = 5
    with database.connected():
        database.execute_sql("SET statement_timeout = 0")
        with database.cursor().copy("COPY tenants (id, name, created_at) FROM STDIN") as copy:
            for _ in range(5):
                threading.Event().wait(1.2)
                copy.write_row((new_id(), new_id(), now()))


def test_a_migration_and_an_analysis_may_take_their_time(
        database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    execute, limits = database.execute_sql, {}

    def note(sql: str, *more: Any) -> Any:
        limits[sql] = database.connection().patience
        return execute(sql, *more)

    hurry(database, LONG)
    with database.migrating():
        assert database.query("SHOW statement_timeout") == [("0",)]
        assert database.connection().patience is None
    with database.connected():
        assert database.connection().patience == LONG
        assert database.query("SHOW statement_timeout") == [("1min",)]
    monkeypatch.setattr(database, "execute_sql", note)
    database.analyze()
    assert limits["ANALYZE"] is None
