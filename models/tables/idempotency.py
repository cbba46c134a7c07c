"""Responses kept under an `Idempotency-Key`, so that a repeated request takes effect only once."""

from __future__ import annotations

import peewee as pw

from models.records.columns import IdField, ListField, TimeField
from models.records.rows import Rows, expire
from models.records.table import Record
from models.records.times import now


class IdempotencyKey(Record):
    """One caller's `key` for one method and path.

    The first statement of the effect's own transaction claims the row. A duplicate request waits on the unique index
    until that transaction ends.

    credential   digest of the caller's credential: a session or a service token, and its scopes
    fingerprint  differs for another request under the same key
    status       null until there is a response; `body` is also null if it was too large to keep
    collection   with `row_id`: the row in the response; null if there is none that the caller may view
    guarded      the guarded fields of that row in the response that the policy let the caller see
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
        # Across tenants: an expired key is useless in any of them.
        return expire(cls.expires_at, before, most)


def stored(tenant_id: str, request: IdempotencyKey) -> IdempotencyKey | None:
    """Returns the stored claim with the caller and key of `request`; None if there is none, or if it has expired."""
    claimed = _find(tenant_id, request)
    return claimed if claimed is not None and claimed.expires_at > now() else None


def claim(tenant_id: str, request: IdempotencyKey) -> IdempotencyKey:
    """Stores the claim `wanted` as the first statement of a transaction. Deletes an expired one in its place.

    Raises `AlreadyExists` if the key is taken (undo the transaction, then read it with `stored`), `TimedOut` or
    `Unavailable` if the duplicate does not end in time.
    """
    rows, former = Rows(IdempotencyKey, tenant_id), _find(tenant_id, request)
    if former is not None and former.expires_at <= now():
        # A duplicate may have deleted it, too: then one of the two cannot insert.
        rows.discard(id=former.id)
    return rows.insert(request)


def keep_answer(tenant_id: str, claimed: IdempotencyKey, status: int, headers: str, body: bytes | None) -> None:
    """Keeps the response to a request: HTTP status, headers as JSON, body or None."""
    claimed.status, claimed.headers, claimed.body = status, headers, body
    Rows(IdempotencyKey, tenant_id).save(claimed)


def _find(tenant_id: str, request: IdempotencyKey) -> IdempotencyKey | None:
    return Rows(IdempotencyKey, tenant_id).find_by(
        principal=request.principal, credential=request.credential, method=request.method, path=request.path,
        key=request.key)
