"""Facts in words: the attribute that a condition reads, its value, and the required value.

"owner_id is 7, the caller's id is 9": an administrator who reads no code sees which fact was missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..evaluation.rule_trace import Fact
from ..syntax.attributes import as_written, in_words
from ..syntax.durations import parts_of
from ..syntax.expression import (
    Ago,
    Attribute,
    Comparison,
    FunctionCall,
    InGroup,
    Operand,
    PluginCall,
    Prefixed,
    Shared,
    attributes,
    reads_object,
)
from ..wording.message import Message, any_of, together

_MUST = {
    "==": Message("{name} must be {wanted}"), "!=": Message("{name} must not be {wanted}"),
    "<": Message("{name} must be less than {wanted}"), "<=": Message("{name} must be at most {wanted}"),
    ">": Message("{name} must be more than {wanted}"), ">=": Message("{name} must be at least {wanted}"),
}
# The value and the required one, and the value and another attribute.
_UNMET = {
    "==": Message("{found}, must be {wanted}"), "!=": Message("{found}, must not be {wanted}"),
    "<": Message("{found}, must be less than {wanted}"), "<=": Message("{found}, must be at most {wanted}"),
    ">": Message("{found}, must be more than {wanted}"), ">=": Message("{found}, must be at least {wanted}"),
}
_MET = {
    "!=": Message("{found}, not {wanted}"),
    "<": Message("{found}, less than {wanted}"), "<=": Message("{found}, at most {wanted}"),
    ">": Message("{found}, more than {wanted}"), ">=": Message("{found}, at least {wanted}"),
}

# Of `<` and `>` before an `Ago`.
_MUST_AGE = {"<": Message("{name} must be more than {duration} ago"),
             ">": Message("{name} must be less than {duration} ago")}
_NOT_AGED = {"<": Message("{found}, must be more than {duration} ago"),
             ">": Message("{found}, must be less than {duration} ago")}
_AGED = {"<": Message("{found}, more than {duration} ago"), ">": Message("{found}, less than {duration} ago")}
_ONE = {"D": Message("1 day"), "H": Message("1 hour"), "M": Message("1 minute"), "S": Message("1 second")}
_SEVERAL = {"D": Message("{number} days"), "H": Message("{number} hours"), "M": Message("{number} minutes"),
            "S": Message("{number} seconds")}

Called = Callable[[str, str, object], str]
"""Returns the name of a value, such as that of the user with this id, by its root (`obj`), attribute and value; "" if
it has no name, or none that the caller may see."""


def nameless(root: str, attribute: str, value: object) -> str:
    """`Called` where no name is at hand."""
    return ""


def found(fact: Fact, permission: str, called: Called = nameless) -> str:
    """Describes the value that was read and, if the fact does not hold, the value that the condition requires."""
    holds = fact.holds
    match fact.atom:
        case Comparison("==", Attribute() as left, right) if left == right:
            return _stated(fact, left, called)
        case Comparison(operator, Attribute() as left, Attribute() as right):
            stated = _stated(fact, left, called)
            if holds and operator == "==":
                return Message("{found}, {name}", found=stated, name=_name(right))
            return (_MET if holds else _UNMET)[operator].format(found=stated, wanted=_compared(fact, right, called))
        case Comparison(operator, Attribute() as left, Ago(seconds)):
            return (_AGED if holds else _NOT_AGED)[operator].format(
                found=_stated(fact, left, called), duration=_duration(seconds))
        case Comparison(operator, Attribute() as left, right):
            stated = _stated(fact, left, called)
            return stated if holds else _UNMET[operator].format(found=stated, wanted=right)
        case FunctionCall("ipMatch", (Attribute() as address, network)):
            within = Message("{found}, which is in {network}") if holds else \
                Message("{found}, which is not in {network}")
            return within.format(found=_stated(fact, address, called), network=network)
        case InGroup(Prefixed(prefix, column)):
            if (name := _value(fact, column)) is None:
                return Message("{found}, and names no group", found=_stated(fact, column, called))
            member = Message("{found}, and the caller is in the group {group}") if holds else \
                Message("{found}, and the caller is not in the group {group}")
            return member.format(found=_stated(fact, column, called), group=f"{prefix}{name}")
        case InGroup(Attribute() as group):
            member = Message("{found}, which is a group of the caller") if holds else \
                Message("{found}, must be a group of the caller")
            return member.format(found=_stated(fact, group, called))
        case InGroup(group):
            member = Message("the caller is in the group {group}") if holds else \
                Message("the caller is not in the group {group}")
            return member.format(group=group)
        case Shared():
            shared = Message("it is shared with the caller for {action}") if holds else \
                Message("it is not shared with the caller for {action}")
            return shared.format(action=_action(permission))
        case PluginCall():
            read = together((_stated(fact, attribute, called) for attribute in attributes(fact.atom)),
                            by=Message("{first}, {other}"))
            answer = Message("{call} holds: {read}") if holds else Message("{call} does not hold: {read}")
            return answer.format(call=fact.text, read=read)
    return fact.text


def asked(fact: Fact, permission: str) -> str:
    """Describes what a condition requires of an object, for a question without an object."""
    match fact.atom:
        case Comparison(operator, left, Ago(seconds)):
            return _MUST_AGE[operator].format(name=_name(left), duration=_duration(seconds))
        case Comparison(operator, left, right):
            return _MUST[operator].format(name=_name(left), wanted=_name(right))
        case InGroup(Prefixed(prefix, column)):
            return Message("the caller must be in the group {prefix} and {name}", prefix=prefix, name=_name(column))
        case InGroup(Attribute() as group):
            return Message("{name} must be a group of the caller", name=_name(group))
        case InGroup(group):
            return Message("the caller must be in the group {group}", group=group)
        case Shared():
            return Message("it must be shared with the caller for {action}", action=_action(permission))
        case PluginCall():
            return Message("{call} must hold", call=fact.text)
    return fact.text


def _duration(seconds: int) -> str:
    """Describes a duration: "90 days", "1 day and 6 hours"."""
    parts = (_ONE[letter] if number == 1 else _SEVERAL[letter].format(number=number)
             for number, letter in parts_of(seconds))
    return together(parts, by=Message("{first} and {other}"))


def alternatives(facts: Iterable[Fact]) -> list[Fact]:
    """The facts, those that compare one attribute with several literals as a single one: the literal that was found, or
    all of them, "draft or in_review". An attribute has one value, so that no condition asks for two of them. That an
    attribute has a value is told by what it is compared with."""
    groups: dict[object, list[Fact]] = {}
    for fact in facts:
        match fact.atom:
            case Comparison("==", left, right) if left == right and fact.holds:
                pass
            case Comparison("==", Attribute() as left, str() | int()):
                groups.setdefault(left, []).append(fact)
            case atom:
                groups.setdefault(atom, []).append(fact)
    return [next((fact for fact in group if fact.holds), None) or _any_of(group) for group in groups.values()]


def _any_of(group: list[Fact]) -> Fact:
    first = group[0]
    if len(group) == 1 or not isinstance(first.atom, Comparison):
        return first
    rights = [str(fact.atom.right) for fact in group if isinstance(fact.atom, Comparison)]
    literals = any_of(rights)
    spelling = " || ".join(fact.text for fact in group)
    return Fact(Comparison("==", first.atom.left, literals), spelling, first.values, first.holds)


def depends(fact: Fact) -> bool:
    """True if the fact can differ from one object to the next."""
    return reads_object(fact.atom)


def _stated(fact: Fact, attribute: Attribute, called: Called) -> Message:
    if _value(fact, attribute) is None:
        return Message("{name} is missing", name=_name(attribute))
    return Message("{name} is {value}", name=_name(attribute), value=_shown(fact, attribute, called))


def _compared(fact: Fact, attribute: Attribute, called: Called) -> Message:
    if _value(fact, attribute) is None:
        return Message("{name}, which is missing", name=_name(attribute))
    return Message("{name}, {value}", name=_name(attribute), value=_shown(fact, attribute, called))


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
