"""The fields of a collection as pages show them; `entries` has those of a form."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from marshmallow import Schema, fields
from marshmallow.validate import OneOf

from gatepost import Call, Collection, Email, Line, NewPassword, Reference, Text
from gatepost.collections.names import TITLES
from gatepost.http.credentials.step_up import CurrentPassword
from gatepost.http.writing.sharing import Grantee

from ..amounts import Amounts
from ..money import is_currency
from ..naming import Row, names_of
from ..values import MINOR_UNITS_OF, NAMES_OF, is_time, is_words, row_schema
from .words import field_called

Answer = Mapping[str, Any]
NONE, LONG, MARK, FLAG, NUMBER, TIME, REFERENCE, WORDS, ROWS, JSON, LINE = (
    "none", "long", "mark", "flag", "number", "time", "reference", "words", "rows", "json", "line")
EMAIL, PASSWORD, CHOICE, GRANTEE, MONEY, DATE = "email", "password", "choice", "grantee", "money", "date"
OWN, OWNER = ("id", "tenant_id", "version"), "owner_id"  # what a row says for programs; whose it is
_TIMES = ("updated_at", "last_used_at", "time", "created_at")  # when something was done last; the first counts
_MOST = 4  # columns besides


@dataclass(frozen=True)
class Shown:
    """One field of a row as it is drawn; the value of `rows` is a list of lists of these."""

    name: str
    label: str
    kind: str
    value: Any
    of: str = ""  # the collection that a reference leads to; of money the field that is its currency
    called: str = ""  # what the row is called that it leads to; "" where the caller may not see that


def kind_of(field: fields.Field[Any] | None, choices: Sequence[str] = ()) -> str:
    """Returns the kind of a field, which decides how pages show it and how forms ask for it."""
    if is_time(field):
        return TIME
    if is_words(field):
        return WORDS
    if row_schema(field) is not None:
        return ROWS
    match field:
        case Reference():
            return REFERENCE
        case Grantee():
            return GRANTEE
        case NewPassword() | CurrentPassword():
            return PASSWORD
        case Email():
            return EMAIL
        case fields.Date():
            return DATE
        case fields.Boolean():
            return FLAG
        case fields.Integer():
            return NUMBER
        case fields.List() | fields.Nested() | fields.Dict():
            return JSON
    if choices:
        return MARK
    return LONG if isinstance(field, Text) and not isinstance(field, Line) else LINE


def choices(call: Call, collection: Collection | None, schema: Schema, name: str) -> tuple[str, ...]:
    """The values that a field or an entry of a list can have, where they are few: as declared, or names of the policy.
    """
    field = schema.fields.get(name)
    if collection is not None and schema is collection.body_schema and (
            field is None or NAMES_OF not in field.metadata):
        return collection.values_of(name) or declared(call, field)
    return declared(call, field)


def declared(call: Call, field: fields.Field[Any] | None) -> tuple[str, ...]:
    """The values that a field or the entries of a list are declared to have."""
    if field is not None and NAMES_OF in field.metadata:
        return names_of_policy(call, field.metadata[NAMES_OF])
    checked = field.inner if isinstance(field, fields.List) else field
    return next((tuple(map(str, check.choices)) for check in (checked.validators if checked else ())
                 if isinstance(check, OneOf)), ())


def names_of_policy(call: Call, what: str) -> tuple[str, ...]:
    """Returns the roles, groups or scopes that the policy names. Raises KeyError for anything else."""
    policy = call.access.policy
    names: dict[str, Callable[[], Iterable[str]]] = {
        "roles": lambda: policy.roles.of_users,
        # By what they are about: `read:articles` beside `write:articles`.
        "scopes": lambda: sorted(policy.scope_names, key=lambda scope: scope.split(":")[::-1]),
        "groups": lambda: policy.looks_at(tuple(sorted(policy.patterns.permissions))).groups}
    return tuple(names[what]())


# What is answered

def shown(call: Call, collection: Collection, answers: Sequence[Answer], names: Sequence[str]) -> list[list[Shown]]:
    """Returns these fields of each answer, in this order, without fields that the answer lacks."""
    def called(name: str) -> tuple[str, ...]:
        return choices(call, collection, collection.body_schema, name)

    rows = [[_shown(name, collection.body_schema.fields.get(name), answer[name], called)
             for name in names if name in answer] for answer in answers]
    known = names_of(call, (row for one in rows for field in one for row in _references(field)))
    amounts = Amounts(call.services.translations.wanted(call.request).tag)
    return [[_priced(_named(field, known), answer, amounts) for field in one]
            for one, answer in zip(rows, answers, strict=True)]


def _shown(name: str, field: fields.Field[Any] | None, value: Any,
           called: Callable[[str], Sequence[str]] = lambda name: ()) -> Shown:
    label, kind = field_called(name), kind_of(field, called(name))
    if value is None or value in ("", []):
        return Shown(name, label, NONE, None)
    if isinstance(field, Reference):
        return Shown(name, label, kind, value, field.collection)
    if kind == ROWS and all(isinstance(entry, Mapping) for entry in value):
        inner = cast(Any, field).inner.schema.fields
        return Shown(name, label, kind, [[_shown(each, inner.get(each), entry[each]) for each in entry]
                                         for entry in value])
    if kind == NUMBER and field is not None and MINOR_UNITS_OF in field.metadata:
        return Shown(name, label, MONEY, value, field.metadata[MINOR_UNITS_OF])
    if isinstance(value, dict | list) and kind != WORDS:
        return Shown(name, label, JSON, json.dumps(value, indent=2, ensure_ascii=False))
    return Shown(name, label, kind, value)


def _references(field: Shown) -> Iterable[Row]:
    if field.kind == REFERENCE:
        yield field.of, field.value
    elif field.kind == ROWS:
        yield from (found for entry in field.value for inner in entry for found in _references(inner))


def _named(field: Shown, known: Mapping[Row, str]) -> Shown:
    if field.kind == REFERENCE:
        return Shown(field.name, field.label, field.kind, field.value, field.of, known.get((field.of, field.value), ""))
    if field.kind == ROWS:
        return Shown(field.name, field.label, field.kind, [[_named(inner, known) for inner in entry]
                                                           for entry in field.value])
    return field


def _priced(field: Shown, answer: Answer, amounts: Amounts) -> Shown:
    """Money as a reader of a language writes it, `68.30 EUR`; a number where the currency is not known."""
    if field.kind == ROWS:
        return replace(field, value=[[_priced(inner, {**answer, **{one.name: one.value for one in entry}}, amounts)
                                      for inner in entry] for entry in field.value])
    if field.kind != MONEY:
        return field
    currency = field.of if is_currency(field.of) else answer.get(field.of)
    if not isinstance(currency, str):
        return replace(field, kind=NUMBER)
    return replace(field, value=amounts.money(field.value, currency))


def summary(collection: Collection, names: Sequence[str]) -> tuple[str, list[str]]:
    """The field that says what a row is ("" without any), and a few that are worth a column of a table."""
    kinds = {name: kind_of(collection.body_schema.fields.get(name), collection.values_of(name)) for name in names}
    head = next((name for name in TITLES if name in kinds),
                next((name for name, kind in kinds.items() if kind == LONG), ""))
    rest = {name: kind for name, kind in kinds.items() if name not in (head, "slug", "department", *OWN)}
    told = currencies(collection, rest)  # beside the amount
    plain = [name for name, kind in rest.items()
             if kind in (LINE, EMAIL, NUMBER, REFERENCE) and name != OWNER and name not in told]
    marks = [name for name, kind in rest.items() if kind in (MARK, FLAG)]
    owner = [name for name, kind in rest.items() if name == OWNER and kind == REFERENCE]
    return head, [*plain[:_MOST], *marks, *owner, *[name for name in _TIMES if name in rest][:1]]


def currencies(collection: Collection, names: Iterable[str]) -> list[str]:
    """The fields that say in which currency these are."""
    schema = collection.body_schema.fields
    return sorted({of for name in names if name in schema
                   and (of := schema[name].metadata.get(MINOR_UNITS_OF)) and not is_currency(of)})
