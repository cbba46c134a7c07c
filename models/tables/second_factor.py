"""Second factors: the secret from which an app of the user makes codes (TOTP, RFC 6238), and recovery codes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import peewee as pw

from models.records.columns import IdField, ListField, TimeField
from models.records.rows import Rows
from models.records.table import Record
from models.tables.user import User

_AT_ONCE = 500  # rows of one statement
_BEFORE_ALL = "00000000-0000-0000-0000-000000000000"  # an id before all others


class SecondFactor(Record):
    """The second factor of the user `owner_id`, who has one at most.

    `secret` is encrypted. The factor counts from `confirmed_at` on; until then it was not used. `last_step` is the last
    time step of which a code was used. `failures` is the number of wrong codes since the last right one. Of the
    `recovery_codes` that are left, the hashes are stored.
    """

    owner_id = IdField()
    secret = pw.TextField()
    confirmed_at = TimeField(null=True)
    last_step = pw.IntegerField(default=0)
    failures = pw.IntegerField(default=0)
    recovery_codes = ListField(default=list)

    class Meta:
        table_name = "second_factors"

    @classmethod
    def of(cls, user: User) -> SecondFactor | None:
        """Returns the row of a user, confirmed or not."""
        return Rows(cls, user.tenant_id).find_by(owner_id=user.id)

    @classmethod
    def confirmed(cls) -> int:
        """Returns the number of users who have a confirmed factor."""
        # Across tenants: for operators.
        return int(cls.select().where(cls.confirmed_at.is_null(False)).count())

    @classmethod
    def owners(cls, ids: Sequence[str]) -> set[str]:
        """Returns those of these users, at most a page of them, who have a confirmed factor."""
        # Across tenants: access reviews of operators cover all of them.
        query = cls.select(cls.owner_id).where(cls.owner_id.in_(ids), cls.confirmed_at.is_null(False))
        return {owner_id for owner_id, in query.tuples().iterator()}

    @classmethod
    def each(cls) -> Iterator[SecondFactor]:
        """Yields all rows, read in batches. The database is connected."""
        # Across tenants: for keys and checks of the whole instance.
        last = _BEFORE_ALL
        while rows := list(cls.select().where(cls.id > last).order_by(cls.id).limit(_AT_ONCE)):
            yield from rows
            last = rows[-1].id

    def renew_secret(self, secret: str) -> None:
        """Replaces the encrypted secret, unless another writer has replaced it meanwhile."""
        # Without a new version: it is the same secret, and a login under way saves other columns.
        model = type(self)
        model.update({model.secret: secret}).where(
            model.tenant_id == self.tenant_id, model.id == self.id, model.secret == self.secret).execute()
