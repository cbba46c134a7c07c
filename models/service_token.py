"""Service tokens: long-lived credentials of programs that act for a user, narrowed by scopes."""

from __future__ import annotations

import peewee as pw

from models.base import ListField, Owned, TimeField


class ServiceToken(Owned):
    """A token `gp_<id>_<secret>`, of which only the secret's hash is kept; it acts as its owner."""

    name = pw.TextField()
    token_hash = pw.TextField()
    scopes = ListField(default=list)
    expires_at = TimeField(null=True)
    last_used_at = TimeField(null=True)

    class Meta:
        table_name = "service_tokens"

    @classmethod
    def by_id(cls, id: str) -> ServiceToken | None:
        # Across tenants: the token names itself before it is known whose it is.
        return cls.select().where(cls.id == id).first()

    @classmethod
    def touch(cls, id: str, at: str) -> None:
        # Across tenants, and without a new version: to be used is not to be changed.
        cls.update({cls.last_used_at: at}).where(cls.id == id).execute()
