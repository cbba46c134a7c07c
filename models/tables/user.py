"""Users: accounts with a role in a tenant."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import peewee as pw

from models.engine.database import Database
from models.records.columns import EmailField, ListField, RoleField, TimeField
from models.records.mailboxes import mailbox, normalize, spellings
from models.records.rows import locked
from models.records.table import Owned
from models.tables.tenant import Tenant

# A DISTINCT would read the whole index, even for few roles. This looks up the next role of each tenant.
_HELD = """
WITH RECURSIVE held(tenant_id, role) AS (
    SELECT id, (SELECT min(role) FROM users WHERE tenant_id = tenants.id) FROM tenants
    UNION ALL
    SELECT tenant_id, (SELECT min(role) FROM users WHERE tenant_id = held.tenant_id AND role > held.role) FROM held
    WHERE role IS NOT NULL
)
SELECT DISTINCT role FROM held WHERE role IS NOT NULL
"""
_BATCH = 500  # ids in one statement; SQLite allows 32 766
ADMINISTRATOR = "admin"  # the highest role
NOBODY = "deleted user"  # the name of a tombstone


class _Address(pw.FieldAccessor):
    """Sets the address of a user. Nobody has verified another mailbox."""

    def __set__(self, user: User, value: str) -> None:
        before = user.__data__.get(self.name)
        if before is not None and mailbox(before) != mailbox(value):
            user.email_verified_at = None
        super().__set__(user, value)


class _AddressField(EmailField):
    accessor_class = _Address


class User(Owned):
    """A user with one role.

    `owner_id` is the user's own id, so that the condition `own` has the same meaning here as in other tables.
    `token_version` is raised to invalidate all access tokens issued so far. `email_verified_at` is the time when the
    user proved that they get the mail of this address; null after any change of it. `erased_at` is the time of the
    user's erasure: then the row is a tombstone, which other rows refer to and nobody sees.
    """

    owns_itself = True

    name = pw.TextField()
    email = _AddressField()
    email_verified_at = TimeField(null=True)
    password_hash = pw.TextField()
    role = RoleField(default="user")
    groups = ListField(default=list)
    active = pw.BooleanField(default=True)
    token_version = pw.IntegerField(default=1)
    erased_at = TimeField(null=True)

    class Meta:
        table_name = "users"

    def stamp(self, tenant_id: str, at: str) -> None:
        super().stamp(tenant_id, at)
        self.owner_id = self.id

    @property
    def administers(self) -> bool:
        """True if the user is an active administrator, by the stored role."""
        return self.active and self.role == ADMINISTRATOR

    def bury(self, unusable: str, at: str) -> None:
        """Makes the row a tombstone; the caller saves it afterwards. `unusable`: replaces the hash of the password."""
        self.name, self.email, self.password_hash = NOBODY, f"{self.id}@invalid", unusable
        self.role, self.department, self.groups = "user", None, []
        self.active, self.erased_at = False, at
        self.token_version += 1

    @classmethod
    def administrators(cls, *, lock: bool = False) -> list[str]:
        """Returns the ids of all administrators, in order; `lock`: no other transaction changes them before this one
        ends."""
        # Across tenants: an administrator of any tenant decides about the whole instance, and can make others.
        query = cls.select(cls.id).where(cls.role == ADMINISTRATOR, cls.active).order_by(cls.id)
        return [user.id for user in (locked(query) if lock else query)]

    @classmethod
    def by_email(cls, email: str) -> User | None:
        """Returns the user with this stored address, or else the user with this mailbox."""
        # Across tenants: a login sends an e-mail address, unique per instance, and no tenant.
        addresses = spellings(email)
        stored = cls.email.in_([pw.Value(address, converter=False) for address in addresses])
        users = {user.email: user for user in cls.select().where(stored, cls.erased_at.is_null())}
        return next((users[address] for address in addresses if address in users), None)

    @classmethod
    def ids_by_email(cls, email: str) -> tuple[str, str] | None:
        """Returns tenant and id of the user whom `by_email` finds. It takes as long if there is none, because no row
        becomes an object."""
        # Across tenants, as above.
        addresses = spellings(email)
        stored = cls.email.in_([pw.Value(address, converter=False) for address in addresses])
        rows = cls.select(cls.email, cls.tenant_id, cls.id).where(stored, cls.erased_at.is_null())
        users = {address: (tenant_id, id) for address, tenant_id, id in rows.tuples().iterator()}
        return next((users[address] for address in addresses if address in users), None)

    def shares_mailbox(self) -> bool:
        """True if this user's address is not normalized, and another user has its normalized spelling."""
        # Across tenants, as above.
        mine = mailbox(self.email)
        return mine != self.email and User.select().where(User.email == mine).exists()

    @classmethod
    def misspelled(cls) -> list[tuple[str, str]]:
        """Returns (id, address) of the users whose address is impossible or not normalized."""
        # Across tenants, as above.
        users = cls.select(cls.id, cls.email).where(cls.erased_at.is_null()).tuples()
        return [(id, email) for id, email in users.iterator() if normalize(email) != email]

    @classmethod
    def by_mailboxes(cls, mailboxes: Sequence[str]) -> dict[str, str]:
        """Returns the ids of the users with these normalized addresses, by address. Addresses without a user are left
        out."""
        # Across tenants, as above.
        batches = (mailboxes[start:start + _BATCH] for start in range(0, len(mailboxes), _BATCH))
        return {user.email: user.id for batch in batches
                for user in cls.select(cls.id, cls.email).where(cls.email.in_(batch))}

    @classmethod
    def roles(cls, ids: Sequence[str]) -> dict[str, str]:
        """Returns the stored roles of these users, by id. Missing and erased users are left out."""
        # Across tenants: policy rules name users of any.
        batches = (ids[start:start + _BATCH] for start in range(0, len(ids), _BATCH))
        return {user.id: user.role for batch in batches
                for user in cls.select(cls.id, cls.role).where(cls.id.in_(batch), cls.erased_at.is_null())}

    @classmethod
    def called(cls, ids: Sequence[str]) -> dict[str, str]:
        """Returns the names of these users, by id. Missing users are left out."""
        # Across tenants: the operator reads the audit log of all of them.
        batches = (ids[start:start + _BATCH] for start in range(0, len(ids), _BATCH))
        return {user.id: user.name for batch in batches
                for user in cls.select(cls.id, cls.name).where(cls.id.in_(batch))}

    @classmethod
    def give_password(cls, ids: Sequence[str], hashed: str) -> None:
        """Stores a password hash for these users, as the same version of their rows. Needs a transaction."""
        # Across tenants: the operator opens the demo users of all of them.
        cls.update({cls.password_hash: hashed}).where(cls.id.in_(list(ids))).execute()

    @classmethod
    def tenants(cls, ids: Sequence[str]) -> dict[str, str]:
        """Returns the tenants of these users, by id, including erased users. Missing users are left out."""
        # Across tenants, as above.
        batches = (ids[start:start + _BATCH] for start in range(0, len(ids), _BATCH))
        return {user.id: user.tenant_id for batch in batches
                for user in cls.select(cls.id, cls.tenant_id).where(cls.id.in_(batch))}

    @classmethod
    def held_roles(cls, database: Database) -> frozenset[str]:
        """Returns every role that some user has, active or not. Takes one index lookup for each role and tenant."""
        # Across tenants: they share one policy.
        return frozenset(role for (role,) in database.query(_HELD))

    @classmethod
    def with_roles(cls, roles: Collection[str], most: int) -> list[str]:
        """Returns the e-mail addresses of users with one of these roles, in order, `most` at most."""
        # Across tenants, as above. The condition on the tenant lets the index by role serve.
        query = cls.select(cls.email).where(cls._has_one_of(roles)).order_by(cls.email).limit(most)
        return [user.email for user in query]

    @classmethod
    def number_with_roles(cls, roles: Collection[str]) -> int:
        """Counts the users with one of these roles."""
        # Across tenants, as above.
        return int(cls.select().where(cls._has_one_of(roles)).count()) if roles else 0

    @classmethod
    def names(cls, since: str | None = None) -> tuple[set[str], set[str]]:
        """Returns the departments and the groups of users: of all, or of those changed since then."""
        # Across tenants: they share one policy.
        query = cls.select(cls.department, cls.groups).distinct()
        if since is not None:
            query = query.where(cls.updated_at >= since)
        departments, groups = set[str](), set[str]()
        for department, groups_of_user in query.tuples().iterator():
            departments.update([] if department is None else [department])
            groups.update(groups_of_user)
        return departments, groups

    @classmethod
    def _has_one_of(cls, roles: Collection[str]) -> pw.Expression:
        return cls.tenant_id.in_(Tenant.select(Tenant.id)) & cls.role.in_(list(roles))

    @classmethod
    def by_id(cls, id: str) -> User | None:
        # Across tenants: a token names its user, and the user's row names the present tenant.
        return cls.select().where(cls.id == id).first()
