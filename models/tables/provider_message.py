"""Messages of an identity provider that count once: the code of a login, and a logout token."""

from __future__ import annotations

from collections.abc import Sequence

import peewee as pw

from models.records.columns import IdField, TimeField
from models.records.rows import expire, locked
from models.records.table import Record


class ProviderMessage(Record):
    """A code or logout token of the provider `issuer` (its URL), by the hash of its text.

    A code also has the hash of the login that it completes (`flow_hash`), and once it is checked the user (`owner_id`)
    and the provider's name for the session (`sid`). The session notes the id of the message. `reused` is true once the
    code came again: then its login must not go on. The row is kept until the session must have ended.
    """

    owner_id = IdField(null=True)
    issuer = pw.TextField()
    hash = pw.TextField()
    flow_hash = pw.TextField(null=True)
    sid = pw.TextField(null=True)
    reused = pw.BooleanField(default=False)
    expires_at = TimeField()

    class Meta:
        table_name = "provider_messages"

    @classmethod
    def by_id(cls, id: str) -> ProviderMessage | None:
        """Returns a message, and locks it."""
        # Across tenants: a code belongs to nobody before it is exchanged.
        return locked(cls.select().where(cls.id == id)).first()

    @classmethod
    def same(cls, hash: str, flow_hash: str) -> Sequence[ProviderMessage]:
        """Returns the messages with one of these hashes, and locks them."""
        # Across tenants: a code belongs to nobody before it is exchanged.
        query = cls.select().where((cls.hash == hash) | (cls.flow_hash == flow_hash)).order_by(cls.id)
        return list(locked(query))

    @classmethod
    def owners(cls, issuer: str, sid: str) -> list[str]:
        """Returns the ids of the users with sessions that the provider knows by this name."""
        # Across tenants: the provider does not know any.
        query = cls.select(cls.owner_id).where(cls.issuer == issuer, cls.sid == sid, cls.owner_id.is_null(False))
        return sorted({row.owner_id for row in query})

    @classmethod
    def purge(cls, before: str, most: int) -> int:
        # Across tenants: an expired message is useless in any of them.
        return expire(cls.expires_at, before, most)
