"""Rows that a field of a form may name, found by a part of their name; for shares also roles and groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from marshmallow import Schema, fields

from gatepost import Call, Message, Reference
from gatepost.http.writing.sharing import Grantee

from ..naming import PERSON, looked_up, names_of
from ..values import FIND, LOOK, Sent, count, named, row_schema
from .fields import names_of_policy
from .words import field_called

_MOST_SEARCHES = 8  # of one form, besides the one that was asked for
Options = tuple[tuple[str, str], ...]
"""(value, what it is called)"""


@dataclass(frozen=True)
class Lookup:
    """The rows that a field may name.

    searched  true if the form needs a search: there are more rows than options
    nothing   true if the search found nothing
    other     true if the field may also have a value that is no option
    """

    options: Options
    searched: bool
    nothing: bool = False
    other: bool = False


def is_looked_up(field: fields.Field[object]) -> bool:
    """True for a field that names a row."""
    return isinstance(field, Reference | Grantee)


def is_redrawn(schema: Schema) -> bool:
    """True if a form of the schema has a button that draws it again: a search for a row, or a list that can grow."""
    return any(is_looked_up(field) or isinstance(field, fields.List) for field in schema.load_fields.values())


def lookups(call: Call, schema: Schema, names: Sequence[str], given: Sent, *, manages: bool) -> dict[str, Lookup]:
    """Returns the lookups of a form, by the names of its fields. If a search found a single row, `given` gets it.

    manages  true if the caller may share with roles and groups
    """
    made: dict[str, Lookup] = {}
    pages: dict[tuple[str, str], tuple[list[tuple[str, str]], bool]] = {}
    for key, field in _keys(schema, names, given):
        text = given.get(f"{LOOK}{key}", "").strip()
        collection = field.collection if isinstance(field, Reference) else "users"
        at = collection, text
        if at not in pages and len(pages) >= _MOST_SEARCHES and given.get(FIND) != key:
            at = collection, ""
        if at not in pages:
            pages[at] = looked_up(call, *at)
        several, more = pages[at]
        options: Options = tuple(several if isinstance(field, Reference)
                                 else ((f"{PERSON}{id}", name) for id, name in several))
        _choose_the_only(given, key, options)
        shared = manages and isinstance(field, Grantee)
        made[key] = Lookup((*options, *(_many_users(call) if shared else ())), more or bool(text) or not several,
                           bool(text) and not several, other=shared)
    return _with_chosen(call, dict(_keys(schema, names, given)), made, given)


def _keys(schema: Schema, names: Sequence[str], given: Sent) -> Iterator[tuple[str, fields.Field[object]]]:
    """Yields the fields of a form that name a row, also those in rows of lists."""
    for name in names:
        field = schema.fields[name]
        if is_looked_up(field):
            yield name, field
        for each, inner in (named(rows) if (rows := row_schema(field)) is not None else {}).items():
            if is_looked_up(inner):
                yield from ((f"{name}.{number}.{each}", inner) for number in range(count(given, name)))


def _choose_the_only(given: Sent, key: str, several: Options) -> None:
    if given.get(FIND) == key and given.get(f"{LOOK}{key}") and len(several) == 1:
        given[key] = several[0][0]


def _many_users(call: Call) -> Iterator[tuple[str, str]]:
    """Yields the roles and groups that the policy names."""
    say = call.services.translations.wanted(call.request).say
    for kind, names in (("role", names_of_policy(call, "roles")), ("group", names_of_policy(call, "groups"))):
        for name in names:
            yield f"{kind}:{name}", f"{say(field_called(kind))}: {say(Message(name)) if kind == 'role' else name}"


def _with_chosen(call: Call, known: Mapping[str, fields.Field[object]], made: dict[str, Lookup], given: Sent
                 ) -> dict[str, Lookup]:
    """Returns the lookups with the chosen row of each, if it is not among those found."""
    chosen = {}
    for key, field in known.items():
        value = next((text for text in reversed(given.getlist(key)) if text), "")
        if value and value not in dict(made[key].options) and (
                isinstance(field, Reference) or value.startswith(PERSON)):
            collection = field.collection if isinstance(field, Reference) else "users"
            chosen[key] = value, (collection, value if isinstance(field, Reference) else value.removeprefix(PERSON))
    called = names_of(call, (row for _, row in chosen.values()))
    for key, (value, row) in chosen.items():
        lookup = made[key]
        made[key] = Lookup(((value, called.get(row) or value), *lookup.options), lookup.searched, lookup.nothing,
                           lookup.other)
    return made
