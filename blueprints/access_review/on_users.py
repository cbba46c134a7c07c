"""Conditions on callers as SQL over the table of users."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import peewee as pw

from models.base import is_id
from models.records.columns import IdField
from models.tables.audience import among, in_a_group, in_group
from models.tables.user import User
from policies.evaluation.sql import Writer
from policies.syntax.expression import (
    COMPARE,
    GROUPS,
    ID,
    KEY,
    Attribute,
    Comparison,
    Expression,
    GroupOfCaller,
    Shared,
    conjuncts,
    disjunction,
    disjuncts,
)

_PREFIX = "user:"


class OnUsers(Writer):
    """Writes what looks at the caller alone."""

    def __init__(self, dialect: str) -> None:
        super().__init__({})
        self._dialect = dialect

    def expression(self, expression: Expression) -> Any:
        ids = [id for id in map(named, disjuncts(expression)) if id is not None]
        if len(ids) < 2:
            return super().expression(expression)
        rest = disjunction(part for part in disjuncts(expression) if named(part) is None)
        users = self.among(ids)
        return users if rest is False else pw.Expression(users, "OR", super().expression(rest))

    def among(self, ids: Iterable[str]) -> pw.Node:
        """The condition that the user is one of these."""
        return among(self._dialect, User, [*ids])

    def comparison(self, asked: Comparison) -> Any:
        if asked.left == GROUPS:
            return in_a_group(User)
        if (id := named(asked)) is not None:
            return User.id == id
        left, right = self.operand(asked.left), self.operand(asked.right)
        if _is_id(left) is not _is_id(right):
            # An id is compared with a text that may be none: Postgres would refuse that.
            left, right = (one.cast("text") if _is_id(one) else pw.Value(one, converter=False)
                           if isinstance(one, str) else one for one in (left, right))
        return COMPARE[asked.operator](left, right)

    def parameter(self, operand: Attribute | GroupOfCaller) -> pw.Node:
        assert isinstance(operand, Attribute), "the groups of callers are asked for by name"
        if operand == KEY:
            return pw.Expression(pw.Value(_PREFIX, converter=False), pw.OP.CONCAT, User.id.cast("text"))
        return cast(pw.Node, getattr(User, operand.name))

    def shared(self, asked: Shared) -> pw.Node:
        raise TypeError("with whom an object is shared is known before")

    def in_group(self, name: Attribute | str) -> pw.Node:
        value = pw.Value(name, converter=False) if isinstance(name, str) else self.operand(name)
        return in_group(self._dialect, User, value)


def named(expression: Expression) -> str | None:
    """The id of the one user whom a comparison names."""
    match expression:
        case Comparison("==", left, str(name)) if left == ID or (left == KEY and name.startswith(_PREFIX)):
            id = name.removeprefix(_PREFIX)
            return id if is_id(id) else None
    return None


def names_one(expression: Expression) -> bool:
    """True if an alternative is about certain users: these are looked up."""
    return any(named(part) is not None for part in conjuncts(expression))


def _is_id(operand: Any) -> bool:
    return isinstance(operand, IdField)
