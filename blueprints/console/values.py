"""Translation between typed values and JSON, by the schema of an endpoint's body.

A field of a form is called like the field of the schema. In a row of a list, the name has the list and the number of
the row: `items.0.quantity`. Names that begin with `_` are the form's own:

    _rows            a list that the form shows, so that one without rows is an empty list
    _add, _remove    the list that gets an empty row (`items`), the row that is removed (`items.2`)
    _find            the field to look up a row for; `_find_<name>` is the text to look for
    _is_<name>       the value of the field that is the currency of amounts, where the form does not show that field
    _was_<name>      the stored time that the form showed; `_offset_<name>` chooses between two times of one clock time
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any

from marshmallow import Schema, fields
from werkzeug.datastructures import MultiDict

from gatepost import Call, Currency, Fault, Id, Message, Time
from gatepost.http.protocol.json_pointer import below

from . import times
from .money import Misread, Money, is_currency

Sent = MultiDict[str, str]

MINOR_UNITS_OF = "minor_units_of"  # in the metadata of a number: the field with its currency, or a currency
NAMES_OF = "names_of"  # in the metadata of a name or of a list of names: the names of the policy that it knows
ROWS, ADD, REMOVE, FIND = "_rows", "_add", "_remove", "_find"
CURRENCY, WAS, OFFSET, LOOK = "_is_", "_was_", "_offset_", "_find_"  # before the name of a field
_MARKS = (WAS, OFFSET, LOOK, "")
_ROW = re.compile(r"(_(?:was|offset|find)_|)([A-Za-z]\w*)\.(0|[1-9][0-9]{0,3})(?:\.(\w+))?", re.ASCII)
_ENTRY = re.compile(r'\s*+(?:"([^"]*+(?:""[^"]*+)*+)"\s*+(?=,|\Z)|([^,]*+))(?:,|\Z)')


@dataclass(frozen=True)
class Manner:
    """Language of numbers and zone of times, as the reader of a page writes them."""

    language: str
    zone: tzinfo

    @classmethod
    def of(cls, call: Call) -> Manner:
        return cls(call.services.translations.wanted(call.request).tag, call.services.settings.zone)


def named(schema: Schema) -> dict[str, fields.Field[Any]]:
    """Returns the fields that a body may have, by their names in it."""
    return {field.data_key or name: field for name, field in schema.load_fields.items()}


def row_schema(field: fields.Field[Any] | None) -> Schema | None:
    """Returns the schema of the rows of a list field; None for another field."""
    inner = field.inner if isinstance(field, fields.List) else None
    return inner.schema if isinstance(inner, fields.Nested) and not inner.many else None


def is_words(field: fields.Field[Any] | None) -> bool:
    """True for a list of texts."""
    return isinstance(field, fields.List) and isinstance(field.inner, fields.String)


def is_time(field: fields.Field[Any] | None) -> bool:
    """True for a point in time."""
    other = (fields.Date, fields.Time, fields.NaiveDateTime)
    return isinstance(field, Time | fields.DateTime) and not isinstance(field, other)


class Names:
    """The names that a form of a schema may send."""

    def __init__(self, schema: Schema | None, own: Iterable[str]) -> None:
        by_name = {} if schema is None else named(schema)
        rows = {name: inner for name, field in by_name.items() if (inner := row_schema(field)) is not None}
        self._own = {*own, ROWS, ADD, REMOVE, FIND, *(f"{CURRENCY}{name}" for name in currencies_of(schema))}
        self._rows = {name: set(named(inner)) for name, inner in rows.items()}
        self._fields = by_name.keys() - rows.keys()

    def __contains__(self, name: object) -> bool:
        text = str(name)
        if (match := _ROW.fullmatch(text)) is not None:
            return match[4] in self._rows.get(match[2], ())
        return text in self._own or any(text.removeprefix(mark) in self._fields for mark in _MARKS
                                        if text.startswith(mark))


def currencies_of(schema: Schema | None) -> set[str]:
    """Returns the names of the fields that are the currency of a number of the schema or its rows."""
    by_name = {} if schema is None else named(schema)
    numbers = [*by_name.values(), *(field for one in by_name.values() if (inner := row_schema(one)) is not None
                                  for field in named(inner).values())]
    return {of for field in numbers if (of := field.metadata.get(MINOR_UNITS_OF)) and not is_currency(of)}


# Rows of lists

def count(sent: Sent, name: str) -> int:
    """Returns the number of rows of a list, in fields that `arranged` returned."""
    return len({match[3] for key in sent if (match := _ROW.fullmatch(key)) and not match[1] and match[2] == name})


def arranged(sent: Sent, *, without_empty: bool = False) -> Sent:
    """Returns the fields with the rows of each list numbered from 0, without the row that `_remove` names, and with an
    empty row for the list that `_add` names.

    With `without_empty`, it leaves out instead the rows in which nothing is typed.
    """
    removed, added = ("", "") if without_empty else (sent.get(REMOVE, ""), sent.get(ADD, ""))
    numbers: dict[str, dict[str, int]] = {}
    for key, texts in sent.lists():
        match = _ROW.fullmatch(key)
        if match is not None and not match[1] and f"{match[2]}.{match[3]}" != removed and (
                not without_empty or any(texts)):
            numbers.setdefault(match[2], {})[match[3]] = 0
    for name, known in numbers.items():
        numbers[name] = {old: new for new, old in enumerate(sorted(known, key=int))}
    made: Sent = MultiDict()
    for key, texts in sent.lists():
        if (new := _renumbered(key, numbers)) is not None:
            made.setlist(new, [_renumbered(text, numbers) or "" for text in texts] if key == FIND else texts)
    if added:
        made.add(f"{added}.{count(made, added)}", "")
    return made


def _renumbered(key: str, numbers: Mapping[str, Mapping[str, int]]) -> str | None:
    """Returns the new name of a field; None if its row is left out."""
    if (match := _ROW.fullmatch(key)) is None:
        return key
    number = numbers.get(match[2], {}).get(match[3])
    return None if number is None else f"{match[1]}{match[2]}.{number}" + (f".{match[4]}" if match[4] else "")


# Typed values as JSON

def read(schema: Schema, sent: Sent, manner: Manner, *, partial: bool = False) -> tuple[dict[str, Any], list[Fault]]:
    """Returns the JSON object that a form's fields mean to the schema, and the faults of the values that have no
    meaning, which are left out.

    Text that no field can have stays text: the schema refuses it. A list of texts is one text as `with_commas` makes
    it, or one field for each entry. An empty field is left out, except in a change, and if it is required text.
    """
    reader = _Reader(sent, manner)
    return reader.object(schema, "", "", partial=partial), reader.faults


class _Reader:
    def __init__(self, sent: Sent, manner: Manner) -> None:
        self._sent, self._manner = sent, manner
        self._shown = set(sent.getlist(ROWS))
        self.faults: list[Fault] = []

    def object(self, schema: Schema, prefix: str, pointer: str, *, partial: bool) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, field in named(schema).items():
            key, place = f"{prefix}{name}", below(pointer, name)
            if not prefix and (inner := row_schema(field)) is not None:
                rows = [self.object(inner, f"{key}.{number}.", f"{place}/{number}", partial=False)
                        for number in range(count(self._sent, name))]
                if rows or (key in self._shown and (partial or field.required)):
                    values[name] = rows
            elif key in self._sent:
                texts = [text.replace("\r\n", "\n") for text in self._sent.getlist(key)]
                try:
                    for value in self._values(field, key, prefix, texts, partial=partial):
                        values[name] = value
                except Misread as misread:
                    self.faults.append(Fault("invalid_field", misread.detail, pointer=place))
        return values

    def _values(self, field: fields.Field[Any], key: str, prefix: str, texts: list[str], *, partial: bool
                ) -> Iterator[Any]:
        """Yields the value of a field, or nothing if it is left out."""
        if is_words(field):
            parts = [part.strip() for part in (texts if len(texts) > 1 else _entries(texts[0]))]
            yield list(filter(None, dict.fromkeys(parts) if NAMES_OF in field.metadata else parts))
        elif text := next((text for text in reversed(texts) if text != ""), ""):
            yield self._value(field, key, prefix, text)
        elif partial and field.load_only:
            return  # a password stays where none is typed
        elif partial and field.allow_none:
            yield None
        elif partial or (field.required and isinstance(field, fields.String) and not isinstance(field, Id | Time)):
            yield ""

    def _value(self, field: fields.Field[Any], key: str, prefix: str, text: str) -> Any:
        if is_time(field):
            return self._time(key, text)
        match field:
            case Currency():
                return text.strip().upper()
            case fields.Integer() if MINOR_UNITS_OF in field.metadata and self._is_money(field, prefix):
                return self._money(field, prefix).read(text)
            case fields.Boolean() if text in ("true", "false"):
                return text == "true"
            case fields.Integer() if len(text) <= 20 and text.removeprefix("-").isdecimal() and text.isascii():
                return int(text)
            case fields.Integer():
                raise Misread(Message("Write a whole number."))
            case fields.List() | fields.Nested() | fields.Dict():
                with suppress(ValueError, RecursionError):
                    return json.loads(text)
        return text

    def _is_money(self, field: fields.Field[Any], prefix: str) -> bool:
        """False for a number in a currency that the form could not show: it is typed in minor units, as shown."""
        of = field.metadata[MINOR_UNITS_OF]
        return self._sent.get(f"{CURRENCY}{of}") != "" or of in self._sent or f"{prefix}{of}" in self._sent

    def _money(self, field: fields.Field[Any], prefix: str) -> Money:
        currency = currency_of(field, self._sent, prefix)
        if currency and not is_currency(currency):
            raise Misread(Message("The amount depends on the currency. Correct the currency."))
        if not currency:
            raise Misread(Message("An amount needs its currency. Enter the currency, too, such as EUR."))
        return Money.of(currency, self._manner.language)

    def _time(self, key: str, text: str) -> str:
        was, offset = self._sent.get(f"{WAS}{key}", ""), self._sent.get(f"{OFFSET}{key}", "")
        unchanged = was and text == times.written(was, self._manner.zone)
        if unchanged and offset in ("", offset_of(was, self._manner)):
            return was  # a form shows no microseconds
        return times.read(text, self._manner.zone, offset)


def currency_of(field: fields.Field[Any], sent: Mapping[str, str], prefix: str = "") -> str:
    """Returns the currency of a number among the fields of a form; "" if there is none.

    It is the field beside the number, else the one around its row, else what the form notes about the stored row.
    """
    of = field.metadata[MINOR_UNITS_OF]
    if is_currency(of):
        return str(of)
    return next((sent[name].strip().upper() for name in (f"{prefix}{of}", of, f"{CURRENCY}{of}") if name in sent), "")


def offset_of(time: str, manner: Manner) -> str:
    """Returns the offset of a time of the API in the zone of the settings; "" if it is none."""
    try:
        return times.offset_of(datetime.fromisoformat(time).astimezone(manner.zone))
    except (ValueError, OverflowError):
        return ""


def with_commas(entries: Iterable[str]) -> str:
    """Returns a list as one text in which people change it: an entry with a comma is in double quotes."""
    return ", ".join('"' + one.replace('"', '""') + '"' if "," in one or one.startswith('"') else one
                     for one in entries)


def _entries(text: str) -> list[str]:
    """Returns the entries of such a text. Text that only resembles a quoted entry is taken as it was typed."""
    return [found[2] if found[1] is None else found[1].replace('""', '"') for found in _ENTRY.finditer(text)]


# JSON as typed values

def written(schema: Schema, answer: Mapping[str, Any], names: Iterable[str], manner: Manner) -> Sent:
    """Returns these fields of a row as if they had been typed."""
    made: Sent = MultiDict()
    for name in names:
        field = schema.fields.get(name)
        if (inner := row_schema(field)) is not None and isinstance(answer.get(name), list):
            for number, row in enumerate(answer[name]):
                for each, column in named(inner).items():
                    _write(made, column, f"{name}.{number}.{each}", row.get(each), {**answer, **row}, manner)
        elif name in answer:
            _write(made, field, name, answer[name], answer, manner)
    return made


def _write(made: Sent, field: fields.Field[Any] | None, key: str, value: Any, answer: Mapping[str, Any],
           manner: Manner) -> None:
    if is_time(field) and isinstance(value, str):
        made.add(f"{WAS}{key}", value)
        made.add(key, times.written(value, manner.zone) or value)
    elif isinstance(value, int) and field is not None and MINOR_UNITS_OF in field.metadata:
        currency = currency_of(field, {name: text for name, text in answer.items() if isinstance(text, str)})
        made.add(key, Money.of(currency, manner.language).written(value) if is_currency(currency) else str(value))
    else:
        made.setlist(key, texts_of(value) or [""])


def texts_of(value: Any) -> list[str]:
    """Returns a value as it is typed: a list as one text for each entry."""
    if value is None:
        return []
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return list(value)
    return [json.dumps(value, indent=2, ensure_ascii=False) if isinstance(value, dict | list) else str(value)]
