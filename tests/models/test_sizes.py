"""How large things are: told without reading a table through."""

from __future__ import annotations

import re

import pytest

from models import bulk
from models.audit import Audit, append
from models.base import new_id, now
from models.category import Category
from models.sizes import measure
from models.tenant import Tenant


def test_the_largest_tables_come_first_with_about_as_many_rows_as_they_have(database):
    tenant = Tenant.add(f"tenant {new_id()}").id
    database.transact(lambda: bulk.insert(database, tenant, [
        Category(name=f"N{number}", slug=f"sized-{number}") for number in range(3000)]))
    database.analyze()
    found = measure(database)
    largest = found.tables[0]
    assert largest.name == "categories" and 2900 <= largest.rows <= 3100
    assert found.database > 500_000
    assert (found.log is None) is (largest.bytes is not None) is (database.dialect == "postgres")


def test_it_says_since_when_there_are_audit_rows(database):
    tenant, moment = Tenant.add(f"tenant {new_id()}").id, now()
    append([Audit(tenant_id=tenant, principal="guest", role="guest", action="view", resource="r", result="refused",
                  time=moment)])
    assert measure(database).since == moment


def test_no_table_is_read_through(database, monkeypatch):
    if database.dialect != "sqlite":
        pytest.skip("the server's catalogue knows")
    asked, query = [], database.query
    monkeypatch.setattr(database, "query", lambda sql, *values: asked.append(sql) or query(sql, *values))
    measure(database)
    plans = [str(query(f"EXPLAIN QUERY PLAN {sql}")) for sql in asked if '"' in sql]
    assert len(plans) > 10
    assert all("SEARCH" in plan and not re.search(r"SCAN (?!CONSTANT)", plan) for plan in plans), plans
