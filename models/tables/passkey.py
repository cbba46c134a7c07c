"""Passkeys of users, and the challenges that were used."""

from __future__ import annotations

from collections.abc import Sequence

import peewee as pw

from models.engine.database import Database
from models.engine.errors import AlreadyExists
from models.records.columns import IdField, TimeField
from models.records.rows import Rows, expire
from models.records.table import Record
from models.records.times import later
from models.tables.user import User

MOST = 20  # passkeys of one user


class Passkey(Record):
    """A passkey of the user `owner_id`: its id and public key in base64url, for the domain `rp_id`.

    `sign_count` is the counter of the device at the last login; many devices always send 0.
    """

    owner_id = IdField()
    name = pw.TextField()
    rp_id = pw.TextField()
    credential_id = pw.TextField()
    public_key = pw.TextField()
    sign_count = pw.BigIntegerField()
    last_used_at = TimeField(null=True)

    class Meta:
        table_name = "passkeys"

    @classmethod
    def by_credential(cls, credential_id: str, rp_id: str) -> tuple[Passkey, User] | None:
        """Returns the passkey with this id for a domain, and its user, who is active."""
        # Across tenants: the passkey names its user, and the user's row names the tenant.
        passkey = cls.select().where(cls.credential_id == credential_id, cls.rp_id == rp_id).first()
        user = None if passkey is None else Rows(User, passkey.tenant_id).find(passkey.owner_id)
        return None if user is None or not user.active or user.erased_at is not None else (passkey, user)

    @classmethod
    def by_domain(cls, database: Database) -> dict[str, int]:
        """Returns the numbers of passkeys by their domain."""
        # Across tenants: for operators.
        return {rp_id: int(number) for rp_id, number in
                database.query("SELECT rp_id, count(*) FROM passkeys GROUP BY rp_id ORDER BY rp_id")}


class UsedChallenge(Record):
    """The hash of a challenge that was used, kept until the challenge would end."""

    hash = pw.TextField()
    expires_at = TimeField()

    class Meta:
        table_name = "used_challenges"

    @classmethod
    def purge(cls, before: str, most: int) -> int:
        # Across tenants: an ended challenge is useless in any of them.
        return expire(cls.expires_at, before, most)


def passkeys_of(user: User) -> list[Passkey]:
    """Returns the passkeys of a user, oldest first."""
    return list(Rows(Passkey, user.tenant_id).select().where(Passkey.owner_id == user.id).order_by(
        Passkey.created_at, Passkey.id))


def numbers_of(ids: Sequence[str]) -> dict[str, int]:
    """Returns the numbers of passkeys of those of these users, at most a page of them, who have one."""
    # Across tenants: access reviews of operators cover all of them.
    query = Passkey.select(Passkey.owner_id, pw.fn.COUNT(Passkey.id)).where(Passkey.owner_id.in_(ids))
    return {owner_id: int(number) for owner_id, number in query.group_by(Passkey.owner_id).tuples().iterator()}


def use_challenge(tenant_id: str, hash: str, at: str, lasts: float) -> bool:
    """Stores that a challenge was used. Returns False if it was used before; then the transaction must end."""
    try:
        Rows(UsedChallenge, tenant_id).insert(UsedChallenge(hash=hash, expires_at=later(lasts, at)))
    except AlreadyExists:
        return False
    return True
