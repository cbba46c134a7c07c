"""One-time links with which a user chooses a password."""

from __future__ import annotations

import peewee as pw

from models.records.columns import IdField, TimeField
from models.records.rows import Rows, expire
from models.records.table import Record
from models.records.times import now
from models.tables.user import User


class PasswordLink(Record):
    """A link of the user `owner_id`. Only the hash of its token is stored.

    A user has one link that was `mailed` and one that is passed on: a new one replaces the former one of its kind. A
    use deletes it. It is void after `expires_at`, and as soon as the row of the user has another version than
    `user_version`: any change of the account, its password included. A link that is passed on is void, too, as soon as
    its maker, the user `maker_id`, cannot log in; null for an operator.
    """

    owner_id = IdField()
    token_hash = pw.TextField()
    user_version = pw.IntegerField()
    expires_at = TimeField()
    mailed = pw.BooleanField(default=False)
    maker_id = IdField(null=True)

    class Meta:
        table_name = "password_links"

    @classmethod
    def user_of(cls, token_hash: str, *, lock: bool = False) -> User | None:
        """Returns the user whose link has this hash, while the link is valid. `lock` locks the user's row."""
        # Across tenants: the token names its user, and the user's row names the tenant.
        link = cls.select().where(cls.token_hash == token_hash, cls.expires_at > now()).first()
        user = None if link is None else Rows(User, link.tenant_id).find(link.owner_id, lock=lock)
        valid = user is not None and user.active and user.erased_at is None and user.version == link.user_version
        if valid and link.maker_id is not None:
            maker = User.by_id(link.maker_id)
            valid = maker is not None and maker.active
        return user if valid else None

    @classmethod
    def is_mailed(cls, token_hash: str) -> bool:
        """True if the link with this hash is sent to the user's address and shown to nobody."""
        # Across tenants, as above.
        return bool(cls.select().where(cls.token_hash == token_hash, cls.mailed).exists())

    @classmethod
    def take(cls, token_hash: str) -> PasswordLink | None:
        """Deletes the link with this hash, and returns it. None if it has expired, or if another transaction was
        faster."""
        # Across tenants, as above.
        where = (cls.token_hash == token_hash) & (cls.expires_at > now())
        link = cls.select().where(where).first()
        return link if cls.delete().where(where).execute() else None

    @classmethod
    def keep(cls, user: User, version: int) -> None:
        """Keeps the links that are valid for this version of the user's row valid for its present version."""
        Rows(cls, user.tenant_id).change({cls.user_version: user.version}, cls.owner_id == user.id,
                                         cls.user_version == version)

    @classmethod
    def purge(cls, before: str, most: int) -> int:
        # Across tenants: an expired link is useless in any of them.
        return expire(cls.expires_at, before, most)


def replace_link(user: User, token_hash: str, expires_at: str, *, mailed: bool, maker_id: str | None) -> PasswordLink:
    """Stores a new link of the user, whose row is locked, in place of the former one of its kind."""
    links = Rows(PasswordLink, user.tenant_id)
    links.discard(owner_id=user.id, mailed=mailed)
    return links.insert(PasswordLink(owner_id=user.id, token_hash=token_hash, user_version=user.version,
                                     expires_at=expires_at, mailed=mailed, maker_id=maker_id))
