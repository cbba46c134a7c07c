"""The expressions that are left of a matcher: a small tree, the same for Python, SQL and people.

An expression is True, False, an atom, or AllOf, AnyOf, Negation of expressions. An atom is a comparison or a call:
Casbin's own functions, `shared`, `inGroup`, those of plugins. An operand is an attribute, a text or a whole number.

`fold` turns an expression into a value, `rebuild` replaces its atoms, and `atoms`, `attributes` and `walk` list what is
in it. A function that treats atoms alone uses one of these, and does not recurse by itself.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar, TypeVar

from .vocabulary import Function

ROOTS = frozenset(("sub", "obj", "env"))  # what a request is made of, beside what is asked
# The operator that says the same with its sides exchanged.
MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Attribute:
    """`r.sub.id` is Attribute("sub", "id"), `p.when` Attribute("rule", "when"), `r.act` ("act", "")."""

    root: str
    name: str

    def __str__(self) -> str:
        if self.root == "rule":
            return f"p.{self.name}"
        return f"r.{self.root}.{self.name}" if self.name else f"r.{self.root}"


@dataclass(frozen=True, slots=True)
class Prefixed:
    """A text before an attribute: `'language:' + r.obj.language`, with which the condition column is compared to take a
    parameter out of it; or the group that `inGroup(r.sub, 'admin-', r.obj.department)` asks for."""

    prefix: str
    attribute: Attribute

    def __str__(self) -> str:
        return f"'{self.prefix}' + {self.attribute}"


@dataclass(frozen=True, slots=True)
class Ago:
    """The time that lies a duration before `r.env.now`: `olderThan(x, 'P90D')` compares `x` with it.

    duration  as model.conf writes it: `P2W` and `P14D` are equal
    """

    seconds: int
    duration: str = field(compare=False)

    @property
    def attribute(self) -> Attribute:
        return NOW

    def __str__(self) -> str:
        return f"{self.attribute} - {self.duration}"


@dataclass(frozen=True, slots=True)
class GroupOfCaller:
    """The group at one place among those of the caller: in SQL alone, where each is bound by itself.

    prefix  what the group must begin with; then it is the rest of the name
    """

    place: int
    prefix: str = ""

    def __str__(self) -> str:
        return f"r.sub.groups[{self.place}]{self.prefix and f' after {self.prefix}'}"


Operand = Attribute | Prefixed | Ago | GroupOfCaller | str | int
Parameter = Attribute | Ago | GroupOfCaller  # what SQL binds a value for


class _Hashed:
    """Caches the hash: expressions are the keys of many mappings."""

    __slots__ = ("_hash",)
    __match_args__: ClassVar[tuple[str, ...]]
    _hash: int

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            value = hash((type(self), *(getattr(self, name) for name in self.__match_args__)))
            object.__setattr__(self, "_hash", value)
            return value


@dataclass(frozen=True, slots=True)
class Comparison(_Hashed):
    """`left operator right`, with a literal always on the right. False whenever a side is missing.

    `olderThan(x, 'P90D')` is `x < Ago(…)`, and `youngerThan(x, 'P90D')` is `x > Ago(…)`.
    """

    operator: str
    left: Operand
    right: Operand
    __hash__ = _Hashed.__hash__


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """One of Casbin's own functions, or `g`."""

    function: str
    arguments: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Shared:
    """`shared(r.sub, r.obj, r.act)`: a share gives the caller this permission on the object."""


@dataclass(frozen=True, slots=True)
class InGroup:
    """`inGroup(r.sub, 'atlas')`, `inGroup(r.sub, r.obj.team)`: the caller belongs to the group, if it is named.

    `inGroup(r.sub, 'admin-', r.obj.team)` puts a text before the column. `Prefixed('admin-', GROUPS)`, which no matcher
    has, asks whether any group of the caller begins with it.
    """

    group: Attribute | Prefixed | str

    @property
    def column(self) -> Attribute | None:
        """The attribute that names the group, or the rest of it."""
        named = self.group.attribute if isinstance(self.group, Prefixed) else self.group
        return named if isinstance(named, Attribute) and named != GROUPS else None

    @property
    def prefix(self) -> str:
        return self.group.prefix if isinstance(self.group, Prefixed) else ""


