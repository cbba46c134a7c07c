"""An expression in the form in which the search is quick: no part that another one settles, `!` before atoms alone."""

from __future__ import annotations

from ..syntax.expression import AllOf, AnyOf, Expression, Negation, conjunction, disjunction, negation


def normal(goal: Expression) -> Expression:
    """An expression that holds on the same facts."""
    return _pushed(_settled(goal), False)


def _settled(goal: Expression) -> Expression:
    """The parts of a conjunction, put into each other: what one asks for needs no second look in the others.

    Two policies have most of their lines in common. What is left of `new && !old` is what they have not.
    """
    while isinstance(goal, AllOf):
        refuted = {one for part in goal.parts if isinstance(part, Negation) for one in _alternatives(part.part)}
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
                True if one in asked or (isinstance(one, Negation) and set(_alternatives(one.part)) <= refuted)
                else one for one in parts))
    return part


def _alternatives(expression: Expression) -> tuple[Expression, ...]:
    return expression.parts if isinstance(expression, AnyOf) else (expression,)


def _pushed(expression: Expression, negated: bool) -> Expression:
    match expression:
        case Negation(part):
            return _pushed(part, not negated)
        case AllOf(parts):
            return (disjunction if negated else conjunction)(_pushed(part, negated) for part in parts)
        case AnyOf(parts):
            return (conjunction if negated else disjunction)(_pushed(part, negated) for part in parts)
    return negation(expression) if negated else expression
