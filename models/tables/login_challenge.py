"""Logins whose password was right, and that wait for a code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import peewee as pw

from models.records.columns import IdField, JsonField, TimeField
from models.records.rows import Rows, expire
from models.records.table import Record
from models.records.times import now
from models.tables.user import User

TRIES = 5  # codes that may be sent for one challenge


class LoginChallenge(Record):
    """A login of the user `owner_id` that waits for a code. Only the hash of its token is stored.

    `login` is what was noted of the login before the code. A right code deletes it. It is void after `TRIES` tries,
    after `expires_at`, and as soon as the row of the user has another version than `user_version`: any change of the
    account, its password included.
    """

    owner_id = IdField()
    token_hash = pw.TextField()
    user_version = pw.IntegerField()
    tries = pw.IntegerField(default=0)
    expires_at = TimeField()
    login = JsonField(null=True)

    class Meta:
        table_name = "login_challenges"

    @classmethod
    def user_of(cls, token_hash: str, *, lock: bool = False) -> User | None:
        """Returns the user whose challenge has this hash, while it is valid. `lock` locks the user's row."""
        # Across tenants: the token names its user, and the user's row names the tenant.
        challenge = cls.select().where(cls.token_hash == token_hash, cls.expires_at > now()).first()
        user = None if challenge is None else Rows(User, challenge.tenant_id).find(challenge.owner_id, lock=lock)
        valid = (user is not None and user.active and user.erased_at is None
                 and user.version == challenge.user_version)
        return user if valid else None

    @classmethod
    def count_try(cls, token_hash: str) -> bool:
        """Counts a try. Returns False, and counts nothing, if there were `TRIES` already, or if it has expired."""
        # Across tenants, as above.
        return bool(cls.update({cls.tries: cls.tries + 1}).where(
            cls.token_hash == token_hash, cls.tries < TRIES, cls.expires_at > now()).execute())

    @classmethod
    def notes(cls, token_hash: str) -> dict[str, Any]:
        """Returns what was noted of the login before the code."""
        # Across tenants, as above.
        challenge = cls.select(cls.login).where(cls.token_hash == token_hash).first()
        return {} if challenge is None else challenge.login or {}

    @classmethod
    def take(cls, token_hash: str) -> bool:
        """Deletes the challenge. Returns False if it has expired, or if another transaction was faster."""
        # Across tenants, as above.
        return bool(cls.delete().where(cls.token_hash == token_hash, cls.expires_at > now()).execute())

    @classmethod
    def purge(cls, before: str, most: int) -> int:
        # Across tenants: an expired challenge is useless in any of them.
        return expire(cls.expires_at, before, most)


def add_challenge(user: User, token_hash: str, expires_at: str, login: Mapping[str, Any] | None = None) -> None:
    """Stores a challenge of the user. `login` is what is noted of the login so far."""
    Rows(LoginChallenge, user.tenant_id).insert(LoginChallenge(
        owner_id=user.id, token_hash=token_hash, user_version=user.version, expires_at=expires_at,
        login=json.dumps(login) if login else None))