@dataclass(frozen=True, slots=True)
class PluginCall:
    """`near(r.sub, r.obj, r.env, 'sea')`: a function that a plugin brings, with what follows the three."""

    function: Function
    literals: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class AllOf(_Hashed):
    parts: tuple[Expression, ...]
    __hash__ = _Hashed.__hash__


@dataclass(frozen=True, slots=True)
class AnyOf(_Hashed):
    parts: tuple[Expression, ...]
    __hash__ = _Hashed.__hash__


@dataclass(frozen=True, slots=True)
class Negation(_Hashed):
    part: Expression
    __hash__ = _Hashed.__hash__


Atom = Comparison | FunctionCall | Shared | InGroup | PluginCall
Expression = bool | Atom | AllOf | AnyOf | Negation

ID, KEY, ROLE, KIND, TENANT, DEPARTMENT, GROUPS = (
    Attribute("sub", name) for name in ("id", "key", "role", "kind", "tenant_id", "department", "groups"))
ADDRESS, NOW, EFFECT = Attribute("env", "ip"), Attribute("env", "now"), Attribute("rule", "eft")
AGES = {"<": "olderThan", ">": "youngerThan"}  # operator before an `Ago` → the function that says it


def conjunction(parts: Iterable[Expression]) -> Expression:
    """All of them, flattened, without repetition; True when there are none."""
    kept: dict[Expression, None] = {}
    for part in parts:
        if part is False:
            return False
        if isinstance(part, AllOf):
            kept.update(dict.fromkeys(part.parts))
        elif part is not True:
            kept[part] = None
    return _joined(AllOf, tuple(kept), True)


def disjunction(parts: Iterable[Expression]) -> Expression:
    """Any of them, flattened, without repetition; False when there are none."""
    kept: dict[Expression, None] = {}
    for part in parts:
        if part is True:
            return True
        if isinstance(part, AnyOf):
            kept.update(dict.fromkeys(part.parts))
        elif part is not False:
            kept[part] = None
    return _joined(AnyOf, tuple(kept), False)


def negation(part: Expression) -> Expression:
    """The opposite; `!` over `!` is nothing."""
    if isinstance(part, bool):
        return not part
    return part.part if isinstance(part, Negation) else Negation(part)


def conjuncts(expression: Expression) -> tuple[Expression, ...]:
    """The parts of an AllOf. True has none; another expression is its only part."""
    if isinstance(expression, AllOf):
        return expression.parts
    return () if expression is True else (expression,)


def disjuncts(expression: Expression) -> tuple[Expression, ...]:
    """The parts of an AnyOf. False has none; another expression is its only part."""
    if isinstance(expression, AnyOf):
        return expression.parts
    return () if expression is False else (expression,)


def fold(expression: Expression, leaf: Callable[[Atom | bool], T], all_of: Callable[[list[T]], T],
         any_of: Callable[[list[T]], T], opposite: Callable[[T], T]) -> T:
    """Turns an expression into a value: `leaf` gives that of an atom, the others join those of the parts."""
    match expression:
        case AllOf(parts):
            return all_of([fold(part, leaf, all_of, any_of, opposite) for part in parts])
        case AnyOf(parts):
            return any_of([fold(part, leaf, all_of, any_of, opposite) for part in parts])
        case Negation(part):
            return opposite(fold(part, leaf, all_of, any_of, opposite))
    return leaf(expression)


