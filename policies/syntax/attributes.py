"""Attributes of the caller and the environment that a condition may read, and those that it does read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from ..wording.message import Message
from .expression import GROUPS, Attribute, Expression, InGroup, Shared, atoms, attributes
from .vocabulary import Column, Vocabulary

TEXT, OPTIONAL_TEXT = Column(str, False), Column(str, True)
SUBJECT: Mapping[str, Column] = {
    "id": Column(str, True, "uuid", row_of="user"), "key": TEXT, "role": Column(str, False, "role"),
    "tenant_id": Column(str, False, "uuid", row_of="tenant"),
    "department": OPTIONAL_TEXT, "kind": Column(str, False, values=("guest", "user", "service")),
}
# What kind of request each method makes.
REQUESTS = {"GET": "read", "POST": "write", "HEAD": "read", "PUT": "write", "PATCH": "write", "DELETE": "write"}
ENVIRONMENT: Mapping[str, Column] = {
    "hour": Column(int, False, values=tuple(range(24))), "weekday": Column(int, False, values=tuple(range(1, 8))),
    "date": Column(str, False, "date"), "now": Column(str, False, "date-time"), "ip": OPTIONAL_TEXT,
    "device": Column(str, False, values=("desktop", "mobile", "tablet", "bot", "other")),
    "method": Column(str, False, values=tuple(REQUESTS)),
    "request": Column(str, False, values=("read", "write")),
}
WORDS = {
    ("sub", "id"): Message("the caller's id"),
    ("sub", "key"): Message("the caller"),
    ("sub", "role"): Message("the caller's role"),
    ("sub", "tenant_id"): Message("the caller's tenant"),
    ("sub", "department"): Message("the caller's department"),
    ("sub", "groups"): Message("the caller's groups"),
    ("sub", "kind"): Message("the kind of caller"),
    ("env", "hour"): Message("the hour"),
    ("env", "weekday"): Message("the weekday (1 is Monday)"),
    ("env", "date"): Message("the date"),
    ("env", "now"): Message("the time"),
    ("env", "ip"): Message("the caller's address"),
    ("env", "device"): Message("the device"),
    ("env", "method"): Message("the method"),
    ("env", "request"): Message("the kind of request"),
}


_OF_LOGIN = Message("the caller's {name}")


def subject_of(vocabulary: Vocabulary) -> Mapping[str, Column]:
    """Returns every attribute of the caller except `groups`: the built-in ones, and those that features declare."""
    return {**SUBJECT, **vocabulary.login} if vocabulary.login else SUBJECT


def is_of_login(attribute: Attribute) -> bool:
    """True for an attribute of the caller that a feature declares. Its value depends on how the caller logged in."""
    return attribute.root == "sub" and attribute.name not in SUBJECT and attribute != GROUPS


def in_words(attribute: Attribute) -> str:
    """Returns the words for an attribute in a sentence: "the caller's id", or the name of a column."""
    if is_of_login(attribute):
        return _OF_LOGIN.format(name=attribute.name)
    return WORDS.get((attribute.root, attribute.name), attribute.name)


def as_written(value: object) -> str:
    """A value as a condition would write it: a truth value is 1 or 0."""
    return str(int(value)) if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Reads:
    """Names that conditions read, sorted.

    obj, sub, env  attributes of the object, the caller and the environment
    groups         groups that a condition names
    group_columns  columns of the object that name a group, each after the text that is put before it
    shares         true if a condition reads the shares of the object
    """

    obj: tuple[str, ...]
    sub: tuple[str, ...]
    env: tuple[str, ...]
    groups: tuple[str, ...]
    group_columns: tuple[tuple[str, str], ...]
    shares: bool

    @cached_property
    def login(self) -> tuple[str, ...]:
        """The attributes of the caller that features declare."""
        return tuple(name for name in self.sub if is_of_login(Attribute("sub", name)))

    @cached_property
    def plain(self) -> bool:
        """True if conditions read no environment, and of the caller only what every audit event has."""
        return not (self.env or self.groups or self.group_columns or self.login or "department" in self.sub)


def reads_of(expressions: Iterable[Expression]) -> Reads:
    """Returns the names that these conditions read."""
    named: dict[str, set[str]] = {"obj": set(), "sub": set(), "env": set()}
    groups, columns, shares = set[str](), set[tuple[str, str]](), False
    for atom in {atom for expression in expressions for atom in atoms(expression)}:
        shares = shares or isinstance(atom, Shared)
        for attribute in attributes(atom):
            named[attribute.root].add(attribute.name)
        if isinstance(atom, InGroup) and isinstance(atom.group, str):
            groups.add(atom.group)
        elif isinstance(atom, InGroup) and atom.column is not None and atom.column.root == "obj":
            columns.add((atom.prefix, atom.column.name))
    obj, sub, env, names = (tuple(sorted(some)) for some in (*named.values(), groups))
    return Reads(obj, sub, env, names, tuple(sorted(columns)), shares)
