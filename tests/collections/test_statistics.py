"""`GET /api/admin/stats`: the numbers of the caller's tenant, and the cost of counting them."""

from __future__ import annotations

import pytest

from models.base import later, now
from models.tables import deprecated_use, reports
from models.tables.article import Article
from models.tables.audit import Audit, append
from models.tables.user import User
from tests.apps import PASSWORD

pytestmark = pytest.mark.both_databases

DAY = 24 * 60 * 60


@pytest.fixture(scope="module")
def stats(as_role, given, elsewhere):
    """The manager's statistics, after a few orders."""
    for status in ("draft", "published", "published"):
        given.article(status)
    elsewhere.article("published")
    product = given.product(price=500)
    for status in ("pending", "approved", "shipped", "completed", "rejected", "cancelled", "refunded"):
        given.order(status, product=product, quantity=2)
    given.order("approved", product=given.product(price=7, currency="USD"))
    given.order("approved", product=product, created_at=later(-3 * DAY))
    given.order("approved", product=product, created_at=later(-60 * DAY))
    elsewhere.order("approved")
    given.comment("approved")
    with given.database.connected():
        given.database.transact(lambda: append([
            *(event(given, action="create", resource="session") for _ in range(2)),
            event(given, action="create", resource="article"),
            event(given, action="update", resource="article", result="refused", count=5),
            event(given, action="create", resource="session", result="failed"),
            event(elsewhere, action="create", resource="session"),
            event(given, action="create", resource="session", time=later(-60 * DAY)),
        ]))
    return as_role("manager").get("/api/admin/stats").json


def event(home, *, result="allowed", **values):
    return Audit(tenant_id=home.tenant_id, principal="user:x", role="user", result=result, **values)


def test_every_collection_is_counted_by_its_states(app, stats):
    assert set(stats["collections"]) == set(app.extensions["gatepost"].collections)
    # Three articles, and the article with the comment.
    assert stats["collections"]["articles"] == {"total": 4, "by_status": {"draft": 1, "published": 3}}
    assert stats["collections"]["orders"]["by_status"]["approved"] == 4
    assert stats["collections"]["users"]["by_status"] == {}
    assert stats["collections"]["users"]["total"] >= 1


def test_orders_and_revenue_are_counted_by_day_for_the_last_thirty_days(stats):
    today, before = now()[:10], later(-3 * DAY)[:10]
    assert stats["orders_per_day"] == [{"date": before, "count": 1}, {"date": today, "count": 8}]
    # Revenue is only approved and not refunded orders: 3 × 2 × 500.
    assert stats["revenue_per_day"] == [
        {"date": before, "currency": "EUR", "total": 500},
        {"date": today, "currency": "EUR", "total": 3000},
        {"date": today, "currency": "USD", "total": 7},
    ]


def test_logins_and_refusals_are_counted_by_day(stats):
    assert stats["logins_per_day"] == [{"date": now()[:10], "count": 2}]
    assert stats["refusals_per_day"] == [{"date": now()[:10], "count": 5}]


def test_revenue_beyond_64_bits_is_no_error(as_role, given):
    for _ in range(2):
        given.order("approved", product=given.product(price=2**62, currency="XTS"), quantity=1)
    revenue = as_role("manager").get("/api/admin/stats").json["revenue_per_day"]
    assert [day["total"] for day in revenue if day["currency"] == "XTS"] == [2**63 - 1]


QUERIES = {
    "states": lambda tenant: reports.by_status(Article, tenant),
    "rows": lambda tenant: reports.total(User, tenant),
    "orders": lambda tenant: reports.orders_per_day(tenant, later(-30 * DAY)),
    "revenue": lambda tenant: reports.revenue_per_day(tenant, later(-30 * DAY)),
    "logins": lambda tenant: reports.logins_per_day(tenant, later(-30 * DAY)),
    "refusals": lambda tenant: reports.refusals_per_day(tenant, later(-30 * DAY)),
    "deprecated": deprecated_use.uses,
}


@pytest.mark.parametrize("name", QUERIES)
def test_every_number_is_counted_by_an_index(app, given, name):
    """The query reads no rows of other tenants, and no older rows if it has a period."""
    database = given.database
    with database.connected():
        query, params = QUERIES[name](given.tenant_id).sql()
        if database.dialect == "sqlite":
            found = "\n".join(row[3] for row in database.query(f"EXPLAIN QUERY PLAN {query}", params))
        else:
            # An empty table is cheapest to scan. The test asks whether an index could be used at all.
            database.execute_sql("SET enable_seqscan = off")
            found = "\n".join(row[0] for row in database.query(f"EXPLAIN {query}", params))
            database.execute_sql("RESET enable_seqscan")
    assert "SCAN" not in found and "Seq Scan" not in found, found
    column = "time" if name in ("logins", "refusals") else "created_at"
    if name in ("orders", "revenue", "logins", "refusals"):
        assert f"{column}>" in found or f"{column} >=" in found or f'"{column}" >=' in found, found
    assert "tenant_id=" in found or "tenant_id =" in found, found




def test_real_logins_and_refusals_are_among_them(app, as_role, given):
    def today(what):
        numbers = as_role("owner").get("/api/admin/stats").json[what]
        return sum(day["count"] for day in numbers if day["date"] == now()[:10])

    before = today("logins_per_day"), today("refusals_per_day")
    user = given.user(password=PASSWORD)
    assert as_role("guest").post("/api/login", {"email": user.email, "password": PASSWORD}).status_code == 200
    assert as_role("user").get("/api/admin/stats").status_code == 403
    app.extensions["gatepost"].audit_writer.flush()
    assert (today("logins_per_day"), today("refusals_per_day")) == (before[0] + 1, before[1] + 1)
