"""Links with which a user verifies that an e-mail address is theirs."""

from __future__ import annotations

import peewee as pw

from models.records.columns import EmailField, IdField, TimeField
from models.records.mailboxes import mailbox
from models.records.rows import Rows, expire
from models.records.table import Record
from models.records.times import now
from models.tables.user import User


class EmailVerification(Record):
    """The link of the user `owner_id` for the address `email`. Only the hash of its token is stored.

    A user has one: a new one replaces it. A use deletes it. It is void after `expires_at`, and for another address.
    """

    owner_id = IdField()
    email = EmailField()
    token_hash = pw.TextField()
    expires_at = TimeField()

    class Meta:
        table_name = "email_verifications"

    @classmethod
    def user_of(cls, token_hash: str, *, lock: bool = False) -> User | None:
        """Returns the user whose link has this hash, while the link is valid. `lock` locks the user's row."""
        # Across tenants: the token names its user, and the user's row names the tenant.
        link = cls.select().where(cls.token_hash == token_hash, cls.expires_at > now()).first()
        user = None if link is None else Rows(User, link.tenant_id).find(link.owner_id, lock=lock)
        valid = (user is not None and user.active and user.erased_at is None
                 and mailbox(user.email) == mailbox(link.email))
        return user if valid else None

    @classmethod
    def take(cls, token_hash: str) -> bool:
        """Deletes the link with this hash. Returns False if it has expired, or if another transaction was faster."""
        # Across tenants, as above.
        return bool(cls.delete().where(cls.token_hash == token_hash, cls.expires_at > now()).execute())

    @classmethod
    def purge(cls, before: str, most: int) -> int:
        # Across tenants: an expired link is useless in any of them.
        return expire(cls.expires_at, before, most)


def replace_verification(user: User, token_hash: str, expires_at: str) -> EmailVerification:
    """Stores a new link of the user, whose row is locked, in place of the former one."""
    links = Rows(EmailVerification, user.tenant_id)
    links.discard(owner_id=user.id)
    return links.insert(EmailVerification(owner_id=user.id, email=user.email, token_hash=token_hash,
                                          expires_at=expires_at))
