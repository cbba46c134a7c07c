"""Sizes of tables and files, without a scan of a table."""

from __future__ import annotations

import re

import pytest

from models.base import new_id, now
from models.records import bulk
from models.tables import sizes
from models.tables.audit import Audit, append
from models.tables.category import Category
from models.tables.sizes import measure
from models.tables.tenant import Tenant

pytestmark = pytest.mark.both_databases


def test_the_largest_tables_come_first_with_about_as_many_rows_as_they_have(database):
    tenant = Tenant.add(f"tenant {new_id()}").id
    database.transact(lambda: bulk.insert(database, tenant, [
        Category(name=f"N{number}", slug=f"sized-{number}") for number in range(3000)]))
    database.analyze()
    found = measure(database)
    largest = found.tables[0]
    assert largest.name == "categories" and 2900 <= largest.rows <= 3100
    assert found.database > 500_000
    assert (found.log is None) is (found.files is None) is (largest.bytes is not None) is (
        database.dialect == "postgres")


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


def test_a_table_without_row_ids_is_counted_up_to_a_bound(database, monkeypatch):
    if database.dialect != "sqlite":
        pytest.skip("there are none")
    database.execute_sql("CREATE TABLE pairs (one INTEGER, other INTEGER, PRIMARY KEY (one, other)) WITHOUT ROWID")
    try:
        database.execute_sql("INSERT INTO pairs VALUES (1, 2), (1, 3), (2, 3)")
        for counted, rows in ((100, 3), (2, 2)):
            monkeypatch.setattr(sizes, "COUNTED", counted)
            assert [table.rows for table in measure(database).tables if table.name == "pairs"] == [rows]
    finally:
        database.execute_sql("DROP TABLE pairs")
