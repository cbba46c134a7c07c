"""Affected rows: stored rows that a change of the policy would show to users or hide from them.

Each collection is queried once for each role that the change affects, for all users of the role. It is queried once
more for users whom rules name, if these rules differ. Devices and tokens play no part: the comparison is about what
each user may do by the policy now.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from time import monotonic
from typing import Any

import peewee as pw

from gatepost.http.reading.readable import Readable
from gatepost.http.request.access import Access
from gatepost.http.request.active import active
from models.base import Record, Rows, is_id, now
from models.engine.database import Database
from models.engine.errors import TimedOut
from models.engine.prepared import Bind
from models.tables.audience import Audience, Counts
from models.tables.user import User
from policies import Policy
from policies.comparison.candidates import elsewhere
from policies.comparison.subjects import Subject, persons
from policies.evaluation.compiled import FunctionFailed
from policies.evaluation.principal import FixedEnvironment
from policies.evaluation.sql import not_true
from policies.syntax.attributes import REQUESTS
from policies.syntax.expression import conjunction
from policies.syntax.roles import GUEST

from .row_conditions import Callers, Conditions, Needs, NoSql, attributes_read, exceptions, needs_of

NOTHING = "Every row that is stored stays open to those to whom it is open now, and to nobody else."
MOST_OF_PERSONS = 20  # statements about users whom rules name, for one permission
MOST_SECONDS = 120.0  # for all of it
_MOST_NAMED = 3  # users in a line
_VERBS = {"view": ("hides {rows} from {who}", "shows {rows} to {who}")}
_OTHERS = ("takes {permission} on {rows} from {who}", "gives {permission} on {rows} to {who}")
_METHODS = {"view": "GET", "update": "PATCH", "delete": "DELETE"}  # the compared verbs with their methods
_NONE = Counts(0, None, None)
_Pair = tuple[tuple[Needs, ...], tuple[Needs, ...]]  # needs of some permissions in the old and in the new policy
Reads = frozenset[tuple[str, str]]
"""Attributes that conditions read: `("obj", "department")`, `("sub", "groups")`."""


@dataclass(frozen=True)
class _Target:
    """One permission on one collection, in certain circumstances."""

    collection: Readable
    permission: str
    environment: FixedEnvironment

    @property
    def needed(self) -> tuple[str, ...]:
        """Returns the permissions that a request needs: the view permission, and this one."""
        return tuple(dict.fromkeys((self.collection.view, self.permission)))


def compare_rows(database: Database, collections: Iterable[Readable], old: Policy, new: Policy, scope: Scope,
                 at: datetime, seconds: float = MOST_SECONDS) -> RowChanges:
    """Counts the rows that `new` opens or closes, compared with `old`. Both have the same vocabulary.

    `at` is the time of the compared requests, in the zone of the settings. No new statement begins after `seconds`.
    `database` is connected and only read. `RowChanges.not_counted` lists statements that took too long, and
    comparisons that no statement can make.
    """
    comparison = _Comparison(database, old, new, scope, at, seconds)
    for collection in collections:
        for verb in _METHODS:
            permission = collection.permission(verb)
            if permission in old.vocabulary.by_permission:
                comparison.compare(collection, permission)
    return comparison.all


class _TooMany(Exception):
    """Error: MOST_OF_PERSONS statements have been sent already."""


class _Comparison:
    def __init__(self, database: Database, old: Policy, new: Policy, scope: Scope, at: datetime, seconds: float
                 ) -> None:
        self._database, self._old, self._new, self._scope = database, old, new, scope
        self._at, self._seconds, self._end = at, seconds, monotonic() + seconds
        self._changes: list[RowChange] = []
        self._not_counted: list[NotCounted] = []
        self._statements, self._of_persons, self._uncounted = 0, Counter[str](), Counter[str]()
        self._timely, self._elsewhere = False, elsewhere(old, new)

    @property
    def all(self) -> RowChanges:
        more = (NotCounted(f"{number} more users whom rules name", permission,
                           f"their rules differ in more than {MOST_OF_PERSONS} ways")
                for permission, number in self._uncounted.items())
        return RowChanges(tuple(self._changes), (*self._not_counted, *more), self._statements,
                          moment=self._at.strftime("%Y-%m-%d %H:%M") if self._timely else "")

    def compare(self, collection: Readable, permission: str) -> None:
        """Counts the affected rows for one permission: for guests, each role, and users with rules of their own."""
        method = _METHODS[permission.partition(".")[2]]
        # The device is unknown, and the address is in no network that a rule names.
        environment = FixedEnvironment(ip=self._elsewhere).at(self._at, self._at.tzinfo or UTC).having({
            "device": None, "method": method, "request": REQUESTS[method]})
        target = _Target(collection, permission, environment)
        for role in dict.fromkeys((*self._old.roles.names, *self._new.roles.names)):
            if role == GUEST:
                self._count(target, Subject(GUEST))
            else:
                self._of_role(target, role)

    def _of_role(self, target: _Target, role: str) -> None:
        apart = self._apart(target, role)
        self._count(target, Subject(role), without=[key for keys in apart.values() for key in keys])
        for keys in apart.values():
            self._count(target, Subject(role, keys[0]), tuple(keys))

    def _apart(self, target: _Target, role: str) -> dict[_Pair, list[str]]:
        """Returns the users of a role whose own rules differ from those of the role, in groups with equal rules."""
        groups: dict[_Pair, list[str]] = {}
        of_role = self._needs(Subject(role), target.needed)
        for key in self._named.get(role, ()):
            if self._affected[key].isdisjoint(target.needed):
                continue
            if (of_person := self._needs(Subject(role, key), target.needed)) != of_role:
                groups.setdefault(of_person, []).append(key)
        return groups

    @cached_property
    def _named(self) -> Mapping[str, list[str]]:
        """Users in the scope whom rules name, by stored role."""
        ids = [key.removeprefix("user:") for key in persons(self._old, self._new)]
        by_role: dict[str, list[str]] = {}
        for id, role in self._scope.roles([id for id in ids if is_id(id)]).items():
            by_role.setdefault(role, []).append(f"user:{id}")
        return by_role

    @cached_property
    def _affected(self) -> Mapping[str, frozenset[str]]:
        """Permissions that rules about a user can affect, by key; all of them for a user with a lent role."""
        every = frozenset(self._old.vocabulary.by_permission)

        def of(policy: Policy, key: str) -> frozenset[str]:
            return every if policy.roles.closure(key) - {key} else policy.permissions_of_lines(key)

        return {key: of(self._old, key) | of(self._new, key) for keys in self._named.values() for key in keys}

    def _needs(self, subject: Subject, permissions: Iterable[str]) -> _Pair:
        """Returns the conditions of both policies for a subject and these permissions, independent of the time."""
        before, after = (tuple(needs_of(policy, subject, permission) for permission in permissions)
                         for policy in (self._old, self._new))
        return before, after

    def _count(self, target: _Target, subject: Subject, keys: tuple[str, ...] = (), without: Iterable[str] = ()
               ) -> None:
        before, after = self._needs(subject, target.needed)
        if before == after:
            return
        self._timely = self._timely or any(needs.is_timely for needs in (*before, *after))
        try:
            callers = Callers(subject, target.environment, self._scope.guest_tenant)
            lost, gained = self._counted(target, callers, keys, without)
        except TimedOut:
            self._skip(_name(subject, keys), target.permission,
                        "the statement took longer than GATEPOST_STATEMENT_TIMEOUT")
        except _TooMany:
            self._uncounted[target.permission] += len(keys)
        except (NoSql, FunctionFailed) as error:
            self._skip(_name(subject, keys), target.permission, str(error))
        else:
            if lost.rows or gained.rows:
                self._changes.append(
                    RowChange(subject.role, keys, target.permission, target.collection.name, lost, gained))

    def _counted(self, target: _Target, callers: Callers, keys: tuple[str, ...], without: Iterable[str]
                 ) -> list[Counts]:
        """Counts the rows lost and the rows gained. Raises NoSql, FunctionFailed, TimedOut, _TooMany."""
        old, new = ([callers.allowed(policy, permission) for permission in target.needed]
                    for policy in (self._old, self._new))
        # A row that becomes hidden counts as hidden only, and not also as one that may no longer be changed.
        lost = exceptions(conjunction((*old, *new[:-1])), new[-1])
        gained = exceptions(conjunction(new), conjunction(old))
        audience = Audience(self._database, target.collection.model)
        writer = Conditions(audience, target.collection.resource, callers)
        conditions = [[writer.way(parts) for parts in each] for each in (lost, gained)]
        guests = callers.subject.is_guest
        reads = attributes_read((*old, *new))
        rows = self._scope.rows(audience, target.collection, reads, guests=guests)
        users = None if guests else self._scope.users(audience, callers.subject.role, reads, keys, without)
        if rows is None or (users is None and not guests) or not any(conditions):
            return [_NONE, _NONE]
        if keys and self._of_persons[target.permission] == MOST_OF_PERSONS:
            raise _TooMany
        if monotonic() > self._end:
            raise NoSql(f"all that was counted before has taken {self._seconds:.0f} seconds")
        self._statements += 1
        self._of_persons[target.permission] += bool(keys)
        return audience.counts(rows, users, *conditions, values=self._scope.values(target.collection, reads))

    def _skip(self, who: str, permission: str, why: str) -> None:
        self._not_counted.append(NotCounted(who, permission, why))


def _name(subject: Subject, keys: tuple[str, ...]) -> str:
    if subject.is_guest:
        return "guests"
    return f"role {subject.role}" if not keys else keys[0] if len(keys) == 1 else f"{keys[0]} and {len(keys) - 1} more"


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
        """Yields a sentence for lost rows, and one for gained rows."""
        resource, _, verb = self.permission.partition(".")
        for sentence, counts in zip(_VERBS.get(verb, _OTHERS), (self.lost, self.gained), strict=True):
            if counts.rows:
                rows = _number(counts.rows, resource, self.collection)
                owners = f" of {_number(counts.owners, 'owner', 'owners')}" if counts.owners else ""
                yield sentence.format(permission=self.permission, rows=f"{rows}{owners}", who=self._who(counts))

    def _who(self, counts: Counts) -> str:
        if self.role == GUEST:
            return "guests"
        if not self.persons:
            return f"{_number(counts.users or 0, 'user', 'users')} of role {self.role}"
        if len(self.persons) == 1:
            return f"{self.persons[0]} of role {self.role}"
        more = len(self.persons) - _MOST_NAMED
        named = ", ".join(self.persons[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        return f"{counts.users} of {named}, of role {self.role}"


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
        return {"changes": [change.as_json() for change in self.all],
                "not_counted": [subject.as_json() for subject in self.not_counted],
                "assumes": self.assumes or None}

    def as_lines(self) -> list[str]:
        """Returns lines for a terminal: a sentence for each change, what was not counted, and what was assumed."""
        lines = [line for change in self.all for line in change.as_lines()]
        lines += [f"? {subject}" for subject in self.not_counted]
        return [*(lines or [NOTHING]), *([self.assumes] if self.assumes else [])]


def _counts(counts: Counts) -> dict[str, int | None]:
    return {"rows": counts.rows, "owners": counts.owners, "users": counts.users}


def _number(count: int, singular: str, plural: str) -> str:
    return f"{count} {singular if count == 1 else plural}"


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
        """Returns conditions of the rows that count, for guests or for users; None if no row can count."""
        row = audience.row
        conditions: list[pw.Node] = [row.tenant_id == self.guest_tenant] if guests else []
        if collection.until is not None:
            conditions.append(getattr(row, collection.until) > now())
        if collection.gone is not None:
            conditions.append(getattr(row, collection.gone).is_null())
        viewed = self._viewed(row, collection.model, self._of_rows(collection, reads))
        return None if viewed is None else [*conditions, *viewed]

    def users(self, audience: Audience, role: str, reads: Reads, only: Iterable[str], without: Iterable[str]
              ) -> list[pw.Node] | None:
        """Returns conditions of the active users of a role; None if no user can count.

        only     keys of users; if there are any, no other user counts
        without  keys of users who do not count
        """
        user = audience.user
        conditions: list[pw.Node] = [*active(user, self.viewer, self.guards, certain=False)[0], user.role == role]
        if named := _ids(only):
            conditions.append(audience.users.among(named))
        if left_out := _ids(without):
            conditions.append(not_true(audience.users.among(left_out)))
        viewed = self._viewed(user, User, self._of_users(reads))
        return None if viewed is None else [*conditions, *viewed]

    def roles(self, ids: Sequence[str]) -> dict[str, str]:
        """Returns id → stored role of these users, as far as they count."""
        if self.viewer is None:
            return User.roles(ids)
        users = Rows(User, self.viewer.principal.tenant_id).find_all(ids)
        return {user.id: user.role for user in users if self.viewer.allows("user.view", user.__data__)}

    def values(self, collection: Readable, reads: Reads) -> dict[str, Any]:
        """Returns the values of the Binds of these conditions."""
        if self.viewer is None:
            return {}
        values: dict[str, Any] = {"tenant": self.viewer.principal.tenant_id,
                                 **active(User, self.viewer, self.guards, certain=False)[1]}
        narrowings = (*(self.viewer.narrow(permission, collection.model)
                        for permission in self._of_rows(collection, reads)),
                      *(self.viewer.narrow(permission, User) for permission in self._of_users(reads)))
        for narrowing in narrowings:
            values |= {} if narrowing is None else narrowing.values
        return values

    def _of_rows(self, collection: Readable, reads: Reads) -> Iterator[str]:
        """Yields the permissions that the viewer needs on each row that counts."""
        yield collection.view
        guards = {} if self.viewer is None else collection.guards_in(self.viewer.policy).by_field
        yield from dict.fromkeys(guard for name, guard in guards.items() if ("obj", name) in reads)

    def _of_users(self, reads: Reads) -> Iterator[str]:
        yield "user.view"
        yield from dict.fromkeys(guard for name, guard in self.guards.items()
                                 if ("sub", name) in reads and name != "tenant_id")  # it equals the viewer's own

    def _viewed(self, table: Any, model: type[Record], permissions: Iterable[str]) -> list[pw.Node] | None:
        """Returns conditions of rows on which the viewer has all these permissions; None if there can be none."""
        if self.viewer is None:
            return []
        narrowings = [self.viewer.narrow(permission, model) for permission in permissions]
        return None if None in narrowings else [
            table.id.in_(Rows(model, Bind("tenant")).select(model.id).where(narrowing.where.expression()))
            for narrowing in narrowings if narrowing is not None]


def _ids(keys: Iterable[str]) -> list[str]:
    return [key.removeprefix("user:") for key in keys]
