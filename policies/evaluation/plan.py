"""What a caller may list: everything, nothing, or the rows that a condition picks.

A plan names columns of the object, and attributes of the caller and of the environment as parameters; conditions that
do not depend on the object are already decided. Plans are hashable, and serve as keys of a cache.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from ..syntax.expression import AllOf, AnyOf, Comparison, Expression, Shared, atoms, columns, conjunction, disjunction

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

    `allows` is None when every row is allowed that is not denied. `uses_environment` tells whether another
    hour or address could have given another plan; `columns` are the columns that must be read to judge a row; `groups`
    says how many the caller has, where a condition asks whether a column names one of them.
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
        shares = any(isinstance(atom, Shared) for expression in expressions for atom in atoms(expression))
        object.__setattr__(self, "columns", named)
        object.__setattr__(self, "uses_shares", shares)
        key = (self.permission, self.outcome, self.allows, self.denies, self.uses_environment, self.groups)
        object.__setattr__(self, "_hash", hash(key))

    def __hash__(self) -> int:
        return self._hash


def planned(
    permission: str, allows: list[Expression], denies: list[Expression], uses_environment: bool = False, groups: int = 0
) -> Plan:
    """The plan of what is left of the rules that allow and of those that deny."""
    allowed, denied = disjunction(allows), disjunction(denies)
    if allowed is False or denied is True:
        return Plan(permission, NEVER, (), (), uses_environment)
    refusals: tuple[Expression, ...] = () if denied is False else (denied,)
    if isinstance(denied, AnyOf) and len(denied.parts) <= MOST_BRANCHES:
        refusals = denied.parts
    if allowed is True:
        return Plan(permission, IF if refusals else ALWAYS, None, refusals, uses_environment, groups)
    branches = disjuncts(allowed)
    if not branches:
        return Plan(permission, NEVER, (), (), uses_environment)
    return Plan(permission, IF, branches, refusals, uses_environment, groups)


def disjuncts(expression: Expression) -> tuple[Expression, ...]:
    """An expression as alternatives without an OR inside, as far as that stays short.

    An alternative that contradicts itself is dropped, and so is one that another one contains. Where there would be
    too many, the expression is the only one.
    """
    found = [branch for branch in _distributed(expression) if branch is not False and not contradicts(branch)]
    if len(found) > MOST_BRANCHES:
        return (expression,)
    sets = [frozenset(branch.parts if isinstance(branch, AllOf) else (branch,)) for branch in found]
    kept: dict[frozenset[Expression], Expression] = {}
    for branch, parts in zip(found, sets, strict=True):
        if not any(other < parts for other in sets):
            kept.setdefault(parts, branch)
    return tuple(kept.values())


def contradicts(expression: Expression) -> bool:
    """Whether a conjunction asks one attribute to equal two different literals."""
    wanted: dict[object, object] = {}
    for part in expression.parts if isinstance(expression, AllOf) else ():
        match part:
            case Comparison("==", left, (str() | int()) as right) if wanted.setdefault(left, right) != right:
                return True
    return False


def _distributed(expression: Expression) -> list[Expression]:
    match expression:
        case AnyOf(parts):
            return [branch for part in parts for branch in _distributed(part)]
        case AllOf(parts):
            branches: list[Expression] = [True]
            for part in parts:
                choices = _distributed(part)
                if len(branches) * len(choices) > MOST_DISJUNCTS:
                    choices = [part]
                branches = [conjunction((branch, choice)) for branch in branches for choice in choices]
            return [branch for branch in branches if branch is not False]
    return [expression]
