"""The entries of a form: for each field of a schema a control, with what was typed, and the faults beside it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from marshmallow import Schema, fields

from gatepost import Call, Collection, Currency, Fault, Message, Problem

from .. import times
from ..money import Misread, Money, is_currency
from ..values import (
    ADD,
    CURRENCY,
    FIND,
    LOOK,
    MINOR_UNITS_OF,
    NAMES_OF,
    OFFSET,
    REMOVE,
    WAS,
    Manner,
    Sent,
    count,
    currencies_of,
    currency_of,
    named,
    offset_of,
    row_schema,
    written,
)
from .fields import (
    GRANTEE,
    JSON,
    MARK,
    MONEY,
    NUMBER,
    ROWS,
    TIME,
    WORDS,
    Answer,
    Shown,
    choices,
    declared,
    kind_of,
    shown,
)
from .lookups import Lookup, Options
from .words import field_called

CHOICE, SEVERAL = "choice", "several"
_BLANK = 2  # empty entries of a list of texts
_LOCAL = re.compile(r"[0-9]{4}(?:-[0-9]{2}){2}T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,3})?)?")


@dataclass(frozen=True)
class Entry:
    """One field of a form.

    required  true if the field must have a value; `inside` a row of a list, which may stay empty as a whole
    options   the values to choose from; with `other`, another one can be typed
    now       the present value, if another user has changed it
    rows      the rows of a list, `looked` the text that was looked for, `offsets` those of a time that occurs twice
    """

    name: str
    label: str
    kind: str
    required: bool = False
    inside: bool = False
    value: str = ""
    values: tuple[str, ...] = ()
    options: Options = ()
    other: bool = False
    hint: str = ""
    now: Shown | None = None
    faults: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    searched: bool = False
    looked: str = ""
    nothing: bool = False
    blank: int = 0
    was: str = ""
    offset: str = ""
    offsets: tuple[str, ...] = ()
    focused: bool = False

    @property
    def is_local(self) -> bool:
        """True if a control for dates and times can show the value."""
        return not self.value or _LOCAL.fullmatch(self.value) is not None


@dataclass(frozen=True)
class Row:
    """A row of a list, and the faults of it as a whole."""

    entries: tuple[Entry, ...]
    faults: tuple[str, ...]


def outside(schema: Schema, names: Sequence[str], collection: Collection, answer: Answer) -> dict[str, str]:
    """Returns the currencies of amounts that a form does not show: field → its value, "" if it is not known.

    That is the value of the row; for a new one the default of the column.
    """
    columns = collection.model._meta.fields
    default = {of: columns[of].default for of in currencies_of(schema) if of in columns}
    currencies = {of: answer.get(of, default.get(of)) for of in currencies_of(schema) if of not in names}
    return {of: value if isinstance(value, str) else "" for of, value in currencies.items()}


class Entries:
    """Makes the entries of one form.

    given     what was typed, or the row as if it had been typed
    now       the present row, if another user has changed it
    currency  what `outside` returns
    """

    def __init__(self, call: Call, schema: Schema, given: Sent, collection: Collection, *,
                 lookups: Mapping[str, Lookup], currency: Mapping[str, str], problem: Problem | None = None,
                 now: Answer | None = None) -> None:
        self._call, self._schema, self._given, self._collection = call, schema, given, collection
        self._lookups, self._now = lookups, now
        self._known = {**{f"{CURRENCY}{of}": value for of, value in currency.items()}, **given.to_dict()}
        self._unknown = {of for of, value in currency.items() if not value}
        self._faults = [(_place(fault), fault) for fault in (problem.faults if problem else ())]
        self._manner = Manner.of(call)
        self._say = call.services.translations.wanted(call.request).say
        self._focus = given.get(FIND, "") or self._added(given.get(ADD, "")) or given.get(REMOVE, "").partition(".")[0]

    def of(self, names: Iterable[str]) -> list[Entry]:
        """Returns the entries of these fields."""
        return [self._entry(self._schema, name, self._schema.fields[name], "", (name,)) for name in names]

    def _entry(self, schema: Schema, name: str, field: fields.Field[Any], prefix: str, place: tuple[str, ...]) -> Entry:
        key = f"{prefix}{name}"
        if not prefix and (inner := row_schema(field)) is not None:
            return self._list(field, inner, name)
        names = declared(self._call, field) if prefix else choices(self._call, self._collection, schema, name)
        kind = self._kind(schema, field, names)
        sent = self._given.getlist(key)
        value = next((text for text in reversed(sent) if text), "")
        lookup = self._lookups.get(key, Lookup(tuple((one, str(self._say(one))) for one in names), searched=False))
        other = lookup.other or field.metadata.get(NAMES_OF) == "groups"
        offset, offsets = self._offsets(key, value) if kind == TIME else ("", ())
        return Entry(
            key, field_called(name), kind, field.required and not field.allow_none, bool(prefix), value,
            tuple(filter(None, sent)), lookup.options, other, self._hint(field, kind, prefix), self._current(name),
            tuple(self._detail(fault, field, kind, prefix) for at, fault in self._faults
                  if at[:len(place)] == place or (not prefix and fault.parameter == name)),
            searched=lookup.searched, looked=self._given.get(f"{LOOK}{key}", ""), nothing=lookup.nothing,
            blank=_BLANK * (1 + (self._given.get(ADD) == key)), was=self._given.get(f"{WAS}{key}", ""),
            offset=offset, offsets=offsets, focused=key == self._focus)

    def _list(self, field: fields.Field[Any], inner: Schema, name: str) -> Entry:
        columns = named(inner)
        rows = [Row(tuple(self._entry(inner, each, column, f"{name}.{row}.", (name, str(row), each))
                          for each, column in columns.items()),
                    tuple(str(self._say(fault.detail)) for at, fault in self._faults
                          if at[:2] == (name, str(row)) and (len(at) == 2 or at[2] not in columns)))
                for row in range(count(self._given, name))]
        return Entry(name, field_called(name), ROWS, field.required and not field.allow_none, rows=tuple(rows),
                     hint=self._hint(field, ROWS, ""), now=self._current(name), focused=name == self._focus,
                     faults=tuple(self._number(fault) for at, fault in self._faults if at == (name,)))

    def _number(self, fault: Fault) -> str:
        """Returns the text of a fault of a list; bounds of its length as numbers of rows."""
        text = fault.detail
        if isinstance(text, Message) and {"min", "max"} <= text.values.keys():
            least, most = text.values["min"], text.values["max"]
            text = Message("Enter at most {max} rows.", max=most) if not least else \
                Message("Enter {min} to {max} rows.", min=least, max=most)
        return str(self._say(text))

    def _added(self, name: str) -> str:
        """Returns the first field of the row that was added to a list."""
        inner = row_schema(self._schema.fields.get(name))
        return name if inner is None else f"{name}.{count(self._given, name) - 1}.{next(iter(named(inner)), '')}"

    def _kind(self, schema: Schema, field: fields.Field[Any], known: Sequence[str]) -> str:
        kind = kind_of(field, known)
        if kind == NUMBER and (of := field.metadata.get(MINOR_UNITS_OF)):
            # In a currency that nobody knows, an amount is a number of minor units.
            return NUMBER if of in self._unknown and of not in named(schema) else MONEY
        return {MARK: CHOICE, ROWS: JSON, WORDS: SEVERAL if known else WORDS}.get(kind, kind)

    def _hint(self, field: fields.Field[Any], kind: str, prefix: str) -> str:
        if kind == MONEY:
            return str(self._say(Message("An amount, as in {example}.", example=self._money(field, prefix).example)))
        if kind == NUMBER and MINOR_UNITS_OF in field.metadata:
            return str(self._say(Message("In the smallest unit of the currency, such as cents.")))
        if kind == GRANTEE:
            return ""  # it describes the texts of the API
        if isinstance(field, Currency):
            return str(self._say(Message("Three letters, such as EUR.")))
        return str(self._say(field.metadata.get("description", "")))

    def _money(self, field: fields.Field[Any], prefix: str) -> Money:
        currency = currency_of(field, self._known, prefix)
        return Money.of(currency if is_currency(currency) else "EUR", self._manner.language)

    def _detail(self, fault: Fault, field: fields.Field[Any], kind: str, prefix: str) -> str:
        """Returns the text of a fault; bounds of an amount as amounts."""
        text = fault.detail
        if kind == MONEY and isinstance(text, Message) and {"min", "max"} <= text.values.keys():
            money = self._money(field, prefix)
            text = text.format(**{name: money.written(text.values[name]) for name in ("min", "max")})
        return str(self._say(text))

    def _offsets(self, key: str, value: str) -> tuple[str, tuple[str, ...]]:
        """Returns the chosen offset of a time and the possible ones, if it occurs twice."""
        try:
            times.read(value, self._manner.zone)
        except times.Twice as twice:
            was = self._given.get(f"{WAS}{key}", "")
            stored = offset_of(was, self._manner) if value == times.written(was, self._manner.zone) else ""
            return self._given.get(f"{OFFSET}{key}", stored), twice.offsets
        except Misread:
            pass
        return "", ()

    def _current(self, name: str) -> Shown | None:
        """Returns the present value of a field, if it is not what was typed."""
        if self._now is None or name not in self._now:
            return None
        stored = written(self._schema, self._now, [name], self._manner)
        if _texts(stored, name) == _texts(self._given, name):
            return None
        return shown(self._call, self._collection, [self._now], [name])[0][0]


def _texts(sent: Sent, name: str) -> list[tuple[str, list[str]]]:
    """Returns what is typed in the fields of a name, without empty ones."""
    texts_by_field = [(key, [text.replace("\r\n", "\n") for text in texts if text]) for key, texts in sent.lists()
             if key == name or key.startswith(f"{name}.")]
    return sorted((key, texts) for key, texts in texts_by_field if texts)


def _place(fault: Fault) -> tuple[str, ...]:
    """Returns the names in the pointer of a fault."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in (fault.pointer or "").split("/")[1:])
