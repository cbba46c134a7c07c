"""Stored rows that a change of the policy would show to users or hide from them.

Each collection is queried once for each role that the change affects, for all users of the role. It is queried once
more for users whom rules name, if these rules differ. Devices and tokens play no part: the comparison is about what
each user may do by the policy now.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from time import monotonic

from gatepost.http.reading.readable import Readable
from models.base import is_id
from models.engine.database import Database
from models.engine.errors import TimedOut
from models.tables.audience import Audience, Counts
from policies import Policy
from policies.comparison.candidates import elsewhere
from policies.comparison.subjects import Subject, persons
from policies.evaluation.compiled import FunctionFailed
from policies.evaluation.principal import FixedEnvironment
from policies.syntax.attributes import REQUESTS
from policies.syntax.expression import conjunction
from policies.syntax.roles import GUEST

from .live_conditions import Asks, Callers, Conditions, NoSql, asks, looked_at, ways
from .live_scope import Scope
from .row_changes import NotCounted, RowChange, RowChanges

_METHODS = {"view": "GET", "update": "PATCH", "delete": "DELETE"}  # the compared verbs with their methods
MOST_OF_PERSONS = 20  # statements about users whom rules name, for one permission
MOST_SECONDS = 120.0  # for all of it
_NONE = Counts(0, None, None)
_Pair = tuple[tuple[Asks, ...], tuple[Asks, ...]]  # what the old and the new policy ask for some permissions


@dataclass(frozen=True)
class _Asked:
    """One permission on one collection, in certain circumstances."""

    collection: Readable
    permission: str
    environment: FixedEnvironment

    @property
    def needed(self) -> tuple[str, ...]:
        """The permissions that a request needs: the view permission, and this one."""
        return tuple(dict.fromkeys((self.collection.view, self.permission)))


def compare_rows(database: Database, collections: Iterable[Readable], old: Policy, new: Policy, scope: Scope,
                 at: datetime, seconds: float = MOST_SECONDS) -> RowChanges:
    """Counts the rows that `new` opens or closes, compared with `old`. Both have the same vocabulary.

    `at` is the time of the compared requests, in the zone of the settings. No new statement begins after `seconds`.
    `database` is connected and only read. `RowChanges.not_counted` lists statements that took too long, and
    comparisons that no statement can make.
    """
    found = _Comparison(database, old, new, scope, at, seconds)
    for collection in collections:
        for verb in _METHODS:
            permission = collection.permission(verb)
            if permission in old.vocabulary.by_permission:
                found.compare(collection, permission)
    return found.all


class _TooMany(Exception):
    """Error: MOST_OF_PERSONS statements have been sent already."""


class _Comparison:
    def __init__(self, database: Database, old: Policy, new: Policy, scope: Scope, at: datetime, seconds: float
                 ) -> None:
        self._database, self._old, self._new, self._scope = database, old, new, scope
        self._at, self._seconds, self._end = at, seconds, monotonic() + seconds
        self._changes: list[RowChange] = []
        self._not_counted: list[NotCounted] = []
        self._statements, self._of_persons, self._left = 0, Counter[str](), Counter[str]()
        self._timely, self._elsewhere = False, elsewhere(old, new)

    @property
    def all(self) -> RowChanges:
        left = (NotCounted(f"{number} more users whom rules name", permission,
                           f"their rules differ in more than {MOST_OF_PERSONS} ways")
                for permission, number in self._left.items())
        return RowChanges(tuple(self._changes), (*self._not_counted, *left), self._statements,
                          moment=self._at.strftime("%Y-%m-%d %H:%M") if self._timely else "")

    def compare(self, collection: Readable, permission: str) -> None:
        """Counts the affected rows for one permission: for guests, each role, and users with rules of their own."""
        method = _METHODS[permission.partition(".")[2]]
        # The device is unknown, and the address is in no network that a rule names.
        environment = FixedEnvironment(ip=self._elsewhere).at(self._at, self._at.tzinfo or UTC).having({
            "device": None, "method": method, "request": REQUESTS[method]})
        asked = _Asked(collection, permission, environment)
        for role in dict.fromkeys((*self._old.roles.names, *self._new.roles.names)):
            if role == GUEST:
                self._count(asked, Subject(GUEST))
            else:
                self._of_role(asked, role)

    def _of_role(self, asked: _Asked, role: str) -> None:
        apart = self._apart(asked, role)
        self._count(asked, Subject(role), without=[key for keys in apart.values() for key in keys])
        for keys in apart.values():
            self._count(asked, Subject(role, keys[0]), tuple(keys))

    def _apart(self, asked: _Asked, role: str) -> dict[_Pair, list[str]]:
        """Returns the users of a role whose own rules differ from those of the role, in groups with equal rules."""
        found: dict[_Pair, list[str]] = {}
        of_role = self._asks(Subject(role), asked.needed)
        for key in self._named.get(role, ()):
            if self._touched[key].isdisjoint(asked.needed):
                continue
            if (of_person := self._asks(Subject(role, key), asked.needed)) != of_role:
                found.setdefault(of_person, []).append(key)
        return found

    @cached_property
    def _named(self) -> Mapping[str, list[str]]:
        """The users in the scope whom rules name, by stored role."""
        ids = [key.removeprefix("user:") for key in persons(self._old, self._new)]
        found: dict[str, list[str]] = {}
        for id, role in self._scope.roles([id for id in ids if is_id(id)]).items():
            found.setdefault(role, []).append(f"user:{id}")
        return found

    @cached_property
    def _touched(self) -> Mapping[str, frozenset[str]]:
        """The permissions that rules about a user can affect, by key; all of them for a user with a lent role."""
        every = frozenset(self._old.vocabulary.by_permission)

        def of(policy: Policy, key: str) -> frozenset[str]:
            return every if policy.roles.closure(key) - {key} else policy.permissions_of_lines(key)

        return {key: of(self._old, key) | of(self._new, key) for keys in self._named.values() for key in keys}

    def _asks(self, subject: Subject, permissions: Iterable[str]) -> _Pair:
        """Returns the conditions of both policies for a subject and these permissions, independent of the time."""
        one, other = (tuple(asks(policy, subject, permission) for permission in permissions)
                      for policy in (self._old, self._new))
        return one, other

    def _count(self, asked: _Asked, subject: Subject, keys: tuple[str, ...] = (), without: Iterable[str] = ()) -> None:
        before, after = self._asks(subject, asked.needed)
        if before == after:
            return
        self._timely = self._timely or any(one.is_timely for one in (*before, *after))
        try:
            callers = Callers(subject, asked.environment, self._scope.guest_tenant)
            lost, gained = self._counted(asked, callers, keys, without)
        except TimedOut:
            self._leave(_name(subject, keys), asked.permission,
                        "the statement took longer than GATEPOST_STATEMENT_TIMEOUT")
        except _TooMany:
            self._left[asked.permission] += len(keys)
        except (NoSql, FunctionFailed) as error:
            self._leave(_name(subject, keys), asked.permission, str(error))
        else:
            if lost.rows or gained.rows:
                self._changes.append(
                    RowChange(subject.role, keys, asked.permission, asked.collection.name, lost, gained))

    def _counted(self, asked: _Asked, callers: Callers, keys: tuple[str, ...], without: Iterable[str]) -> list[Counts]:
        """Counts the rows lost and the rows gained. Raises NoSql, FunctionFailed, TimedOut, _TooMany."""
        old, new = ([callers.allowed(policy, permission) for permission in asked.needed]
                    for policy in (self._old, self._new))
        # A row that becomes hidden counts as hidden only, and not also as one that may no longer be changed.
        lost, gained = ways(conjunction((*old, *new[:-1])), new[-1]), ways(conjunction(new), conjunction(old))
        audience = Audience(self._database, asked.collection.model)
        writer = Conditions(audience, asked.collection.resource, callers)
        several = [[writer.way(parts) for parts in found] for found in (lost, gained)]
        guests = callers.subject.is_guest
        reads = looked_at((*old, *new))
        rows = self._scope.rows(audience, asked.collection, reads, guests=guests)
        users = None if guests else self._scope.users(audience, callers.subject.role, reads, keys, without)
        if rows is None or (users is None and not guests) or not any(several):
            return [_NONE, _NONE]
        if keys and self._of_persons[asked.permission] == MOST_OF_PERSONS:
            raise _TooMany
        if monotonic() > self._end:
            raise NoSql(f"all that was counted before has taken {self._seconds:.0f} seconds")
        self._statements += 1
        self._of_persons[asked.permission] += bool(keys)
        return audience.counts(rows, users, *several, values=self._scope.values(asked.collection, reads))

    def _leave(self, who: str, permission: str, why: str) -> None:
        self._not_counted.append(NotCounted(who, permission, why))


def _name(subject: Subject, keys: tuple[str, ...]) -> str:
    if subject.is_guest:
        return "guests"
    return f"role {subject.role}" if not keys else keys[0] if len(keys) == 1 else f"{keys[0]} and {len(keys) - 1} more"
