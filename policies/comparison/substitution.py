"""An expression with some of what it reads replaced by values, and simplified.

What an expression reads are its *inputs*: attributes, and atoms that no attribute settles, such as `shared(…)`, whether
the caller is in a group, and the answer of a plugin's function. `by_age` puts the age of a column in the place of two
of them, the column and the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import lru_cache

from ..syntax.addresses import within
from ..syntax.durations import ago, later
from ..syntax.expression import (
    COMPARE,
    MIRRORED,
    NOW,
    Ago,
    Atom,
    Attribute,
    Comparison,
    Expression,
    FunctionCall,
    InGroup,
    Operand,
    PluginCall,
    Shared,
    atoms,
    attributes,
    rebuild,
)

Input = Attribute | Shared | FunctionCall | InGroup | PluginCall
Value = str | int | None  # None: missing
Facts = Mapping[Input, Value]
AGE, MICROSECONDS = "age", 1_000_000  # the root of an attribute that stands for the age of a column; of a second


def inputs(expression: Expression) -> Iterator[Input]:
    """Yields every input of every atom, as often as it is read."""
    for atom in atoms(expression):
        yield from inputs_of(atom)


@lru_cache(maxsize=4096)
def reads(expression: Expression) -> frozenset[Input]:
    """Returns every input once. Results are cached, because a search needs those of each part many times."""
    return frozenset(inputs(expression))


def inputs_of(atom: Atom) -> tuple[Input, ...]:
    """Returns the inputs of one atom: its attributes, or the atom itself if it reads more than attributes."""
    match atom:
        case Comparison() | FunctionCall("ipMatch", _):
            return attributes(atom)
        case InGroup():
            return (atom,) if atom.column is None else (atom.column,)
    return (atom,)


def put(expression: Expression, facts: Facts) -> Expression:
    """Returns the expression with these values for these inputs, simplified."""
    return rebuild(expression, lambda atom: _put(atom, facts))


def _put(atom: Atom, facts: Facts) -> Expression:
    match atom:
        case Comparison(symbol, left, Ago() as right):
            return _of_age(symbol, left, right, facts)
        case Comparison(symbol, left, right):
            if left in facts or right in facts:
                return _compared(symbol, _value(left, facts), _value(right, facts))
        case FunctionCall("ipMatch", (Attribute() as address, str(network))):
            if address in facts:
                value = facts[address]
                return within(None if value is None else str(value), network)
        case InGroup():
            if atom.column is None or atom.column not in facts:
                return _answered(atom, facts)
            named = facts[atom.column]
            return False if named is None else _answered(InGroup(f"{atom.prefix}{named}"), facts)
        case Shared() | FunctionCall() | PluginCall():
            return _answered(atom, facts)
    return atom


def by_age(goal: Expression) -> Expression:
    """Returns a goal whose comparisons of a column with now compare the age of the column, in microseconds.

    They do so for each column that `olderThan` or `youngerThan` reads and that nothing but now is compared with: then
    its age can be any, whatever the time is.
    """
    read = dict.fromkeys(atoms(goal))
    with_now = {atom: column for atom in read if (column := _compared_with_now(atom)) is not None}
    aged = {column for atom, column in with_now.items() if isinstance(atom, Comparison) and isinstance(atom.right, Ago)}
    aged -= {attribute for atom in read if atom not in with_now for attribute in attributes(atom)}
    return rebuild(goal, lambda atom: _age(atom) if with_now.get(atom) in aged else atom) if aged else goal


def _compared_with_now(atom: Atom) -> Attribute | None:
    """Returns the column of the object that an atom compares with now, or with a time before it."""
    match atom:
        case Comparison(_, Attribute("obj") as column, Ago()):
            return column
        case Comparison(_, Attribute("obj") as column, right) if right == NOW:
            return column
        case Comparison(_, left, Attribute("obj") as column) if left == NOW:
            return column
    return None


def _age(atom: Atom) -> Expression:
    match atom:
        case Comparison(symbol, Attribute("obj", name), right):
            seconds = right.seconds if isinstance(right, Ago) else 0
            return Comparison(MIRRORED[symbol], Attribute(AGE, name), seconds * MICROSECONDS)
        case Comparison(symbol, _, Attribute("obj", name)):
            return Comparison(symbol, Attribute(AGE, name), 0)
    return atom


def _of_age(symbol: str, left: Operand, right: Ago, facts: Facts) -> Expression:
    if NOW in facts:
        now = facts[NOW]
        return _compared(symbol, _value(left, facts), ago(None if now is None else str(now), right.seconds))
    if left not in facts:
        return Comparison(symbol, left, right)
    time = _value(left, facts)
    if time is None:
        return False
    return Comparison(MIRRORED[symbol], NOW, later(str(time), timedelta(seconds=right.seconds)))


def _answered(atom: Shared | FunctionCall | InGroup | PluginCall, facts: Facts) -> Expression:
    return bool(facts[atom]) if atom in facts else atom


def _value(operand: Operand, facts: Facts) -> Operand | None:
    return facts.get(operand, operand) if isinstance(operand, Attribute) else operand


def _compared(symbol: str, left: Operand | None, right: Operand | None) -> Expression:
    if left is None or right is None:
        return False
    if isinstance(left, Attribute):
        return Comparison(symbol, left, right)
    if isinstance(right, Attribute):
        return Comparison(MIRRORED[symbol], right, left)
    return COMPARE[symbol](left, right)
