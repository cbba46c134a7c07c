"""A plan as SQL: each alternative that allows is one expression, so that each can use an index of its own."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import peewee as pw

from ..syntax.expression import (
    AllOf,
    AnyOf,
    Attribute,
    Comparison,
    Expression,
    GroupOfCaller,
    InGroup,
    Operand,
    PluginCall,
    Shared,
    attributes,
    conjunction,
    text,
)
from .compiled import FunctionFailed
from .fold import COMPARE
from .plan import MOST_BRANCHES, NEVER, Plan

Columns = Mapping[str, pw.Node]
Parameter = Callable[[Attribute | GroupOfCaller], pw.Node]


@dataclass(frozen=True, slots=True)
class Where:
    """Rows that one of `allows` picks (None: every row) and that pass all of `denies`, ANDed as they are.

    An empty `allows` picks no row.
    """

    allows: list[pw.Expression] | None
    denies: list[pw.Node]


def alternatives(plan: Plan, indexed: Collection[str]) -> tuple[Expression, ...]:
    """The alternatives that allow, of which each is a branch of a list: one for each group of the caller where an index
    begins with the column that names the group, if that stays short."""
    found = tuple(one for allow in plan.allows or () for one in _by_group(allow, plan.groups, indexed))
    return found if len(found) <= MOST_BRANCHES else plan.allows or ()


def where(plan: Plan, columns: Columns, parameter: Parameter, shared: Callable[[], pw.Node],
          indexed: Collection[str] = ()) -> Where:
    """Turn a plan into expressions over `columns`.

    `parameter(Attribute("sub", "id"))` gives the value of r.sub.id, as a literal or to be bound later; `shared()` the
    rows that a share gives; `indexed` are the columns that an index begins with. A missing value matches no allow, and
    no deny: `(…) IS NOT TRUE` keeps its row.
    """
    if plan.outcome is NEVER:
        return Where([], [])
    writer = _Writer(columns, parameter, shared, plan.groups)
    allows = None if plan.allows is None else [writer.expression(one) for one in alternatives(plan, indexed)]
    return Where(allows, [_not_true(writer.expression(deny)) for deny in plan.denies])


def _by_group(allow: Expression, groups: int, indexed: Collection[str]) -> Iterator[Expression]:
    parts = allow.parts if isinstance(allow, AllOf) else (allow,)
    for part in parts:
        if isinstance(part, InGroup) and isinstance(part.group, Attribute) and part.group.name in indexed:
            rest = [one for one in parts if one is not part]
            yield from (conjunction((Comparison("==", part.group, GroupOfCaller(place)), *rest))
                        for place in range(groups))
            return
    yield allow


def _joined(join: Callable[[Any, Any], Any], parts: Sequence[Any]) -> Any:
    """The parts joined in halves: databases, and what writes their SQL, bound how deep brackets may go."""
    if len(parts) == 1:
        return parts[0]
    middle = (len(parts) + 1) // 2
    return join(_joined(join, parts[:middle]), _joined(join, parts[middle:]))


def _not_true(expression: pw.Node) -> pw.Node:
    return pw.NodeList((pw.EnclosedNodeList([expression]), pw.SQL("IS NOT TRUE")))


@dataclass(frozen=True, slots=True)
class _Writer:
    columns: Columns
    parameter: Parameter
    shared: Callable[[], pw.Node]
    groups: int

    def expression(self, expression: Expression) -> Any:
        match expression:
            case Comparison(symbol, left, right):
                return COMPARE[symbol](self.operand(left), self.operand(right))
            case Shared():
                return self.shared()
            case InGroup(Attribute() as column):
                return self.operand(column).in_([self.operand(GroupOfCaller(place)) for place in range(self.groups)])
            case PluginCall():
                return self.of_plugin(expression)
            case AllOf(parts):
                return _joined(operator.and_, [self.expression(part) for part in parts])
            case AnyOf(parts):
                return _joined(operator.or_, [self.expression(part) for part in parts])
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
