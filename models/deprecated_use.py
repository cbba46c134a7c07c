"""Who still uses what is deprecated, and how much."""

from __future__ import annotations

import peewee as pw

from models.base import Record, Rows, TimeField, now


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
    rows, at = Rows(DeprecatedUse, tenant_id), now()
    changes = {DeprecatedUse.count: DeprecatedUse.count + times, DeprecatedUse.last_used_at: at}
    if not rows.change(changes, DeprecatedUse.endpoint == endpoint, DeprecatedUse.client == client):
        rows.insert(DeprecatedUse(endpoint=endpoint, client=client, count=times, last_used_at=at))
