"""Answers remembered under an `Idempotency-Key`, so that a repeated request has its effect once."""

from __future__ import annotations

import peewee as pw

from models.records.columns import IdField, ListField, TimeField
from models.records.rows import Rows, expire
from models.records.table import Record
from models.records.times import now


class IdempotencyKey(Record):
    """One caller's `key` for one method and path.

    The row is claimed by the first statement of the effect's own transaction: its twin (the same request, sent again)
    waits on the unique index until that transaction ends.

    credential   digest of what the caller came with: a session or a service token, and its scopes
    fingerprint  tells another request under the same key
    status       null until answered; `body` also where it was too large to be kept
    collection   with `row_id`: the row that the answer shows; null where there is none that the caller may view
    guarded      the guarded fields of that row that the answer shows because the policy let the caller see them
    """

    principal = pw.TextField()
    credential = pw.TextField()
    method = pw.TextField()
    path = pw.TextField()
    key = pw.TextField()
    fingerprint = pw.TextField()
    status = pw.IntegerField(null=True)
    headers = pw.TextField(null=True)
    body = pw.BlobField(null=True)
    collection = pw.TextField(null=True)
    row_id = IdField(null=True)
    guarded = ListField(default=list)
    expires_at = TimeField()

    class Meta:
        table_name = "idempotency_keys"

    @classmethod
    def purge(cls, before: str, most: int) -> int:
        # Across tenants: an expired key is of no use in any of them.
        return expire(cls.expires_at, before, most)


def stored(tenant_id: str, wanted: IdempotencyKey) -> IdempotencyKey | None:
    """What the caller of `wanted` did before under its key, unless that has expired."""
    found = _find(tenant_id, wanted)
    return found if found is not None and found.expires_at > now() else None


def claim(tenant_id: str, wanted: IdempotencyKey) -> IdempotencyKey:
    """Store the claim `wanted`, first thing in a transaction. An expired one in its place is dropped.

    Raises `AlreadyExists` when the key is taken (undo the transaction, then read it with `stored`),
    `TimedOut` or `Unavailable` when the twin does not end in time.
    """
    rows, found = Rows(IdempotencyKey, tenant_id), _find(tenant_id, wanted)
    if found is not None and found.expires_at <= now():
        # A twin may have dropped it, too: then one of the two cannot insert.
        rows.discard(id=found.id)
    return rows.insert(wanted)


def keep_answer(tenant_id: str, claimed: IdempotencyKey, status: int, headers: str, body: bytes | None) -> None:
    """Keep what the request was answered: HTTP status, headers as JSON, body or None."""
    claimed.status, claimed.headers, claimed.body = status, headers, body
    Rows(IdempotencyKey, tenant_id).save(claimed)


def _find(tenant_id: str, wanted: IdempotencyKey) -> IdempotencyKey | None:
    return Rows(IdempotencyKey, tenant_id).find_by(
        principal=wanted.principal, credential=wanted.credential, method=wanted.method, path=wanted.path,
        key=wanted.key)
