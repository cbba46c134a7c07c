"""The search for facts on which an expression holds: a decision diagram over the few values that decide.

One variable after the other gets its values, and the expression is simplified each time. Equal remainders are followed
once, so that the number of nodes grows with what the expression can tell apart, not with the product of all values.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from policies.comparison.substitution import Facts, Input, Value, put, reads
from policies.syntax.expression import (
    AllOf,
    AnyOf,
    Expression,
    Negation,
    conjunction,
    conjuncts,
    disjunction,
    disjuncts,
    negation,
)


def normal(goal: Expression) -> Expression:
    """An expression that holds on the same facts."""
    return _pushed(_settled(goal), False)


def _settled(goal: Expression) -> Expression:
    """Substitutes the parts of a conjunction into each other, so that each requirement appears once.

    Two policies share most of their rules. After this, `new && !old` contains only the rules that they do not share.
    """
    while isinstance(goal, AllOf):
        refuted = {one for part in goal.parts if isinstance(part, Negation) for one in disjuncts(part.part)}
        asked: set[Expression] = {part for part in goal.parts if not isinstance(part, AnyOf | Negation)}
        left = conjunction(part if part in asked else _without(part, refuted, asked) for part in goal.parts)
        if left == goal:
            break
        goal = left
    return goal


def _without(part: Expression, refuted: set[Expression], asked: set[Expression]) -> Expression:
    """A part of a conjunction, less what the other parts refute or ask for themselves."""
    if part in asked:
        return True
    match part:
        case AnyOf(parts):
            return disjunction(False if one in refuted else _without(one, refuted, asked) for one in parts)
        case AllOf(parts):
            return conjunction(False if one in refuted else _without(one, refuted, asked) for one in parts)
        case Negation(AllOf(parts)):
            # `!(a && b)` beside `a` is `!b`; what is known of the denials of both policies is the same.
            return negation(conjunction(
                True if one in asked or (isinstance(one, Negation) and set(disjuncts(one.part)) <= refuted)
                else one for one in parts))
    return part


def _pushed(expression: Expression, negated: bool) -> Expression:
    match expression:
        case Negation(part):
            return _pushed(part, not negated)
        case AllOf(parts):
            return (disjunction if negated else conjunction)(_pushed(part, negated) for part in parts)
        case AnyOf(parts):
            return (conjunction if negated else disjunction)(_pushed(part, negated) for part in parts)
    return negation(expression) if negated else expression


MOST_NODES = 20_000  # some seconds; the largest policies that were tried took fewer than 4 000


class Undecided(Exception):
    """An expression has too many combinations of facts to be decided: nothing is known of it."""


@dataclass(frozen=True)
class Variable:
    """Inputs that get their values together, such as the date and its weekday; each of `values` is one for each input.

    The values suffice: whatever an expression does with any other, it does with one of these.
    """

    inputs: tuple[Input, ...]
    values: Sequence[tuple[Value, ...]]


def example(goal: Expression, variables: Sequence[Variable], most: int = MOST_NODES) -> Facts | None:
    """Facts on which `goal` holds whatever the rest is, as few as can be dropped to; None when there are none.

    A goal in its normal form is found quickest. `variables` cover every input of it, in the order in which ties are
    broken. Raises Undecided after `most` nodes.
    """
    found = _Search(variables, most).run(goal)
    return None if found is None else _reduced(goal, found, variables)


class _Search:
    def __init__(self, variables: Sequence[Variable], most: int) -> None:
        self._of: Mapping[Input, Variable] = {name: variable for variable in variables for name in variable.inputs}
        self._most, self._nodes = most, 0
        self._hopeless: set[Expression] = set()

    def run(self, goal: Expression) -> dict[Input, Value] | None:
        if goal is True:
            return {}
        if goal is False or goal in self._hopeless:
            return None
        self._nodes += 1
        if self._nodes > self._most:
            raise Undecided
        parts = conjuncts(goal)
        read = [reads(part) for part in parts]
        variable = self._decisive(read)
        # Most parts do not read the variable: they stay as they are.
        others = [part for part, names in zip(parts, read, strict=True) if names.isdisjoint(variable.inputs)]
        concerned = conjunction(part for part, names in zip(parts, read, strict=True)
                                if not names.isdisjoint(variable.inputs))
        followed: set[Expression] = set()
        for values in variable.values:
            facts = dict(zip(variable.inputs, values, strict=True))
            left = put(concerned, facts)
            if left in followed:
                continue
            followed.add(left)
            found = None if left is False else self.run(conjunction((left, *others)))
            if found is not None:
                return {**facts, **found}
        self._hopeless.add(goal)
        return None

    def _decisive(self, read: Iterable[frozenset[Input]]) -> Variable:
        """The variable that settles most: one of parts that read little else, and of many parts."""
        weights: defaultdict[Input, float] = defaultdict(float)
        for names in read:
            for one in names:
                weights[one] += 4.0 ** -len(names)
        return self._of[max((name for name in self._of if name in weights), key=weights.__getitem__)]


def _reduced(goal: Expression, facts: Facts, variables: Sequence[Variable]) -> Facts:
    """Returns these facts without the superfluous ones."""
    kept = dict(facts)
    for variable in reversed(variables):
        if variable.inputs[0] in kept:
            fewer = {name: value for name, value in kept.items() if name not in variable.inputs}
            if put(goal, fewer) is True:
                kept = fewer
    return kept
