"""What the lines about permissions look at, by whomever they are asked: the facts that decide."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..syntax.expression import Attribute, Expression, InGroup, Shared, atoms, attributes


@dataclass(frozen=True, slots=True)
class Reads:
    """Names of attributes, sorted.

    obj, sub, env  of the object, the caller and the environment
    groups         groups that a line names
    group_columns  columns of the object that name one
    shares         whether a line asks whom the object is shared with
    """

    obj: tuple[str, ...]
    sub: tuple[str, ...]
    env: tuple[str, ...]
    groups: tuple[str, ...]
    group_columns: tuple[str, ...]
    shares: bool


def reads_of(expressions: Iterable[Expression]) -> Reads:
    """What these conditions look at."""
    named: dict[str, set[str]] = {"obj": set(), "sub": set(), "env": set()}
    groups, columns, shares = set(), set(), False
    for atom in {atom for expression in expressions for atom in atoms(expression)}:
        shares = shares or isinstance(atom, Shared)
        for attribute in attributes(atom):
            named[attribute.root].add(attribute.name)
        match atom:
            case InGroup(Attribute(_, name)):
                columns.add(name)
            case InGroup(str(name)):
                groups.add(name)
    obj, sub, env, names, of_columns = (tuple(sorted(some)) for some in (*named.values(), groups, columns))
    return Reads(obj, sub, env, names, of_columns, shares)
