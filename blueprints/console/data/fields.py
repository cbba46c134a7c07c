"""The fields of a collection: their values in an answer, and their entries in a form."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from marshmallow import Schema, fields
from marshmallow.validate import OneOf
from werkzeug.datastructures import MultiDict

from gatepost import Call, Collection, Email, Line, Message, NewPassword, Problem, Reference, Text, Time
from gatepost.collections.names import TITLES
from gatepost.http.credentials.step_up import CurrentPassword
from gatepost.http.writing.sharing import Grantee
from models.records.columns import RoleField

from ..amounts import Amounts
from ..naming import Row, names_of
from .words import field_called

Answer = Mapping[str, Any]
NONE, LONG, MARK, FLAG, NUMBER, TIME, REFERENCE, WORDS, ROWS, JSON, LINE = (
    "none", "long", "mark", "flag", "number", "time", "reference", "words", "rows", "json", "line")
EMAIL, PASSWORD, CHOICE, GRANTEE, MONEY = "email", "password", "choice", "grantee", "money"
_CURRENCY = "minor_units_of"  # in the metadata of a number: the field beside it, or around it, that is its currency
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


@dataclass(frozen=True)
class Entry:
    """One field of a form."""

    name: str
    label: str
    kind: str
    required: bool
    value: str = ""
    values: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()  # (value, what it is called)
    hint: str = ""
    now: str = ""  # the present value, if another user has changed it
    faults: tuple[str, ...] = ()


def kind_of(field: fields.Field[Any] | None, choices: Sequence[str] = ()) -> str:
    """Returns the kind of a field, which decides how pages show it and how forms ask for it."""
    match field:
        case Reference():
            return REFERENCE
        case Grantee():
            return GRANTEE
        case NewPassword() | CurrentPassword():
            return PASSWORD
        case Email():
            return EMAIL
        case Time() | fields.DateTime():
            return TIME
        case fields.Boolean():
            return FLAG
        case fields.Integer():
            return NUMBER
        case fields.List() if isinstance(field.inner, fields.String):
            return WORDS
        case fields.List() if isinstance(field.inner, fields.Nested):
            return ROWS
        case fields.List() | fields.Nested() | fields.Dict():
            return JSON
    if choices:
        return MARK
    return LONG if isinstance(field, Text) and not isinstance(field, Line) else LINE


def choices(call: Call, collection: Collection | None, schema: Schema, name: str) -> tuple[str, ...]:
    """The values that a field can have, where they are few: as declared, or the roles of the policy."""
    if collection is not None:
        if isinstance(collection.model._meta.fields.get(name), RoleField):
            return call.access.policy.roles.of_users
        if schema is collection.body_schema:
            return collection.values_of(name)
    field = schema.fields.get(name)
    return next((tuple(map(str, check.choices)) for check in (field.validators if field else ())
                 if isinstance(check, OneOf)), ())


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
    if kind == NUMBER and field is not None and _CURRENCY in field.metadata:
        return Shown(name, label, MONEY, value, field.metadata[_CURRENCY])
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
        return replace(field, value=[[_priced(inner, answer, amounts) for inner in entry] for entry in field.value])
    if field.kind != MONEY:
        return field
    currency = answer.get(field.of)
    if not isinstance(currency, str):
        return replace(field, kind=NUMBER)
    return replace(field, value=amounts.money(field.value, currency))


# What is asked for

def entries(call: Call, schema: Schema, names: Iterable[str], typed: MultiDict[str, str], *,
            collection: Collection | None = None, partial: bool = False, problem: Problem | None = None,
            now: Answer | None = None, options: Mapping[str, tuple[tuple[str, str], ...]] | None = None) -> list[Entry]:
    """Returns the entries of a form for these fields of a schema, with typed values and faults.

    now      the present row, if another user has changed it
    options  field → rows that its reference may name
    """
    say, made = call.services.translations.wanted(call.request).say, list[Entry]()
    for name in names:
        field, known = schema.fields[name], choices(call, collection, schema, name)
        kind, sent = kind_of(field, known), typed.getlist(name)
        current = "" if now is None or name not in now else "\n".join(texts_of(now[name]))
        found = (options or {}).get(name, ())
        made.append(Entry(
            name, field_called(name), CHOICE if kind == MARK else JSON if kind == ROWS else kind,
            field.required and not field.allow_none, sent[-1] if sent else "", tuple(sent),
            found or tuple((value, str(say(value))) for value in known), say(_hint(field, kind)),
            current if now is not None and current != "\n".join(one.replace("\r\n", "\n") for one in sent if one)
            else "",
            tuple(say(fault.detail) for fault in (problem.faults if problem else ())
                  if (fault.pointer or "").split("/")[1:2] == [name] or fault.parameter == name)))
    return made


def _hint(field: fields.Field[Any], kind: str) -> str:
    if kind == ROWS:
        inner = cast(Any, field).inner.schema.load_fields
        return Message("JSON: a list of objects with {names}.", names=", ".join(inner))
    described: str = field.metadata.get("description", "")
    return described


def texts_of(value: Any) -> list[str]:
    """A value as it is typed: a list as one text for each entry."""
    if value is None:
        return []
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return list(value)
    return [json.dumps(value, indent=2, ensure_ascii=False) if isinstance(value, dict | list) else str(value)]


def typed_of(answer: Answer, names: Iterable[str]) -> MultiDict[str, str]:
    """The row as if it had been typed."""
    return MultiDict((name, text) for name in names if name in answer for text in texts_of(answer[name]))


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
    return sorted({schema[name].metadata[_CURRENCY] for name in names
                   if name in schema and _CURRENCY in schema[name].metadata})
