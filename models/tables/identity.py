"""Identities: users as identity providers know them."""

from __future__ import annotations

from collections.abc import Sequence

import peewee as pw

from models.records.columns import IdField, TimeField
from models.records.rows import Rows, locked
from models.records.table import Record
from models.tables.user import User


class Identity(Record):
    """The identity `subject` of the provider `issuer` (its URL), which belongs to the user `owner_id`.

    A provider guarantees only that this pair is never given to another person. It says nothing of the kind about an
    e-mail address or a name.
    """

    owner_id = IdField()
    issuer = pw.TextField()
    subject = pw.TextField()
    last_used_at = TimeField(null=True)

    class Meta:
        table_name = "identities"

    @classmethod
    def number(cls) -> int:
        """Returns the number of identities."""
        # Across tenants: for operators.
        return int(cls.select().count())

    @classmethod
    def find(cls, issuer: str, subject: str, *, lock: bool = False) -> Identity | None:
        """Returns an identity. `lock`: no other transaction may change it before this one ends."""
        # Across tenants: the identity names its user, and the user's row names the tenant.
        query = cls.select().where(cls.issuer == issuer, cls.subject == subject)
        return (locked(query) if lock else query).first()


def identities_of(user: User) -> list[Identity]:
    """Returns the identities of a user, the oldest first."""
    rows = Rows(Identity, user.tenant_id)
    return list(rows.select().where(Identity.owner_id == user.id).order_by(Identity.created_at, Identity.id))


def issuers_of(ids: Sequence[str]) -> dict[str, list[str]]:
    """Returns the issuers of the identities of those of these users, at most a page of them, who have one."""
    # Across tenants: access reviews of operators cover all of them.
    issuers: dict[str, list[str]] = {}
    query = Identity.select(Identity.owner_id, Identity.issuer).where(Identity.owner_id.in_(ids))
    for owner_id, issuer in query.order_by(Identity.created_at, Identity.id).tuples().iterator():
        issuers.setdefault(owner_id, []).append(issuer)
    return issuers
