"""Facts in words: what a condition asked, what was found, and what it should have been.

"owner_id is 7, the caller's id is 9": an administrator who reads no code sees which fact was missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..evaluation.rule_trace import Fact
from ..syntax.attributes import as_written, in_words
from ..syntax.expression import (
    Attribute,
    Comparison,
    FunctionCall,
    InGroup,
    Operand,
    PluginCall,
    Shared,
    attributes,
    reads_object,
)

_MUST = {
    "==": "must be", "!=": "must not be", "<": "must be less than", "<=": "must be at most",
    ">": "must be more than", ">=": "must be at least",
}
_IS = {"!=": "not", "<": "less than", "<=": "at most", ">": "more than", ">=": "at least"}


Called = Callable[[str, str, object], str]
"""What a value is called, such as the name of the user whose id it is: by its root (`obj`), attribute and value; ""
where it has no name, or none that may be told."""


def nameless(root: str, attribute: str, value: object) -> str:
    """`Called` where no name is at hand."""
    return ""


def found(fact: Fact, permission: str, called: Called = nameless) -> str:
    """What was found, and if it does not do, what was wanted."""
    match fact.atom:
        case Comparison(operator, Attribute() as left, Attribute() as right):
            missing = _value(fact, right) is None
            other = f"{_name(right)}, {'which is missing' if missing else _shown(fact, right, called)}"
            if fact.holds and operator == "==":
                return f"{_stated(fact, left, called)}, {_name(right)}"
            return f"{_stated(fact, left, called)}, {_MUST[operator] if not fact.holds else _IS[operator]} {other}"
        case Comparison(operator, Attribute() as left, right):
            wanted = "" if fact.holds else f", {_MUST[operator]} {right}"
            return f"{_stated(fact, left, called)}{wanted}"
        case FunctionCall("ipMatch", (Attribute() as address, network)):
            return f"{_stated(fact, address, called)}, which is {'' if fact.holds else 'not '}in {network}"
        case InGroup(Attribute() as group):
            member = "which is a group of the caller" if fact.holds else "must be a group of the caller"
            return f"{_stated(fact, group, called)}, {member}"
        case InGroup(group):
            return f"the caller is {'' if fact.holds else 'not '}in the group {group}"
        case Shared():
            return f"it is {'' if fact.holds else 'not '}shared with the caller for {_action(permission)}"
        case PluginCall():
            read = ", ".join(_stated(fact, attribute, called) for attribute in attributes(fact.atom))
            return f"{fact.text} {'holds' if fact.holds else 'does not hold'}: {read}"
    return fact.text


def asked(fact: Fact, permission: str) -> str:
    """What a condition asks of an object, when the question names none."""
    match fact.atom:
        case Comparison(operator, left, right):
            return f"{_name(left)} {_MUST[operator]} {_name(right)}"
        case InGroup(group):
            return f"the caller must be in the group {group}" if isinstance(group, str) else \
                f"{_name(group)} must be a group of the caller"
        case Shared():
            return f"it must be shared with the caller for {_action(permission)}"
        case PluginCall():
            return f"{fact.text} must hold"
    return fact.text


def alternatives(told: Iterable[Fact]) -> list[Fact]:
    """The facts, those that compare one attribute with several literals as a single one: the literal that was found, or
    all of them, "draft or in_review". An attribute has one value, so that no condition asks for two of them."""
    groups: dict[object, list[Fact]] = {}
    for fact in told:
        match fact.atom:
            case Comparison("==", Attribute() as left, str() | int()):
                groups.setdefault(left, []).append(fact)
            case atom:
                groups.setdefault(atom, []).append(fact)
    return [next((fact for fact in group if fact.holds), None) or _any_of(group) for group in groups.values()]


def _any_of(group: list[Fact]) -> Fact:
    first = group[0]
    if len(group) == 1 or not isinstance(first.atom, Comparison):
        return first
    literals = " or ".join(str(fact.atom.right) for fact in group if isinstance(fact.atom, Comparison))
    spelling = " || ".join(fact.text for fact in group)
    return Fact(Comparison("==", first.atom.left, literals), spelling, first.values, first.holds)


def depends(fact: Fact) -> bool:
    """Whether the fact can differ from one object to the next."""
    return reads_object(fact.atom)


def _stated(fact: Fact, attribute: Attribute, called: Called) -> str:
    missing = _value(fact, attribute) is None
    return f"{_name(attribute)} is {'missing' if missing else _shown(fact, attribute, called)}"


def _shown(fact: Fact, attribute: Attribute, called: Called) -> str:
    value = _value(fact, attribute)
    name = called(attribute.root, attribute.name, value)
    return f"{as_written(value)} ({name})" if name else as_written(value)


def _value(fact: Fact, attribute: Attribute) -> object:
    return fact.values.get(str(attribute))


def _name(operand: Operand) -> str:
    if not isinstance(operand, Attribute):
        return str(operand)
    return in_words(operand)


def _action(permission: str) -> str:
    return permission.partition(".")[2]
