"""An expression with some of what it reads replaced by values, and simplified.

What an expression reads are its *inputs*: attributes, and atoms that no attribute settles, such as `shared(…)`, whether
the caller is in a group, and the answer of a plugin's function.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from ..syntax.addresses import within
from ..syntax.expression import (
    COMPARE,
    MIRRORED,
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
        case InGroup(Attribute() as group):
            return (group,)
    return (atom,)


def put(expression: Expression, facts: Facts) -> Expression:
    """Returns the expression with these values for these inputs, simplified."""
    return rebuild(expression, lambda atom: _put(atom, facts))


def _put(atom: Atom, facts: Facts) -> Expression:
    match atom:
        case Comparison(symbol, left, right):
            if left in facts or right in facts:
                return _compared(symbol, _value(left, facts), _value(right, facts))
        case FunctionCall("ipMatch", (Attribute() as address, str(network))):
            if address in facts:
                value = facts[address]
                return within(None if value is None else str(value), network)
        case InGroup(group):
            named = facts.get(group, group) if isinstance(group, Attribute) else group
            if named is None:
                return False
            return _answered(atom if isinstance(named, Attribute) else InGroup(str(named)), facts)
        case Shared() | FunctionCall() | PluginCall():
            return _answered(atom, facts)
    return atom


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
