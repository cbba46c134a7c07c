"""Users: who may log in, as which role, in which tenant."""

from __future__ import annotations

from collections.abc import Sequence

import peewee as pw

from models.records.columns import EmailField, ListField
from models.records.rows import locked
from models.records.table import Owned

_BATCH = 500  # ids in one statement; SQLite takes 32 766
ADMINISTRATOR = "admin"  # the role that no other one ranks above


class User(Owned):
    """A person with one role.

    `owner_id` is the user's own id, so that the condition `own` means the same here as everywhere else.
    `token_version` goes up when all access tokens issued so far must stop working.
    """

    owns_itself = True

    name = pw.TextField()
    email = EmailField()
    password_hash = pw.TextField()
    role = pw.TextField(default="user")
    groups = ListField(default=list)
    active = pw.BooleanField(default=True)
    token_version = pw.IntegerField(default=1)

    class Meta:
        table_name = "users"

    def stamp(self, tenant_id: str, at: str) -> None:
        super().stamp(tenant_id, at)
        self.owner_id = self.id

    @property
    def administers(self) -> bool:
        """Whether the user is one of the administrators: active, and of that role by what is stored."""
        return self.active and self.role == ADMINISTRATOR

    @classmethod
    def administrators(cls, *, lock: bool = False) -> list[str]:
        """The ids of all administrators, in order; `lock`: no other transaction changes them before this one ends."""
        # Across tenants: an administrator of one decides about the whole instance, and any of them can make another.
        found = cls.select(cls.id).where(cls.role == ADMINISTRATOR, cls.active).order_by(cls.id)
        return [user.id for user in (locked(found) if lock else found)]

    @classmethod
    def by_email(cls, email: str) -> User | None:
        # Across tenants: a login names an e-mail address, unique per instance, and no tenant.
        return cls.select().where(cls.email == email).first()

    @classmethod
    def roles(cls, ids: Sequence[str]) -> dict[str, str]:
        """The stored role of each of these users, by id; those that there are."""
        # Across tenants: the lines of a policy name persons of any.
        batches = (ids[start:start + _BATCH] for start in range(0, len(ids), _BATCH))
        return {user.id: user.role for batch in batches
                for user in cls.select(cls.id, cls.role).where(cls.id.in_(batch))}

    @classmethod
    def by_id(cls, id: str) -> User | None:
        # Across tenants: a token names its user, and the user's row says which tenant that is now.
        return cls.select().where(cls.id == id).first()
