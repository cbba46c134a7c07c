"""Background writes whose COMMIT gets no answer: a row is never stored twice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gatepost.http.auditing.refusals import Refusal
from gatepost.http.auditing.writer import AuditWriter
from gatepost.http.operations.deprecation import DeprecatedUses
from gatepost.http.security.keys import Keys
from models.engine.connect import open_database
from models.engine.errors import TimedOut, Unavailable
from models.engine.postgres.database import PostgresDatabase
from models.tables.audit import Audit
from models.tables.deprecated_use import uses
from models.tables.tenant import Tenant
from tests.databases import Server
from tests.models.engine.postgres.patience import LONG, hurried

pytestmark = pytest.mark.slow


@pytest.fixture
def database(own_server: Server) -> Iterator[PostgresDatabase]:
    opened = open_database(f"{own_server.url('gatepost')}?options=-c%20synchronous_commit%3Don", pool_size=2,
                           statement_timeout=LONG)
    assert isinstance(opened, PostgresDatabase)
    yield opened
    opened.close_all()


@pytest.fixture
def tenant(database: PostgresDatabase) -> str:
    with database.connected():
        return (Tenant.by_name("default") or Tenant.add("default")).id


def refusal(tenant: str, number: int) -> Refusal:
    return Refusal(tenant, "guest", "guest", "view", "article", None, f"192.0.2.{number}", "refused",
                   "unauthenticated", "1")


def test_refusals_are_stored_once_however_often_their_commit_is_not_answered(
        own_server: Server, database: PostgresDatabase, tenant: str) -> None:
    trail = AuditWriter(database, Keys([bytes(range(32))]))
    for number in range(3):
        trail.refuse(refusal(tenant, number), "r")
    with own_server.lost_standby(), hurried(database):
        for number in range(3, 6):
            with pytest.raises((Unavailable, TimedOut)):
                trail.flush()
            trail.refuse(refusal(tenant, number), "r")
    trail.flush()
    with database.connected():
        stored = sorted((row.address, row.count) for row in Audit.select())
    assert stored == [(f"192.0.2.{number}", 1) for number in range(6)]


def test_uses_of_what_is_deprecated_are_counted_once_at_most(
        own_server: Server, database: PostgresDatabase, tenant: str) -> None:
    counts = DeprecatedUses(database)
    counts.add(tenant, "GET /api/ping", "guest")
    with own_server.lost_standby(), hurried(database), pytest.raises((Unavailable, TimedOut)):
        counts.store()
    counts.store()
    with database.connected():
        assert [use.count for use in uses(tenant)] == [1], "the server had stored it, though it could not say so"
