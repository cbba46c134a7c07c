"""The types of what a condition compares: only what both databases and each Casbin compare alike."""

from __future__ import annotations

from dataclasses import replace

from ..syntax.attributes import ENVIRONMENT, TEXT, subject_of
from ..syntax.expression import (
    AGES,
    GROUPS,
    Ago,
    Attribute,
    Comparison,
    Expression,
    InGroup,
    Operand,
    Prefixed,
    attributes,
)
from ..syntax.matcher import GROUP
from ..syntax.roles import undeclared
from ..syntax.vocabulary import Column, Resource, Vocabulary, is_of
from ..wording.finding import quoted
from ..wording.suggestions import hint

EXAMPLES = {
    "uuid": "0199f3a0-0000-7000-8000-000000000001", "date": "2026-11-18", "date-time": "2026-11-18T10:30:00.000000Z",
}
KINDS = {str: "a text", int: "a number", bool: "a truth value"}
ORDERED = ("<", "<=", ">", ">=")


def wrong_atom(atom: Expression, resource: Resource | None, roles: frozenset[str], vocabulary: Vocabulary
               ) -> str | None:
    """Describes what is wrong with the types of an atom or with a role that it names; None if nothing is.

    Columns are checked if `resource` is not None. `roles` are those that the policy declares.
    """
    if isinstance(atom, InGroup) and atom.column is not None:
        return _wrong_group(atom.column, resource, vocabulary)
    if not isinstance(atom, Comparison) or not isinstance(atom.left, Attribute):
        return None
    if isinstance(atom.right, Prefixed):
        return wrong_parameter(atom.right, resource, vocabulary)
    typed: list[tuple[Attribute, Column]] = []
    for attribute in attributes(atom):
        column = _column(attribute, resource, vocabulary)
        if isinstance(column, str):
            return column
        if column is not None:
            typed.append((attribute, column))
    if len(typed) < len(attributes(atom)):
        return None
    first = typed[0][1]
    if isinstance(atom.right, Ago):
        return None if first.format == "date-time" else \
            f"{atom.left} is {_type(first)}; {AGES[atom.operator]} takes a time, such as r.obj.created_at"
    if isinstance(atom.right, Attribute):
        if not _alike(*typed[0], *typed[1]):
            return f"{atom.left} and {atom.right} are of different types"
    elif first.type is bool:
        return None if atom.operator == "==" and atom.right in (0, 1) and isinstance(atom.right, int) else \
            f"{atom.left} is {_type(first)}; write {atom.left} == 1, or == 0 for the opposite"
    elif first.format == "role" and isinstance(atom.right, str):
        if atom.right not in roles:
            return no_role(atom.right, roles)
    elif not _fits(atom.right, first):
        return f"{atom.left} is {_type(first)}; {atom.right!r} is not{_instead(atom.right, first)}"
    for attribute, column in typed if atom.operator in ORDERED else ():
        if column.type is not int and column.format not in ("date", "date-time"):
            return f"{attribute} is {_type(column)}, which has no order; only numbers and times do"
    return None


def wrong_parameter(named: Prefixed, resource: Resource | None, vocabulary: Vocabulary) -> str | None:
    """Describes what is wrong with the attribute after a condition's word; None if nothing is.

    A column is checked as in `wrong_atom`.
    """
    column = _column(named.attribute, resource, vocabulary)
    if column is None or isinstance(column, str):
        return column
    return None if column.type is str else f"{named.attribute} is {_type(column)}; a parameter is a text"


def no_role(name: str, roles: frozenset[str]) -> str:
    """Describes what is wrong with a text in the place of a role."""
    return f"{quoted(name)} is no role{undeclared(name, roles)}"


def _wrong_group(group: Attribute, resource: Resource | None, vocabulary: Vocabulary) -> str | None:
    if group.root != "obj":
        return None  # found among the lines that an older version accepted
    column = _column(group, resource, vocabulary)
    if column is None or isinstance(column, str):
        return column
    return None if column.type is str and column.format is None else f"{group} is {_type(column)}, and names no group"


def _fits(literal: Operand, column: Column) -> bool:
    return type(literal) is column.type and (column.format is None or is_of(column.format, str(literal)))


def _instead(literal: Operand, column: Column) -> str:
    """Suggests how to write a literal of the column's type."""
    if column.type is int:
        digits = str(literal).removeprefix("-")
        return f"; write {literal} without quotes" if digits.isdecimal() else "; write a whole number"
    example = EXAMPLES.get(column.format or "")
    return f"; write it like '{example}'" if example else f"; write '{literal}' in quotes"


def _alike(one: Attribute, left: Column, other: Attribute, right: Column) -> bool:
    """True if every database can compare the two values: a uuid with a uuid, a time with a time.

    A column of the object without a format compares with any value of its type. A role compares like any text.
    """
    if left.type is not right.type:
        return False
    left, right = (replace(column, format=None) if column.format == "role" else column for column in (left, right))
    objects = [column for attribute, column in ((one, left), (other, right)) if attribute.root == "obj"]
    return left.format == right.format or (len(objects) == 1 and objects[0].format is None)


def _column(attribute: Attribute, resource: Resource | None, vocabulary: Vocabulary) -> Column | str | None:
    """The type of an attribute, None when it is not known yet, or what is wrong with its name."""
    if attribute.root == "obj":
        return None if resource is None else resource.columns[attribute.name]
    if attribute.root in ("rule", "act", "scope"):
        return TEXT
    if attribute == GROUPS:
        return GROUP
    attributes_of = subject_of(vocabulary) if attribute.root == "sub" else ENVIRONMENT
    return attributes_of.get(attribute.name) or f"{attribute} is unknown{hint(attribute.name, attributes_of)}"


def _type(column: Column) -> str:
    return f"a {column.format}" if column.format else KINDS[column.type]
