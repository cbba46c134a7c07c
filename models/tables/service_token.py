"""Service tokens: long-lived credentials of programs that act for a user, narrowed by scopes."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import peewee as pw

from models.engine.database import Database
from models.engine.prepared import Bind, Prepared, cache_sql, prepare
from models.records.columns import ListField, TimeField
from models.records.rows import Rows
from models.records.table import Owned
from models.records.times import DAY, now
from models.tables.user import User

LASTS = 90 * DAY  # default validity of a token in seconds


class Bearer(NamedTuple):
    """The columns of a service token and its user that every request reads."""

    token_hash: str
    scopes: frozenset[str]
    expires_at: str | None
    last_used_at: str | None
    user_id: str
    tenant_id: str
    role: str
    department: str | None
    groups: tuple[str, ...]
    active: bool


class ServiceToken(Owned):
    """A token `gp_<id>_<secret>` that acts as its owner. Only the hash of the secret is stored.

    held_hash  the hash while a restore has suspended the token: then `token_hash` is empty and matches no secret
    """

    name = pw.TextField()
    token_hash = pw.TextField()
    held_hash = pw.TextField(null=True)
    scopes = ListField(default=list)
    expires_at = TimeField(null=True)
    last_used_at = TimeField(null=True)

    class Meta:
        table_name = "service_tokens"

    @property
    def has_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= now()

    @classmethod
    def by_id(cls, id: str) -> ServiceToken | None:
        # Across tenants: the owner is not known before the token is read.
        return cls.select().where(cls.id == id).first()

    @classmethod
    def bearer(cls, database: Database, id: str) -> Bearer | None:
        """Returns the token and its owner, by primary keys, in one statement: the first query of a program's request.
        """
        rows = _bearer(database).recall(database, {"id": id})
        if not rows:
            return None
        token_hash, scopes, expires_at, last_used_at, id, tenant_id, role, department, groups, active = rows[0]
        return Bearer(token_hash, frozenset(cls.scopes.python_value(scopes)), expires_at, last_used_at, id, tenant_id,
                      role, department, tuple(User.groups.python_value(groups)), bool(active))

    @classmethod
    def valid(cls) -> tuple[int, int]:
        """Returns the number of valid tokens, and of those without an expiry."""
        # Across tenants: for operators.
        endless = cls.select().where(cls.expires_at.is_null()).count()
        return endless + cls.select().where(cls.expires_at > now()).count(), endless

    @classmethod
    def held(cls) -> int:
        """Returns the number of tokens that a restore has suspended."""
        # Across tenants: for operators.
        return int(cls.select().where(cls.held_hash.is_null(False)).count())

    @classmethod
    def valid_of(cls, tenant_id: str, owners: Collection[str] | None = None) -> list[ServiceToken]:
        """Returns the valid tokens of these users, a page of them at most; without `owners` those of all users."""
        lasting = cls.expires_at.is_null() | (cls.expires_at > now())
        query = Rows(cls, tenant_id).select().where(cls.token_hash != "", lasting)
        return list(query if owners is None else query.where(cls.owner_id.in_([*owners])))

    @classmethod
    def touch(cls, id: str, at: str) -> None:
        # Across tenants, and without a new version: a use is no change.
        cls.update({cls.last_used_at: at}).where(cls.id == id).execute()


@cache_sql
def _bearer(database: Database) -> Prepared:
    # Across tenants: the owner is not known before the token is read.
    columns = (ServiceToken.token_hash, ServiceToken.scopes, ServiceToken.expires_at, ServiceToken.last_used_at,
               User.id, User.tenant_id, User.role, User.department, User.groups, User.active)
    return prepare(database, ServiceToken.select(*columns).join(User, on=(User.id == ServiceToken.owner_id)).where(
        ServiceToken.id == Bind("id")))
