"""Roles of a user, and how the user got each."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from ..evaluation.policy import Policy
from ..syntax.rules import Rule

STORED = "stored"


@dataclass(frozen=True, slots=True)
class Holding:
    """A role, and every way in which a user got it.

    Ways are `stored`, `inherited from editor`, `lent by roles.csv:14`, `given to oidc:team/staff by roles.csv:15`.
    """

    role: str
    how: tuple[str, ...]


class Holdings:
    """The roles and rules of users under one policy."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._of_roles: dict[str, tuple[Holding, ...]] = {}

    def of(self, key: str, role: str, groups: Container[str] = ()) -> tuple[Holding, ...]:
        """Returns the roles of a user `user:<id>` with this stored role, which comes first, and these groups."""
        if key in self._policy.roles.parents:
            holdings = self._computed(key, role)
        else:
            holdings = self._of_roles.get(role) or self._of_roles.setdefault(role, self._computed(None, role))
        given = self._policy.roles.given_by(groups, role)
        if given is None:
            return holdings
        first, *others = holdings
        return replace(first, how=(*first.how, f"given to {given.group} by {given.place}")), *others

    def lines(self, key: str) -> tuple[Rule, ...]:
        """Returns the `p` rules that name a user."""
        return self._lines.get(key, ())

    def links(self, key: str) -> tuple[str, ...]:
        """Returns the places of `g` lines that name a user: `roles.csv:14`."""
        return tuple(f"{link.file}:{link.line}" for link in self._policy.roles.parents.get(key, ()))

    def lent(self, key: str) -> tuple[Holding, ...]:
        """Returns the roles that `g` lines lend to a user, and the roles that these inherit."""
        return self._computed(key, None)

    @cached_property
    def persons(self) -> tuple[str, ...]:
        """The keys of the users whom rules name, sorted."""
        return tuple(sorted({name for name in (*self._lines, *self._policy.roles.parents)
                             if name not in self._policy.roles}))

    @cached_property
    def _lines(self) -> Mapping[str, tuple[Rule, ...]]:
        by_name: dict[str, list[Rule]] = {}
        for rule in self._policy.rules:
            by_name.setdefault(rule.sub, []).append(rule)
        return {name: tuple(rules) for name, rules in by_name.items()}

    def _computed(self, key: str | None, role: str | None) -> tuple[Holding, ...]:
        ways: dict[str, list[str]] = {}
        for name, way in self._ways(key, role):
            ways.setdefault(name, []).append(way)
        return tuple(Holding(name, tuple(how)) for name, how in ways.items())

    def _ways(self, key: str | None, role: str | None) -> Iterator[tuple[str, str]]:
        roles = self._policy.roles
        if role is not None and role not in roles.of_users:
            yield role, f"{STORED}, but the policy has no such role for users: the user may do nothing"
        elif role is not None:
            yield role, STORED
            yield from ((name, f"inherited from {role}") for name in self._inherited(role))
        for link in roles.parents.get(key, ()) if key is not None else ():
            lent = f"lent by {link.file}:{link.line}"
            yield link.inherits, lent
            yield from ((name, f"inherited from {link.inherits}, {lent}") for name in self._inherited(link.inherits))

    def _inherited(self, role: str) -> Iterator[str]:
        closure = self._policy.roles.closure(role)
        return (name for name in reversed(self._policy.roles.names) if name in closure and name != role)
