"""Which rows and users count for a change of the policy: all for an operator, for others those that they may view."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import peewee as pw

from models.base import Rows, now
from models.engine.prepared import Bind
from models.tables.audience import Audience
from models.tables.user import User
from policies.evaluation.sql import not_true

from ..reading.readable import Readable
from ..request.access import Access


@dataclass(frozen=True)
class Scope:
    """Which rows and users count.

    guest_tenant  whose rows guests see
    viewer        who asks: then only rows and users of their tenant that they may view; None: those of every tenant
    """

    guest_tenant: str
    viewer: Access | None = None

    def rows(self, audience: Audience, collection: Readable, *, guests: bool) -> list[pw.Node] | None:
        """Conditions of the rows, those of guests or of any user; None where there can be none."""
        row = audience.row
        found: list[pw.Node] = [row.tenant_id == self.guest_tenant] if guests else []
        if collection.until is not None:
            found.append(getattr(row, collection.until) > now())
        if self.viewer is not None:
            viewed = self.viewer.narrow(collection.view, collection.model)
            if viewed is None:
                return None
            found.append(row.id.in_(Rows(collection.model, Bind("tenant")).select(collection.model.id)
                                    .where(viewed.expression())))
        return found

    def users(self, audience: Audience, role: str, only: Iterable[str], without: Iterable[str]) -> list[pw.Node] | None:
        """Conditions of the active users of a role, `only` those with these keys if any; None where there are none."""
        user = audience.user
        found: list[pw.Node] = [user.active, user.role == role]
        if named := _ids(only):
            found.append(audience.among(named))
        if left_out := _ids(without):
            found.append(not_true(audience.among(left_out)))
        if self.viewer is not None:
            viewed = self.viewer.narrow("user.view", User)
            if viewed is None:
                return None
            found.append(user.id.in_(Rows(User, Bind("tenant")).select(User.id).where(viewed.expression())))
        return found

    def roles(self, ids: Sequence[str]) -> dict[str, str]:
        """The stored role of each of these users who count, by id."""
        if self.viewer is None:
            return User.roles(ids)
        known = Rows(User, self.viewer.principal.tenant_id).find_all(ids)
        return {user.id: user.role for user in known if self.viewer.allows("user.view", user.__data__)}

    def values(self, collection: Readable) -> dict[str, Any]:
        """What fills the placeholders of these conditions."""
        if self.viewer is None:
            return {}
        found: dict[str, Any] = {"tenant": self.viewer.principal.tenant_id}
        for permission, model in ((collection.view, collection.model), ("user.view", User)):
            viewed = self.viewer.narrow(permission, model)
            found |= {} if viewed is None else viewed.values
        return found


def _ids(keys: Iterable[str]) -> list[str]:
    return [key.removeprefix("user:") for key in keys]
