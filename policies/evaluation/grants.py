"""Effective permissions of a role: all rules that match it, its own and the inherited ones, as one `Grant`.

The matrix, the diff and `explain` show grants, in the words of the condition column. `comparison` finds out if one
grant gives more than another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..syntax.expression import KIND, Atom, Comparison, Expression, Shared, rebuild
from ..syntax.roles import GUEST
from ..syntax.rules import Rule
from .policy import Policy

ALWAYS_WORD = "always"


@dataclass(frozen=True, slots=True)
class Part:
    """One rule that covers a permission, and its condition after evaluation."""

    rule: Rule
    expression: Expression

    @property
    def word(self) -> str:
        return ALWAYS_WORD if self.expression is True else self.rule.when


@dataclass(frozen=True, slots=True)
class Grant:
    """The combined effect of rules: allowed when one of `allows` holds and none of `denies`."""

    allows: tuple[Part, ...]
    denies: tuple[Part, ...]

    def __bool__(self) -> bool:
        return bool(self.allows)

    @property
    def always(self) -> bool:
        return any(part.expression is True for part in self.allows) and not self.denies

    @property
    def allowed(self) -> tuple[str, ...]:
        """The words of the conditions that allow, each once."""
        return tuple(dict.fromkeys(part.word for part in self.allows))

    @property
    def denied(self) -> tuple[str, ...]:
        """The words of the conditions that deny, each once."""
        return tuple(dict.fromkeys(part.word for part in self.denies))

    @property
    def words(self) -> str:
        """The words: `always`, `own, shared`, `always, but not office_hours`; for users also `denied always`."""
        allowed, denied = ", ".join(self.allowed), ", ".join(self.denied)
        if not denied:
            return allowed
        return f"{allowed}, but not {denied}" if allowed else f"denied {denied}"

    @property
    def places(self) -> tuple[str, ...]:
        """`articles.csv:14` of each rule."""
        return tuple(part.rule.place for part in (*self.allows, *self.denies))


NO_GRANT = Grant((), ())


class Grants:
    """The grants of one policy, to roles and to single users.

    persons  the keys (`user:<id>`) that rules name
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        named = (*(rule.sub for rule in policy.rules), *policy.roles.parents)
        self.persons = tuple(sorted({name for name in named if name not in policy.roles}))

    def of(self, who: str, permission: str) -> Grant:
        """The grant of `permission` to `who`, a role or a user's key.

        For a user it counts only the rules that name the user, without those of the user's role.
        """
        return grant(self._bearing(who, permission), on_top=who not in self._policy.roles)

    def of_person(self, role: str, person: str, permission: str) -> Grant:
        """The grant of `permission` to a user's key with this role, by the rules about both; none if there is no such
        role."""
        kept = ((rule, _with_kind(condition, "user"))
                for rule, condition in self._policy.matching_rules(role, person, permission))
        return grant(Part(rule, condition) for rule, condition in kept if condition is not False)

    def concerning(self, person: str) -> frozenset[str]:
        """The permissions that the rules about a user cover."""
        return self._policy.permissions_of_lines(person)

    def _bearing(self, who: str, permission: str) -> Iterator[Part]:
        """Every rule that can hold for `who` and cover the permission."""
        kind = (GUEST if who == GUEST else "user") if who in self._policy.roles else None
        for rule, condition in self._policy.lines_on(who, permission):
            if kind is not None:
                condition = _with_kind(condition, kind)
            if condition is not False:
                yield Part(rule, condition)


def grant(parts: Iterable[Part], *, on_top: bool = False) -> Grant:
    """The combined effect of rules. With `on_top` they add to others, and a denial counts without an allow."""
    applicable = list(parts)
    if not applicable:
        return NO_GRANT
    allows = tuple(part for part in applicable if part.rule.eft == "allow")
    denies = tuple(part for part in applicable if part.rule.eft == "deny")
    if not on_top and (not allows or any(part.expression is True for part in denies)):
        return NO_GRANT
    # What is always allowed needs no further reason.
    unconditional = tuple(part for part in allows if part.expression is True)
    return Grant(unconditional[:1] or allows, denies)


def _with_kind(expression: Expression, kind: str) -> Expression:
    """The condition for a caller of this kind: only a guest is of the kind `guest`, and nothing is shared with one."""
    def leaf(atom: Atom) -> Expression:
        match atom:
            case Comparison("==" | "!=" as operator, left, right) if left == KIND and "guest" in (kind, right):
                return (kind == right) is (operator == "==")
            case Shared() if kind == GUEST:
                return False
        return atom

    return rebuild(expression, leaf)
