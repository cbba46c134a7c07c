"""Which clients still use deprecated endpoints, and how much."""

from __future__ import annotations

import peewee as pw

from models.records.columns import TimeField
from models.records.rows import Rows
from models.records.table import Record, whole
from models.records.times import now


class DeprecatedUse(Record):
    """How often `client` called `endpoint`, and when last."""

    endpoint = pw.TextField()
    client = pw.TextField()
    count = pw.BigIntegerField()
    last_used_at = TimeField()

    class Meta:
        table_name = "deprecated_use"


def note_use(tenant_id: str, endpoint: str, client: str, times: int = 1) -> None:
    """Count `times` more uses, inside a transaction."""
    at = now()
    row = DeprecatedUse(endpoint=endpoint, client=client, count=times, last_used_at=at)
    row.stamp(tenant_id, at)
    # One statement: two processes may see a client for the first time at once.
    DeprecatedUse.insert(whole(row)).on_conflict(
        conflict_target=(DeprecatedUse.tenant_id, DeprecatedUse.endpoint, DeprecatedUse.client),
        update={DeprecatedUse.count: DeprecatedUse.count + times, DeprecatedUse.last_used_at: at,
                DeprecatedUse.updated_at: at, DeprecatedUse.version: DeprecatedUse.version + 1}).execute()


def uses(tenant_id: str, limit: int = 1000) -> pw.ModelSelect[DeprecatedUse]:
    """The uses of a tenant, by endpoint and client; at most `limit`."""
    return (Rows(DeprecatedUse, tenant_id).select()
            .order_by(DeprecatedUse.endpoint, DeprecatedUse.client).limit(limit))
