"""Impact of a policy change on stored rows, as data, as JSON and as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from models.tables.audience import Counts
from policies.syntax.roles import GUEST

NOTHING = "Every row that is stored stays open to those to whom it is open now, and to nobody else."
_VERBS = {"view": ("hides {rows} from {who}", "shows {rows} to {who}")}
_OTHERS = ("takes {permission} on {rows} from {who}", "gives {permission} on {rows} to {who}")
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class RowChange:
    """Rows of one collection that users of a role, users with rules of their own, or guests lose and gain.

    persons     keys (`user:<id>`) of users with rules of their own; empty: the other users of the role
    collection  plural, such as `articles`
    lost, gained  rows that become closed to one of them, and rows that become open
    """

    role: str
    persons: tuple[str, ...]
    permission: str
    collection: str
    lost: Counts
    gained: Counts

    def as_json(self) -> dict[str, Any]:
        """Returns the change as JSON. `users` is null for guests, `owners` for rows without owners."""
        return {"role": self.role, "persons": list(self.persons), "permission": self.permission,
                "collection": self.collection, "lost": _counts(self.lost), "gained": _counts(self.gained)}

    def as_lines(self) -> Iterator[str]:
        """One sentence for what is lost, one for what is gained."""
        resource, _, verb = self.permission.partition(".")
        for sentence, found in zip(_VERBS.get(verb, _OTHERS), (self.lost, self.gained), strict=True):
            if found.rows:
                rows = _number(found.rows, resource, self.collection)
                owners = f" of {_number(found.owners, 'owner', 'owners')}" if found.owners else ""
                yield sentence.format(permission=self.permission, rows=f"{rows}{owners}", who=self._who(found))

    def _who(self, found: Counts) -> str:
        if self.role == GUEST:
            return "guests"
        if not self.persons:
            return f"{_number(found.users or 0, 'user', 'users')} of role {self.role}"
        if len(self.persons) == 1:
            return f"{self.persons[0]} of role {self.role}"
        more = len(self.persons) - _MOST_NAMED
        named = ", ".join(self.persons[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        return f"{found.users} of {named}, of role {self.role}"


@dataclass(frozen=True, slots=True)
class NotCounted:
    """A subject and a permission for which nothing was counted, with the reason."""

    who: str
    permission: str
    why: str

    def __str__(self) -> str:
        return f"{self.permission} is not counted for {self.who}: {self.why}"

    def as_json(self) -> dict[str, Any]:
        return {"who": self.who, "permission": self.permission, "why": self.why}


@dataclass(frozen=True, slots=True)
class RowChanges:
    """All changes of rows, by collection, permission and role.

    statements  number of statements sent to the database
    moment      date and hour of the comparison, in the zone of the settings, if a changed condition reads time, address
                or device; else empty
    """

    all: tuple[RowChange, ...]
    not_counted: tuple[NotCounted, ...]
    statements: int
    moment: str = ""

    def __bool__(self) -> bool:
        return bool(self.all or self.not_counted)

    @property
    def assumes(self) -> str:
        """Sentence about the assumed circumstances; empty if they make no difference."""
        return self.moment and (f"Counted as of {self.moment}. Conditions on the address or the device count as not "
                                "met.")

    def as_json(self) -> dict[str, Any]:
        return {"changes": [one.as_json() for one in self.all],
                "not_counted": [one.as_json() for one in self.not_counted],
                "assumes": self.assumes or None}

    def as_lines(self) -> list[str]:
        """Returns lines for a terminal: a sentence for each change, what was not counted, and what was assumed."""
        found = [line for one in self.all for line in one.as_lines()]
        found += [f"? {one}" for one in self.not_counted]
        return [*(found or [NOTHING]), *([self.assumes] if self.assumes else [])]


def _counts(found: Counts) -> dict[str, int | None]:
    return {"rows": found.rows, "owners": found.owners, "users": found.users}


def _number(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"
