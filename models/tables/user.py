"""Users: who may log in, as which role, in which tenant."""

from __future__ import annotations

import peewee as pw

from models.records.columns import EmailField, ListField
from models.records.table import Owned


class User(Owned):
    """A person with one role.

    `owner_id` is the user's own id, so that the condition `own` means the same here as everywhere else.
    `token_version` goes up when all access tokens issued so far must stop working.
    """

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

    @classmethod
    def by_email(cls, email: str) -> User | None:
        # Across tenants: a login names an e-mail address, unique per instance, and no tenant.
        return cls.select().where(cls.email == email).first()

    @classmethod
    def by_id(cls, id: str) -> User | None:
        # Across tenants: a token names its user, and the user's row says which tenant that is now.
        return cls.select().where(cls.id == id).first()
