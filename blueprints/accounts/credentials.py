"""Credentials of an account that are removed when its address is proved for the first time."""

from __future__ import annotations

from collections.abc import Iterator

from gatepost import Call, Rows
from models.tables.identity import Identity
from models.tables.passkey import Passkey
from models.tables.user import User

from .single_sign_on import groups


def drop(call: Call, user: User) -> Iterator[str]:
    """Removes passkeys and identities in a transaction that has locked the user. Yields what was removed.

    The second factor stays: it lets nobody in without the new password, and a mailbox alone must not remove it.
    """
    if number := Rows(Passkey, user.tenant_id).discard(owner_id=user.id):
        yield f"passkeys ({number})"
    if number := Rows(Identity, user.tenant_id).discard(owner_id=user.id):
        yield f"identities ({number})"
    groups.remove_all(user, call.access.policy.roles)
