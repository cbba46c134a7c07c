"""Expressions as Python functions, which decide as fast as the comparisons that they are made of.

Each function takes (principal, object, environment, shared) and answers True or False. A missing value is
None, and a comparison with it is false.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from operator import attrgetter
from typing import Any

from ..syntax.addresses import within
from ..syntax.attributes import is_of_login
from ..syntax.durations import ago
from ..syntax.expression import (
    COMPARE,
    Ago,
    Atom,
    Attribute,
    Comparison,
    Expression,
    FunctionCall,
    GroupOfCaller,
    InGroup,
    Parameter,
    PluginCall,
    Prefixed,
    Shared,
    attributes,
    fold,
    reads_object,
)
from ..syntax.vocabulary import Function
from .plan import Plan
from .principal import Principal

Row = Mapping[str, Any]
SharedWith = Callable[[Principal, Row, str], bool]
Test = Callable[[Principal, Row, Any, SharedWith], bool]
Picker = Callable[[Principal, Any], Callable[[Row], bool]]


class FunctionFailed(Exception):
    """A function of a plugin raises, or answers what is no answer: nothing is decided by it."""


class _NoObject(dict[str, Any]):
    """The object of a request that has none: every column is missing."""

    def __missing__(self, column: str) -> None:
        return None


NO_OBJECT: Row = _NoObject()


def no_shares(principal: Principal, row: Row, permission: str) -> bool:
    """The `SharedWith` of a service without shares."""
    return False


def compiled(expression: Expression, permission: str) -> Test:
    """The function that answers `expression` for this permission."""
    return fold(expression, partial(_atom, permission), _both, either, _opposite)


def _atom(permission: str, atom: Atom | bool) -> Test:
    match atom:
        case bool():
            return _always if atom else _never
        case Comparison():
            return _comparison(atom)
        case FunctionCall("ipMatch", (Attribute(), str(network))):
            return lambda s, o, e, x: within(e.ip, network)
        case Shared():
            return lambda s, o, e, shared: o is not NO_OBJECT and shared(s, o, permission)
        case InGroup(group):
            return _in_group(group)
        case PluginCall():
            return _of_plugin(atom)
    raise TypeError(f"{atom} is not folded")


def _opposite(inner: Test) -> Test:
    return lambda s, o, e, x: not inner(s, o, e, x)


def either(tests: list[Test]) -> Test:
    """The function that is true when one of these is."""
    if len(tests) < 2:
        return tests[0] if tests else _never
    if len(tests) == 2:
        one, two = tests
        return lambda s, o, e, x: one(s, o, e, x) or two(s, o, e, x)
    if len(tests) == 3:
        one, two, three = tests
        return lambda s, o, e, x: one(s, o, e, x) or two(s, o, e, x) or three(s, o, e, x)
    return _halved(tests, either)


def picking(plan: Plan) -> Picker:
    """The function that is true for the rows that a plan without shares picks, for a caller in an environment.

    It reads no column but `plan.columns`. Rows of one's own are the common case: the caller's id is read once.
    """
    match plan.allows, plan.denies:
        case ((Comparison("==", Attribute("obj", column), Attribute("sub") as other),), ()):
            read = value_of(other)

            def equal(principal: Principal, env: Any) -> Callable[[Row], bool]:
                value = read(principal, NO_OBJECT, env)
                return lambda row: value is not None and row[column] == value

            return equal
    test = _picked(plan)
    return lambda principal, env: lambda row: test(principal, row, env, no_shares)


def _picked(plan: Plan) -> Test:
    allow = _always if plan.allows is None else either([compiled(one, plan.permission) for one in plan.allows])
    if not plan.denies:
        return allow
    deny = either([compiled(one, plan.permission) for one in plan.denies])
    return lambda s, o, e, x: allow(s, o, e, x) and not deny(s, o, e, x)


def _both(tests: list[Test]) -> Test:
    if len(tests) == 1:
        return tests[0]
    if len(tests) == 2:
        one, two = tests
        return lambda s, o, e, x: one(s, o, e, x) and two(s, o, e, x)
    if len(tests) == 3:
        one, two, three = tests
        return lambda s, o, e, x: one(s, o, e, x) and two(s, o, e, x) and three(s, o, e, x)
    return _halved(tests, _both)


def _halved(tests: list[Test], join: Callable[[list[Test]], Test]) -> Test:
    """The tests joined in halves, so that the depth of calls grows with the logarithm of their number."""
    middle = len(tests) // 2
    return join([join(tests[:middle]), join(tests[middle:])])


def _always(s: Principal, o: Row, e: Any, x: SharedWith) -> bool:
    return True


def _never(s: Principal, o: Row, e: Any, x: SharedWith) -> bool:
    return False


def value_of(attribute: Parameter) -> Callable[[Principal, Row, Any], Any]:
    """The function that reads an attribute, or a time before now, from (principal, object, environment).

    A group raises IndexError for a caller of fewer: the plan knows how many there are.
    """
    if isinstance(attribute, GroupOfCaller):
        place, prefix = attribute.place, attribute.prefix
        if prefix:
            length = len(prefix)
            return lambda s, o, e: s.groups[place][length:] if s.groups[place].startswith(prefix) else None
        return lambda s, o, e: s.groups[place]
    if isinstance(attribute, Ago):
        seconds = attribute.seconds
        return lambda s, o, e: ago(e.now, seconds)
    name, read = attribute.name, attrgetter(attribute.name)
    if is_of_login(attribute):
        return lambda s, o, e: s.login[name]
    if attribute.root == "sub":
        return lambda s, o, e: read(s)
    if attribute.root == "obj":
        return lambda s, o, e: o[name]
    return lambda s, o, e: read(e)


def _comparison(comparison: Comparison) -> Test:
    left, right = comparison.left, comparison.right
    if not isinstance(left, Attribute):
        raise TypeError(f"{comparison} has no attribute on the left")
    if comparison.operator == "==" and left.root == "obj":
        column = left.name
        if isinstance(right, str | int):
            return lambda s, o, e, x: o[column] == right
        if isinstance(right, Attribute) and right.root == "sub" and not is_of_login(right):
            read = attrgetter(right.name)
            return lambda s, o, e, x: (value := o[column]) is not None and value == read(s)
    compare, first = COMPARE[comparison.operator], value_of(left)
    if isinstance(right, str | int):
        return lambda s, o, e, x: (a := first(s, o, e)) is not None and compare(a, right)
    if not isinstance(right, Attribute | Ago):
        raise TypeError(f"{comparison} is not folded")
    second = value_of(right)
    return lambda s, o, e, x: (a := first(s, o, e)) is not None and (b := second(s, o, e)) is not None and compare(a, b)


def _in_group(group: Attribute | Prefixed | str) -> Test:
    if isinstance(group, str):
        return lambda s, o, e, x: group in s.groups
    if isinstance(group, Prefixed):
        prefix, column = group.prefix, value_of(group.attribute)
        return lambda s, o, e, x: (name := column(s, o, e)) is not None and f"{prefix}{name}" in s.groups
    read = value_of(group)
    return lambda s, o, e, x: (name := read(s, o, e)) is not None and name in s.groups


def _of_plugin(call: PluginCall) -> Test:
    """The answer of the Python half; never True about an object that does not exist."""
    function, literals = call.function, call.literals
    readers, asks_object = [value_of(attribute) for attribute in attributes(call)], reads_object(call)

    def test(s: Principal, o: Row, e: Any, x: SharedWith) -> bool:
        if asks_object and o is NO_OBJECT:
            return False
        return held(function, [read(s, o, e) for read in readers], literals)

    return test


def held(function: Function, values: Iterable[object], literals: Iterable[str | int]) -> bool:
    """The answer of a function for these values of the attributes that it reads. Raises FunctionFailed."""
    try:
        answer = function.holds(*values, *literals)
    except Exception as error:
        raise FunctionFailed(f"the function {function.name} of a plugin fails: {error!r}") from error
    if not isinstance(answer, bool):  # what is true to Python may have been meant otherwise
        raise FunctionFailed(f"the function {function.name} of a plugin answers {type(answer).__name__}, not bool")
    return answer
