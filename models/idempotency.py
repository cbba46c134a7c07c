"""Answers remembered under an `Idempotency-Key`, so that a repeated request has its effect once."""

from __future__ import annotations

import peewee as pw

from models.base import Record, Rows, expire, now
from models.columns import TimeField


class IdempotencyKey(Record):
    """One caller's `key` for one method and path.

    The row is claimed by the first statement of the effect's own transaction: a twin waits on the unique
    index until that transaction ends. `fingerprint` tells another request under the same key; `status` is
    null until answered.
    """

    principal = pw.TextField()
    method = pw.TextField()
    path = pw.TextField()
    key = pw.TextField()
    fingerprint = pw.TextField()
    status = pw.IntegerField(null=True)
    headers = pw.TextField(null=True)
    body = pw.BlobField(null=True)
    expires_at = TimeField()

    class Meta:
        table_name = "idempotency_keys"

    @classmethod
    def purge(cls, before: str, most: int) -> int:
        # Across tenants: what has expired is of no use to anybody.
        return expire(cls.expires_at, before, most)


def stored(tenant_id: str, principal: str, method: str, path: str, key: str) -> IdempotencyKey | None:
    """What the caller did before under this key, unless it has expired."""
    return Rows(IdempotencyKey, tenant_id).select().where(
        IdempotencyKey.principal == principal, IdempotencyKey.method == method, IdempotencyKey.path == path,
        IdempotencyKey.key == key, IdempotencyKey.expires_at > now()).first()


def claim(tenant_id: str, wanted: IdempotencyKey) -> IdempotencyKey:
    """Store the claim `wanted`, first thing in a transaction. An expired one in its place is dropped.

    Raises `AlreadyExists` when the key is taken (undo the transaction, then read it with `stored`),
    `TimedOut` or `Unavailable` when the twin does not end in time.
    """
    rows = Rows(IdempotencyKey, tenant_id)
    rows.remove(
        IdempotencyKey.principal == wanted.principal, IdempotencyKey.method == wanted.method,
        IdempotencyKey.path == wanted.path, IdempotencyKey.key == wanted.key,
        IdempotencyKey.expires_at <= now())
    return rows.insert(wanted)


def answer(tenant_id: str, claimed: IdempotencyKey, status: int, headers: str, body: bytes) -> None:
    """Keep what the request was answered: HTTP status, headers as JSON, body."""
    claimed.status, claimed.headers, claimed.body = status, headers, body
    Rows(IdempotencyKey, tenant_id).save(claimed)
