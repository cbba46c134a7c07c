"""A plan as SQL: each alternative that allows is one expression, so that each can use an index of its own."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import peewee as pw

from ..syntax.expression import (
    AllOf,
    AnyOf,
    Attribute,
    Comparison,
    Expression,
    GroupOfCaller,
    Operand,
    PluginCall,
    Shared,
    attributes,
    text,
)
from .compiled import FunctionFailed
from .fold import COMPARE
from .plan import NEVER, Plan

Columns = Mapping[str, pw.Node]
Parameter = Callable[[Attribute | GroupOfCaller], pw.Node]


@dataclass(frozen=True, slots=True)
class Where:
    """Rows that one of `allows` picks (None: every row) and that pass all of `denies`, ANDed as they are.

    An empty `allows` picks no row.
    """

    allows: list[pw.Expression] | None
    denies: list[pw.Node]


def where(plan: Plan, columns: Columns, parameter: Parameter, shared: Callable[[], pw.Node]) -> Where:
    """Turn a plan into expressions over `columns`.

    `parameter(Attribute("sub", "id"))` gives the value of r.sub.id, as a literal or to be bound later; `shared()` the
    rows that a share gives. A missing value matches no allow, and no deny: `(…) IS NOT TRUE` keeps its row.
    """
    if plan.outcome is NEVER:
        return Where([], [])
    writer = _Writer(columns, parameter, shared)
    allows = None if plan.allows is None else [writer.expression(allow) for allow in plan.allows]
    return Where(allows, [_not_true(writer.expression(deny)) for deny in plan.denies])


def _not_true(expression: pw.Node) -> pw.Node:
    return pw.NodeList((pw.EnclosedNodeList([expression]), pw.SQL("IS NOT TRUE")))


@dataclass(frozen=True, slots=True)
class _Writer:
    columns: Columns
    parameter: Parameter
    shared: Callable[[], pw.Node]

    def expression(self, expression: Expression) -> Any:
        match expression:
            case Comparison(symbol, left, right):
                return COMPARE[symbol](self.operand(left), self.operand(right))
            case Shared():
                return self.shared()
            case PluginCall():
                return self.of_plugin(expression)
            case AllOf(parts):
                return reduce(operator.and_, map(self.expression, parts))
            case AnyOf(parts):
                return reduce(operator.or_, map(self.expression, parts))
        raise TypeError(f"{text(expression)} has no SQL; it should have been answered before")

    def of_plugin(self, call: PluginCall) -> pw.Node:
        """What the SQL half says, in brackets of its own, whatever operators are in it."""
        half, name = call.function.where, call.function.name
        try:
            found = None if half is None else half(*map(self.operand, attributes(call)), *call.literals)
        except Exception as error:
            raise FunctionFailed(f"the function {name} of a plugin fails in `where`: {error!r}") from error
        if not isinstance(found, pw.ColumnBase):
            raise FunctionFailed(f"the function {name} of a plugin gives {type(found).__name__} in `where`, not SQL")
        return pw.EnclosedNodeList([found])

    def operand(self, operand: Operand) -> Any:
        if isinstance(operand, Attribute) and operand.root == "obj":
            return self.columns[operand.name]
        return self.parameter(operand) if isinstance(operand, Attribute | GroupOfCaller) else operand