def rebuild(expression: Expression, leaf: Callable[[Atom], Expression],
            negated: Callable[[Atom], Expression] | None = None) -> Expression:
    """Replaces every atom by `leaf(atom)`, and simplifies. Below an odd number of negations it uses `negated`, if that
    is given."""
    match expression:
        case AllOf(parts):
            return conjunction(rebuild(part, leaf, negated) for part in parts)
        case AnyOf(parts):
            return disjunction(rebuild(part, leaf, negated) for part in parts)
        case Negation(part):
            return negation(rebuild(part, negated or leaf, leaf))
        case bool():
            return expression
    return leaf(expression)


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and every part of it, from left to right, a part before its own parts."""
    yield expression
    match expression:
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from walk(part)
        case Negation(part):
            yield from walk(part)


def atoms(expression: Expression) -> tuple[Atom, ...]:
    """Every comparison and call, from left to right."""
    match expression:
        case AllOf(parts) | AnyOf(parts):
            return tuple(chain.from_iterable(map(atoms, parts)))
        case Negation(part):
            return atoms(part)
        case bool():
            return ()
    return (expression,)


def attributes(expression: Expression) -> tuple[Attribute, ...]:
    """The attributes that an expression reads, from left to right, each as often as an atom reads it."""
    match expression:
        case Comparison(_, left, right):
            first, second = (side.attribute if isinstance(side, Prefixed | Ago) else side for side in (left, right))
            if isinstance(second, Attribute):
                return (first, second) if isinstance(first, Attribute) else (second,)
            return (first,) if isinstance(first, Attribute) else ()
        case FunctionCall(_, arguments):
            return tuple(argument for argument in arguments if isinstance(argument, Attribute))
        case InGroup():
            return (GROUPS,) if expression.column is None else (GROUPS, expression.column)
        case PluginCall(function):
            return tuple(Attribute(root, name) for root, name in function.reads)
        case Shared() | bool():
            return ()
    return tuple(chain.from_iterable(map(attributes, atoms(expression))))


def operands(atom: Atom) -> tuple[Operand, ...]:
    """The operands of a comparison or of one of Casbin's own functions."""
    match atom:
        case Comparison(_, left, right):
            return left, right
        case FunctionCall(_, arguments):
            return arguments
    return ()


def texts(expression: Expression) -> frozenset[str]:
    """The texts among the operands of an expression."""
    return frozenset(one for atom in atoms(expression) for one in operands(atom) if isinstance(one, str))


def groups(expression: Expression) -> frozenset[str]:
    """The groups that an expression names."""
    return frozenset(atom.group for atom in atoms(expression)
                     if isinstance(atom, InGroup) and isinstance(atom.group, str))


def reads_object(expression: Expression) -> bool:
    """True if the answer can differ from one object to the next."""
    return asks_shares(expression) or any(attribute.root == "obj" for attribute in attributes(expression))


def asks_shares(expression: Expression) -> bool:
    """True if the answer depends on whom the object is shared with."""
    return any(isinstance(atom, Shared) for atom in atoms(expression))


def columns(expression: Expression) -> frozenset[str]:
    """The columns of the object that an expression reads."""
    return frozenset(attribute.name for attribute in attributes(expression) if attribute.root == "obj")


def text(expression: Expression) -> str:
    """The expression as it would stand in model.conf."""
    match expression:
        case bool():
            return "always" if expression else "never"
        case Comparison(symbol, left, Ago(_, duration)):
            return f"{AGES[symbol]}({_operand(left)}, '{duration}')"
        case Comparison(symbol, left, right):
            return f"{_operand(left)} {symbol} {_operand(right)}"
        case FunctionCall(function, arguments):
            return f"{function}({', '.join(map(_operand, arguments))})"
        case Shared():
            return "shared(r.sub, r.obj, r.act)"
        case InGroup(Prefixed(prefix, attribute)):
            return f"inGroup(r.sub, '{prefix}', {attribute})"
        case InGroup(group):
            return f"inGroup(r.sub, {_operand(group)})"
        case PluginCall(function, literals):
            return f"{function.name}({', '.join(('r.sub', 'r.obj', 'r.env', *map(_operand, literals)))})"
        case Negation(part):
            return f"!({text(part)})"
        case AllOf(parts):
            return " && ".join(f"({text(part)})" if isinstance(part, AnyOf) else text(part) for part in parts)
        case AnyOf(parts):
            return " || ".join(text(part) for part in parts)


def _operand(operand: Operand) -> str:
    return f"'{operand}'" if isinstance(operand, str) else str(operand)


def _joined(kind: type[AllOf] | type[AnyOf], parts: tuple[Expression, ...], empty: bool) -> Expression:
    if not parts:
        return empty
    return parts[0] if len(parts) == 1 else kind(parts)
