"""Rows that a caller may list: all, none, or those that a condition picks.

A plan names columns of the object, and attributes of the caller and of the environment as parameters; conditions that
do not depend on the object are already decided. Plans are hashable, and serve as keys of a cache.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from ..syntax.expression import (
    AllOf,
    AnyOf,
    Comparison,
    Expression,
    asks_shares,
    columns,
    conjunction,
    conjuncts,
    disjunction,
    disjuncts,
)

# So many disjuncts become branches, each with an index of its own; with more a condition stays one branch with an OR.
MOST_DISJUNCTS = 16
# With more branches a list stays one condition: each is a part of a UNION, and a total asks them one after the other.
MOST_BRANCHES = 64


class Outcome(Enum):
    ALWAYS = "always"
    NEVER = "never"
    IF = "if"


ALWAYS, NEVER, IF = Outcome.ALWAYS, Outcome.NEVER, Outcome.IF


@dataclass(frozen=True)
class Plan:
    """The rows on which a permission is given: those that one of `allows` picks and none of `denies` does.

    `allows` is None when every row is allowed that is not denied. `uses_environment` is true if another
    hour, address or login could have given another plan; `columns` are the columns that must be read to evaluate a row;
    `groups` is the number of the caller's groups, if a condition compares a column with them.
    """

    permission: str
    outcome: Outcome
    allows: tuple[Expression, ...] | None
    denies: tuple[Expression, ...]
    uses_environment: bool = False
    groups: int = 0
    columns: frozenset[str] = field(default=frozenset(), compare=False)
    uses_shares: bool = field(default=False, compare=False)
    _hash: int = field(default=0, compare=False, repr=False)

    def __post_init__(self) -> None:
        expressions = (*(self.allows or ()), *self.denies)
        named = frozenset().union(*(columns(expression) for expression in expressions))
        shares = any(map(asks_shares, expressions))
        object.__setattr__(self, "columns", named)
        object.__setattr__(self, "uses_shares", shares)
        key = (self.permission, self.outcome, self.allows, self.denies, self.uses_environment, self.groups)
        object.__setattr__(self, "_hash", hash(key))

    def __hash__(self) -> int:
        return self._hash


def planned(
    permission: str, allows: list[Expression], denies: list[Expression], uses_environment: bool = False, groups: int = 0
) -> Plan:
    """The plan of the conditions of allow rules and of deny rules."""
    allowed, denied = disjunction(allows), disjunction(denies)
    if allowed is False or denied is True:
        return Plan(permission, NEVER, (), (), uses_environment)
    refusals = disjuncts(denied)
    if len(refusals) > MOST_BRANCHES:
        refusals = (denied,)
    if allowed is True:
        return Plan(permission, IF if refusals else ALWAYS, None, refusals, uses_environment, groups)
    alternatives = branches(allowed)
    if not alternatives:
        return Plan(permission, NEVER, (), (), uses_environment)
    return Plan(permission, IF, alternatives, refusals, uses_environment, groups)


def branches(expression: Expression) -> tuple[Expression, ...]:
    """An expression as alternatives without an OR inside, as far as that stays short.

    Drops an alternative that contradicts itself, and one that contains another one. Returns the expression alone if
    there are more than MOST_BRANCHES.
    """
    consistent = [branch for branch in _distributed(expression) if branch is not False and not contradicts(branch)]
    if len(consistent) > MOST_BRANCHES:
        return (expression,)
    sets = [frozenset(conjuncts(branch)) for branch in consistent]
    kept: dict[frozenset[Expression], Expression] = {}
    for branch, parts in zip(consistent, sets, strict=True):
        if not any(other < parts for other in sets):
            kept.setdefault(parts, branch)
    return tuple(kept.values())


def contradicts(expression: Expression) -> bool:
    """True if a conjunction asks one attribute to equal two different literals."""
    wanted: dict[object, object] = {}
    for part in conjuncts(expression):
        match part:
            case Comparison("==", left, (str() | int()) as right) if wanted.setdefault(left, right) != right:
                return True
    return False


def _distributed(expression: Expression) -> list[Expression]:
    match expression:
        case AnyOf(parts):
            return [branch for part in parts for branch in _distributed(part)]
        case AllOf(parts):
            products: list[Expression] = [True]
            for part in parts:
                choices = _distributed(part)
                if len(products) * len(choices) > MOST_DISJUNCTS:
                    choices = [part]
                products = [conjunction((product, choice)) for product in products for choice in choices]
            return [product for product in products if product is not False]
    return [expression]
