"""Commits that no standby has confirmed: none counts as stored, by whatever their wait ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from models.base import new_id
from models.engine.connect import open_database
from models.engine.database import Database
from models.engine.errors import Unavailable
from models.engine.postgres.database import PostgresDatabase
from models.tables.tenant import Tenant
from tests.databases import Server
from tests.models.engine.postgres.patience import LONG, hurried
from tests.running import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def opened(own_server: Server) -> Iterator[Callable[[], Database]]:
    databases: list[Database] = []

    def opened() -> Database:
        url = f"{own_server.url('gatepost')}?options=-c%20synchronous_commit%3Don"
        databases.append(open_database(url, pool_size=4, statement_timeout=LONG))
        return databases[-1]

    yield opened
    for each in databases:
        each.close_all()


@pytest.fixture(params=["pg_cancel_backend", "pg_terminate_backend"])
def ended(request: pytest.FixtureRequest, own_server: Server) -> Callable[[Callable[[], Any]], Any]:
    """Runs a transaction whose commit waits for the standby, and makes the server end that wait."""
    def ended(work: Callable[[], Any]) -> Any:
        with (ThreadPoolExecutor(1) as thread,
              psycopg.connect(own_server.url("postgres"), autocommit=True) as operator):
            done = thread.submit(work)
            wait_until(lambda: operator.execute(
                f"SELECT {request.param}(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'").fetchall())
            return done.result(60)

    return ended


def names(database: Database) -> set[str]:
    with database.connected():
        return {tenant.name for tenant in Tenant.all()}


def test_a_commit_whose_wait_is_ended_is_unavailable_though_the_server_has_stored_it(own_server, opened, ended):
    database, name = opened(), new_id()
    with own_server.lost_standby(), pytest.raises(Unavailable):
        ended(lambda: database.transact(lambda: Tenant.add(name)))
    assert name in names(database)


def test_a_statement_that_is_a_transaction_of_its_own_is_judged_alike(own_server, opened, ended):
    database, name = opened(), new_id()

    def write() -> None:
        with database.connected():
            database.write("INSERT INTO tenants (id, name, created_at) VALUES (%s, %s, now())", (new_id(), name))

    with own_server.lost_standby(), pytest.raises(Unavailable):
        ended(write)
    assert name in names(database)


def test_a_server_that_sends_no_warnings_is_made_to_send_them(own_server, opened, ended):
    own_server.execute("ALTER DATABASE gatepost SET client_min_messages = error")
    try:
        database = opened()
        with own_server.lost_standby(), pytest.raises(Unavailable):
            ended(lambda: database.transact(lambda: Tenant.add(new_id())))
    finally:
        own_server.execute("ALTER DATABASE gatepost RESET client_min_messages")


def test_the_connection_is_closed_and_the_next_one_is_as_good_as_new(own_server, opened, ended):
    database, closed = opened(), []

    def write() -> None:
        with database.connected():
            try:
                database.transact(lambda: Tenant.add(new_id()))
            finally:
                closed.append(database.connection().closed)

    with own_server.lost_standby(), pytest.raises(Unavailable):
        ended(write)
    assert closed == [True]
    assert database.transact(lambda: Tenant.add(new_id()).name)


def test_other_warnings_are_none_of_ours(opened):
    database = opened()
    with database.connected():
        database.execute_sql("DO $$ BEGIN RAISE WARNING 'canceling wait for synchronous replication'; END $$")
        assert database.query("SELECT 1") == [(1,)]


def test_what_was_read_is_confirmed_only_once_the_standby_has_it(own_server, opened):
    database = opened()
    assert isinstance(database, PostgresDatabase)
    with own_server.lost_standby(), database.connected():
        assert database.query("SELECT 1") == [(1,)]
        with hurried(database), pytest.raises(Unavailable):
            database.confirm()
    wait_until(lambda: _confirmed(database))


def _confirmed(database: Database) -> bool:
    try:
        with database.connected():
            database.confirm()
        return True
    except Unavailable:
        return False
