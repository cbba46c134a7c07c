"""Reports: numbers of rows by status or owner, and orders, revenue, logins and refusals by day.

All are queries that count along an index: of a tenant's rows, or of the days since a time. Days are UTC; a day with
nothing to count is left out.
"""

from __future__ import annotations

from typing import Any

import peewee as pw

from models.engine.database import current
from models.records.columns import TimeField
from models.records.rows import Rows
from models.records.table import Record
from models.records.times import now
from models.tables.audit import Audit, of_tenant
from models.tables.order import Order

EARNING = ("approved", "shipped", "completed")  # states of an order that count as revenue
BILLION = 10**9


def by_status(model: type[Record], tenant_id: str) -> pw.ModelSelect[Any]:
    """Returns a query for (status, rows) of every status: one walk along the index of the statuses."""
    status = model._meta.fields["status"]
    return Rows(model, tenant_id).select(status, pw.fn.COUNT(pw.SQL("*"))).group_by(status).order_by(status)


def total(model: type[Record], tenant_id: str, until: str | None = None, gone: str | None = None
          ) -> pw.ModelSelect[Any]:
    """Returns a query for (rows,) of the tenant: one walk along the index of creation. Skips expired rows (expiry
    column `until`) and those with a value in the column `gone`."""
    every = Rows(model, tenant_id).select(pw.fn.COUNT(pw.SQL("*")))
    if until is not None:
        every = every.where(model._meta.fields[until] > now())
    return every if gone is None else every.where(model._meta.fields[gone].is_null())


def owned(model: type[Record], tenant_id: str, owner_id: str, most: int) -> int:
    """Counts the rows of one owner up to `most`, along the index of owners. Includes rows of open loads."""
    if current.dialect == "sqlite":
        counting = (f'SELECT count(*) FROM (SELECT 1 FROM main."{model._meta.table_name}" '
                    "WHERE tenant_id = ? AND owner_id = ? LIMIT ?)")
        return int(current.query(counting, [tenant_id, owner_id, most])[0][0])
    theirs = model._meta.fields["owner_id"] == owner_id
    return int(Rows(model, tenant_id).select(model.id).where(theirs).limit(most).count())


def orders_per_day(tenant_id: str, since: str) -> pw.ModelSelect[Any]:
    """Returns a query for (day, orders) since that time."""
    day = _day(Order.created_at)
    return (Rows(Order, tenant_id).select(day, pw.fn.COUNT(pw.SQL("*")))
            .where(Order.created_at >= since).group_by(day).order_by(day))


def revenue_per_day(tenant_id: str, since: str) -> pw.ModelSelect[Any]:
    """Returns a query for (day, currency, billions, rest) of minor units since that time, of orders that count as
    revenue."""
    day = _day(Order.created_at)
    # Split in two, because the sum of large orders may exceed 64 bits.
    billions = Order.total / BILLION
    parts = pw.fn.SUM(billions), pw.fn.SUM(Order.total - billions * BILLION)
    return (Rows(Order, tenant_id).select(day, Order.currency, *parts)
            .where(Order.created_at >= since, Order.status.in_(EARNING))
            .group_by(day, Order.currency).order_by(day, Order.currency))


def logins_per_day(tenant_id: str, since: str) -> pw.ModelSelect[Any]:
    """Returns a query for (day, successful logins) since that time."""
    return _audited(tenant_id, since, Audit.action == "create", Audit.resource == "session", Audit.result == "allowed")


def refusals_per_day(tenant_id: str, since: str) -> pw.ModelSelect[Any]:
    """Returns a query for (day, refused requests) since that time."""
    return _audited(tenant_id, since, Audit.result == "refused")


def _audited(tenant_id: str, since: str, *where: pw.Expression) -> pw.ModelSelect[Any]:
    day = _day(Audit.time)
    return (of_tenant(tenant_id, day, pw.fn.SUM(Audit.count)).where(Audit.time >= since, *where)
            .group_by(day).order_by(day))


def _day(column: TimeField) -> pw.Node:
    if current.dialect == "sqlite":
        return pw.fn.SUBSTR(column, 1, 10)
    return pw.fn.TO_CHAR(column, pw.SQL("'YYYY-MM-DD'"))  # our connections use UTC
