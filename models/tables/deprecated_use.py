"""Counts of the use of deprecated endpoints, by client."""

from __future__ import annotations

import peewee as pw

from models.records.columns import TimeField
from models.records.rows import Rows
from models.records.table import Record, whole
from models.records.times import now


class DeprecatedUse(Record):
    """Number of calls of `endpoint` by `client`, and the time of the last one."""

    endpoint = pw.TextField()
    client = pw.TextField()
    count = pw.BigIntegerField()
    last_used_at = TimeField()

    class Meta:
        table_name = "deprecated_use"


def note_use(tenant_id: str, endpoint: str, client: str, times: int = 1) -> None:
    """Counts `times` more uses. Needs a transaction."""
    at = now()
    row = DeprecatedUse(endpoint=endpoint, client=client, count=times, last_used_at=at)
    row.stamp(tenant_id, at)
    # One statement, because two processes may see a new client at the same time.
    DeprecatedUse.insert(whole(row)).on_conflict(
        conflict_target=(DeprecatedUse.tenant_id, DeprecatedUse.endpoint, DeprecatedUse.client),
        update={DeprecatedUse.count: DeprecatedUse.count + times, DeprecatedUse.last_used_at: at,
                DeprecatedUse.updated_at: at, DeprecatedUse.version: DeprecatedUse.version + 1}).execute()


def uses(tenant_id: str, limit: int = 1000) -> pw.ModelSelect[DeprecatedUse]:
    """Returns the uses of a tenant, by endpoint and client; at most `limit`."""
    return (Rows(DeprecatedUse, tenant_id).select()
            .order_by(DeprecatedUse.endpoint, DeprecatedUse.client).limit(limit))
