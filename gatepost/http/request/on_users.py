"""Conditions on callers as SQL over users: one statement evaluates them for every user.

For one known caller, `policies.evaluation.sql.where` writes a plan with Binds instead. That SQL has no table of users,
and groups are values of the caller.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, cast

import peewee as pw

from models.base import is_id
from models.records.columns import IdField
from models.tables.audience import Users
from policies.evaluation.sql import Writer
from policies.syntax.expression import (
    COMPARE,
    GROUPS,
    ID,
    KEY,
    Attribute,
    Comparison,
    Expression,
    Parameter,
    Prefixed,
    Shared,
    conjuncts,
    disjunction,
    disjuncts,
)

_PREFIX = "user:"


class OnUsers(Writer):
    """Writes conditions whose caller is a row of `users`; `columns` are the columns of the object."""

    def __init__(self, users: Users, columns: Mapping[str, pw.Node] = MappingProxyType({})) -> None:
        super().__init__(columns)
        self._users = users

    def expression(self, expression: Expression) -> Any:
        ids = [id for id in map(named_user, disjuncts(expression)) if id is not None]
        if len(ids) < 2:
            return super().expression(expression)
        others = disjunction(part for part in disjuncts(expression) if named_user(part) is None)
        users = self._users.among(ids)
        return users if others is False else pw.Expression(users, "OR", super().expression(others))

    def comparison(self, condition: Comparison) -> Any:
        """Compares an id as text with a value that may not be an id: Postgres does not compare different types."""
        if condition.left == GROUPS:
            return self._users.in_a_group()
        if (id := named_user(condition)) is not None:
            return self._users.table.id == id
        left, right = self.operand(condition.left), self.operand(condition.right)
        if _is_id(left) is not _is_id(right):
            left, right = _as_text(left), _as_text(right)
        return COMPARE[condition.operator](left, right)

    def parameter(self, operand: Parameter) -> pw.Node:
        assert isinstance(operand, Attribute), "the groups of callers are asked for by name"
        return self._users.key if operand == KEY else cast(pw.Node, getattr(self._users.table, operand.name))

    def shared(self, condition: Shared) -> pw.Node:
        raise TypeError("with whom an object is shared is known before")

    def in_group(self, name: Attribute | Prefixed | str) -> pw.Node:
        if isinstance(name, Prefixed):
            if name.attribute == GROUPS:
                return self._users.in_a_group(name.prefix)
            return self._users.in_group(self.group_name(name))
        return self._users.in_group(pw.Value(name, converter=False) if isinstance(name, str) else self.operand(name))

    def group_name(self, name: Attribute | Prefixed) -> pw.Node:
        """Returns the name of a group that a column has, or ends."""
        if isinstance(name, Attribute):
            return cast(pw.Node, self.operand(name))
        joined = pw.Expression(pw.Value(name.prefix, converter=False), pw.OP.CONCAT, self.operand(name.attribute))
        return pw.EnclosedNodeList([joined])


def named_user(expression: Expression) -> str | None:
    """Returns the id of the user whom a comparison names, or None."""
    match expression:
        case Comparison("==", left, str(name)) if left == ID or (left == KEY and name.startswith(_PREFIX)):
            id = name.removeprefix(_PREFIX)
            return id if is_id(id) else None
    return None


def names_one(expression: Expression) -> bool:
    """True if an alternative names a user, who can be looked up."""
    return any(named_user(part) is not None for part in conjuncts(expression))


def _is_id(operand: Any) -> bool:
    value = operand.value if isinstance(operand, pw.Value) else operand
    return _is_id_column(operand) or (isinstance(value, str) and is_id(value))


def _is_id_column(operand: Any) -> bool:
    return isinstance(operand.field if isinstance(operand, pw.FieldAlias) else operand, IdField)


def _as_text(operand: Any) -> Any:
    if _is_id_column(operand):
        return operand.cast("text")
    return pw.Value(operand, converter=False) if isinstance(operand, str) else operand
