"""Numbers about a tenant."""

from __future__ import annotations

from typing import Any

import peewee as pw
from marshmallow import fields

from gatepost import Call, Routes, StrictSchema, Time, later
from gatepost.http.request.call import Peer
from models.tables import deprecated_use, reports

routes = Routes("admin", "Statistics of a tenant.")

_DAYS = 30
_LARGEST = 2**63 - 1


class CountsSchema(StrictSchema):
    total = fields.Integer(required=True)
    by_status = fields.Dict(keys=fields.String(), values=fields.Integer(), required=True)


class PerDaySchema(StrictSchema):
    date = fields.String(required=True, metadata={"description": "UTC."})
    count = fields.Integer(required=True)


class RevenueSchema(StrictSchema):
    date = fields.String(required=True, metadata={"description": "UTC."})
    currency = fields.String(required=True)
    total = fields.Integer(required=True, metadata={"description": "Minor units."})


class DeprecatedUseSchema(StrictSchema):
    endpoint = fields.String(required=True)
    client = fields.String(required=True)
    count = fields.Integer(required=True)
    last = Time(required=True)


class StatsSchema(StrictSchema):
    """The rows of every collection, and the last 30 days; days without anything are left out."""

    collections = fields.Dict(keys=fields.String(), values=fields.Nested(CountsSchema), required=True)
    orders_per_day = fields.List(fields.Nested(PerDaySchema), required=True)
    revenue_per_day = fields.List(fields.Nested(RevenueSchema), required=True)
    logins_per_day = fields.List(fields.Nested(PerDaySchema), required=True)
    refusals_per_day = fields.List(fields.Nested(PerDaySchema), required=True)
    deprecated_use = fields.List(fields.Nested(DeprecatedUseSchema), required=True)


@routes.get("/api/admin/stats", permission="stats.view", answer=StatsSchema(), cost=10)
def stats(call: Call) -> dict[str, Any]:
    """Count the rows of each collection, and the activity of the last 30 days."""
    tenant, since = call.tenant_id, later(-_DAYS * 24 * 60 * 60)[:10] + "T00:00:00.000000Z"
    call.services.deprecated_uses.store()
    return {
        "collections": {name: _counts(collection, tenant)
                        for name, collection in sorted(call.services.collections.items())},
        "orders_per_day": _per_day(reports.orders_per_day(tenant, since)),
        "revenue_per_day": [{"date": day, "currency": currency,
                             "total": min(int(billions) * reports.BILLION + int(rest), _LARGEST)}
                            for day, currency, billions, rest in reports.revenue_per_day(tenant, since).tuples()],
        "logins_per_day": _per_day(reports.logins_per_day(tenant, since)),
        "refusals_per_day": _per_day(reports.refusals_per_day(tenant, since)),
        "deprecated_use": [{"endpoint": use.endpoint, "client": use.client, "count": use.count,
                            "last": use.last_used_at} for use in deprecated_use.uses(tenant)],
    }


def _counts(collection: Peer, tenant_id: str) -> dict[str, Any]:
    model = collection.model
    if "status" not in model._meta.fields:
        return {"total": reports.total(model, tenant_id, collection.until, collection.gone).scalar(), "by_status": {}}
    states = dict(reports.by_status(model, tenant_id).tuples())
    return {"total": sum(states.values()), "by_status": states}


def _per_day(query: pw.ModelSelect[Any]) -> list[dict[str, Any]]:
    return [{"date": day, "count": int(count)} for day, count in query.tuples()]
