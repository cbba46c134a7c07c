"""A plan as SQL. Each alternative that allows is one expression, so that each can use an index of its own."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, cast

import peewee as pw

from ..syntax.expression import (
    COMPARE,
    AllOf,
    AnyOf,
    Attribute,
    Comparison,
    Expression,
    GroupOfCaller,
    InGroup,
    Negation,
    Operand,
    Parameter,
    PluginCall,
    Prefixed,
    Shared,
    attributes,
    conjunction,
    conjuncts,
    text,
)
from .compiled import FunctionFailed
from .plan import MOST_BRANCHES, NEVER, Plan

Columns = Mapping[str, pw.Node]
Parameters = Callable[[Parameter], pw.Node]


@dataclass(frozen=True, slots=True, eq=False)
class Where:
    """Rows that one of `allows` picks (None: every row) and that pass all of `denies`. Empty `allows` pick no row.

    Hashed by identity, as a key of the SQL that is made of it.

    by_id  for each of `allows`, true if it names rows by id, such as those that are shared: few rows, to look up
    """

    allows: tuple[pw.Expression, ...] | None
    denies: tuple[pw.Node, ...] = ()
    by_id: tuple[bool, ...] = ()

    @property
    def is_everything(self) -> bool:
        """True if no row is left out."""
        return self.allows is None and not self.denies

    def expression(self) -> pw.Expression:
        """All of it as one condition, for a place that needs no index of its own."""
        allowed = pw.SQL("1 = 1") if self.allows is None else reduce(operator.or_, self.allows or (no_row(),))
        return cast(pw.Expression, reduce(operator.and_, self.denies, allowed))


def no_row() -> pw.Expression:
    """A condition that no row satisfies."""
    return cast(pw.Expression, pw.SQL("1 = 0"))


def where(plan: Plan, columns: Columns, parameter: Parameters, shared: Callable[[], pw.Node],
          indexed: Collection[str] = ()) -> Where:
    """Turn a plan into expressions over `columns`.

    `parameter(Attribute("sub", "id"))` gives the value of r.sub.id, as a literal or to be bound later; `shared()` the
    rows that a share gives; `indexed` are the columns that an index begins with. A missing value matches no allow, and
    no deny: `(…) IS NOT TRUE` keeps its row.
    """
    if plan.outcome is NEVER:
        return Where(())
    writer = _OfCaller(columns, parameter, shared, plan.groups)
    denies = tuple(not_true(writer.expression(deny)) for deny in plan.denies)
    if plan.allows is None:
        return Where(None, denies)
    alternatives = _alternatives(plan.allows, plan.groups, indexed)
    return Where(tuple(map(writer.expression, alternatives)), denies, tuple(map(_is_shared, alternatives)))


def _alternatives(allows: tuple[Expression, ...], groups: int, indexed: Collection[str]) -> tuple[Expression, ...]:
    """The branches of a list: one for each group of the caller where an index begins with the column that names the
    group, if that stays short."""
    split = tuple(one for allow in allows for one in _by_group(allow, groups, indexed))
    return split if len(split) <= MOST_BRANCHES else allows


def _is_shared(allow: Expression) -> bool:
    return any(isinstance(part, Shared) for part in (allow.parts if isinstance(allow, AllOf) else (allow,)))


def _by_group(allow: Expression, groups: int, indexed: Collection[str]) -> Iterator[Expression]:
    parts = conjuncts(allow)
    for part in parts:
        if isinstance(part, InGroup) and part.column is not None and part.column.name in indexed:
            rest = [one for one in parts if one is not part]
            yield from (conjunction((Comparison("==", part.column, GroupOfCaller(place, part.prefix)), *rest))
                        for place in range(groups))
            return
    yield allow


def _joined(join: Callable[[Any, Any], Any], parts: Sequence[Any]) -> Any:
    """The parts joined in halves: databases, and what writes their SQL, bound how deep brackets may go."""
    if len(parts) == 1:
        return parts[0]
    middle = (len(parts) + 1) // 2
    return join(_joined(join, parts[:middle]), _joined(join, parts[middle:]))


def not_true(expression: pw.Node) -> pw.Node:
    """The condition that an expression is false or unknown. A comparison with a missing value does not hold."""
    return pw.NodeList((pw.EnclosedNodeList([expression]), pw.SQL("IS NOT TRUE")))


class Writer(ABC):
    """Writes expressions over the columns of a table; what callers are known by is up to who derives from it."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    @abstractmethod
    def parameter(self, operand: Parameter) -> pw.Node:
        """An attribute of the caller or of the environment, or a time before now."""

    @abstractmethod
    def shared(self, atom: Shared) -> pw.Node:
        """The condition that the row is shared with the caller."""

    @abstractmethod
    def in_group(self, name: Attribute | Prefixed | str) -> pw.Node:
        """The condition that the caller is in a group."""

    def expression(self, expression: Expression) -> Any:
        """The SQL of an expression, true where it holds and false or unknown where it does not."""
        match expression:
            case Comparison():
                return self.comparison(expression)
            case Shared():
                return self.shared(expression)
            case InGroup(name):
                return self.in_group(name)
            case PluginCall():
                return self.of_plugin(expression)
            case Negation(part):
                return not_true(self.expression(part))
            case AllOf(parts):
                return _joined(operator.and_, [self.expression(part) for part in parts])
            case AnyOf(parts):
                return _joined(operator.or_, [self.expression(part) for part in parts])
        raise TypeError(f"{text(expression)} has no SQL; it should have been answered before")

    def comparison(self, atom: Comparison) -> Any:
        return COMPARE[atom.operator](self.operand(atom.left), self.operand(atom.right))

    def of_plugin(self, call: PluginCall) -> pw.Node:
        """The SQL half of a function, in brackets of its own, whatever operators are in it."""
        half, name = call.function.where, call.function.name
        try:
            fragment = None if half is None else half(*map(self.operand, attributes(call)), *call.literals)
        except Exception as error:
            raise FunctionFailed(f"the function {name} of a plugin fails in `where`: {error!r}") from error
        if not isinstance(fragment, pw.ColumnBase):
            raise FunctionFailed(f"the function {name} of a plugin gives {type(fragment).__name__} in `where`, not SQL")
        return pw.EnclosedNodeList([fragment])

    def operand(self, operand: Operand) -> Any:
        if isinstance(operand, Attribute) and operand.root == "obj":
            return self._columns[operand.name]
        return self.parameter(operand) if isinstance(operand, Parameter) else operand


def of_function(call: PluginCall, columns: Columns) -> pw.Node:
    """The SQL half of a function over `columns`, for an unknown caller. Raises FunctionFailed."""
    return _OfCaller(columns, lambda _: pw.Value(None, converter=False), lambda: pw.SQL("FALSE"), 0).of_plugin(call)


class _OfCaller(Writer):
    """SQL for one known caller: it contains only what reads the object."""

    def __init__(self, columns: Columns, parameter: Parameters, shared: Callable[[], pw.Node], groups: int) -> None:
        super().__init__(columns)
        self._parameter, self._shared, self._groups = parameter, shared, groups

    def parameter(self, operand: Parameter) -> pw.Node:
        return self._parameter(operand)

    def shared(self, atom: Shared) -> pw.Node:
        return self._shared()

    def in_group(self, name: Attribute | Prefixed | str) -> pw.Node:
        prefix, column = (name.prefix, name.attribute) if isinstance(name, Prefixed) else ("", name)
        groups = [self._parameter(GroupOfCaller(place, prefix)) for place in range(self._groups)]
        return cast(pw.Node, self.operand(column).in_(groups))
