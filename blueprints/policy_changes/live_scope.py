"""Rows and users that count for a change of the policy: all for an operator, for others those that they may view."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import peewee as pw

from gatepost.http.reading.readable import Readable
from gatepost.http.request.access import Access
from gatepost.http.request.active import active
from models.base import Record, Rows, now
from models.engine.prepared import Bind
from models.tables.audience import Audience
from models.tables.user import User
from policies.evaluation.sql import not_true

Reads = frozenset[tuple[str, str]]
"""What conditions look at: `("obj", "department")`, `("sub", "groups")`."""


@dataclass(frozen=True)
class Scope:
    """The rows and users that count.

    guest_tenant  tenant whose rows guests see
    viewer        caller: only rows and users of their tenant that they may view count; None: those of every tenant
    guards        field of a user → the permission that shows it. If a condition reads guarded fields of rows or users,
                  the viewer must be allowed to see them: otherwise a condition could reveal them
    """

    guest_tenant: str
    viewer: Access | None = None
    guards: Mapping[str, str] = field(default_factory=dict)

    def rows(self, audience: Audience, collection: Readable, reads: Reads, *, guests: bool) -> list[pw.Node] | None:
        """Conditions of the rows, those of guests or of any user; None where there can be none."""
        row = audience.row
        found: list[pw.Node] = [row.tenant_id == self.guest_tenant] if guests else []
        if collection.until is not None:
            found.append(getattr(row, collection.until) > now())
        if collection.gone is not None:
            found.append(getattr(row, collection.gone).is_null())
        viewed = self._viewed(row, collection.model, self._of_rows(collection, reads))
        return None if viewed is None else [*found, *viewed]

    def users(self, audience: Audience, role: str, reads: Reads, only: Iterable[str], without: Iterable[str]
              ) -> list[pw.Node] | None:
        """Conditions of the active users of a role, `only` those with these keys if any; None where there are none."""
        user = audience.user
        found: list[pw.Node] = [*active(user, self.viewer, self.guards, certain=False)[0], user.role == role]
        if named := _ids(only):
            found.append(audience.users.among(named))
        if left_out := _ids(without):
            found.append(not_true(audience.users.among(left_out)))
        viewed = self._viewed(user, User, self._of_users(reads))
        return None if viewed is None else [*found, *viewed]

    def roles(self, ids: Sequence[str]) -> dict[str, str]:
        """The stored role of each of these users who count, by id."""
        if self.viewer is None:
            return User.roles(ids)
        known = Rows(User, self.viewer.principal.tenant_id).find_all(ids)
        return {user.id: user.role for user in known if self.viewer.allows("user.view", user.__data__)}

    def values(self, collection: Readable, reads: Reads) -> dict[str, Any]:
        """The values of the Binds of these conditions."""
        if self.viewer is None:
            return {}
        found: dict[str, Any] = {"tenant": self.viewer.principal.tenant_id,
                                 **active(User, self.viewer, self.guards, certain=False)[1]}
        narrowings = (*(self.viewer.narrow(one, collection.model) for one in self._of_rows(collection, reads)),
                      *(self.viewer.narrow(one, User) for one in self._of_users(reads)))
        for narrowing in narrowings:
            found |= {} if narrowing is None else narrowing.values
        return found

    def _of_rows(self, collection: Readable, reads: Reads) -> Iterator[str]:
        """The permissions that the viewer needs on each row that counts."""
        yield collection.view
        yield from dict.fromkeys(guard for name, guard in collection.guards.items() if ("obj", name) in reads)

    def _of_users(self, reads: Reads) -> Iterator[str]:
        yield "user.view"
        yield from dict.fromkeys(guard for name, guard in self.guards.items()
                                 if ("sub", name) in reads and name != "tenant_id")  # that is the viewer's own

    def _viewed(self, table: Any, model: type[Record], permissions: Iterable[str]) -> list[pw.Node] | None:
        """Conditions of what the viewer has all these permissions on; None where that can be nothing."""
        if self.viewer is None:
            return []
        narrowings = [self.viewer.narrow(permission, model) for permission in permissions]
        return None if None in narrowings else [
            table.id.in_(Rows(model, Bind("tenant")).select(model.id).where(one.where.expression()))
            for one in narrowings if one is not None]


def _ids(keys: Iterable[str]) -> list[str]:
    return [key.removeprefix("user:") for key in keys]
