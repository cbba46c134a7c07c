"""Filters of lists: `price__gte=1000` as a typed parameter, and as a condition on the table.

A collection declares its filters: a field, and the operators for it (`eq` has no suffix in the query string).
The name of a reference (`category`) filters by the id or the slug of the object to which it refers.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import eq, ge, gt, le, lt, ne
from typing import Any, cast

import peewee as pw
from marshmallow import fields

from gatepost.http.reading.readable import Readable
from gatepost.http.request.call import Call
from gatepost.http.schemas.documented import choices
from gatepost.http.schemas.fields import (
    Bool,
    Email,
    Id,
    IdText,
    Int,
    Language,
    NextTime,
    Text,
    Time,
    length,
    one_of,
    values_of,
)
from gatepost.http.schemas.parameters import AddressText, LanguageText, ListParameter, Number, Switch
from models.base import Record, is_id
from models.engine.prepared import Bind
from models.records.columns import IdField, ListField, TimeField, holds

_IN_LIMIT = 100
_LONGEST = 1000  # characters: longer than any text that has an index
OPERATORS = ("eq", "ne", "lt", "lte", "gt", "gte", "in", "isnull", "contains", "startswith", "has")
_COMPARE = {"eq": eq, "ne": ne, "lt": lt, "lte": le, "gt": gt, "gte": ge}
OF_LISTS = ("has", "isnull")
OF_TEXT = ("contains", "startswith")


Form = tuple[str, str, Any]
"""Column, operator, and the value that affects the SQL: the length of a list, or the value of `isnull`."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Filter of a request: `column` `operator` `value`."""

    column: str
    operator: str
    value: Any

    @property
    def form(self) -> Form:
        """Parts of the filter that determine its SQL."""
        return self.column, self.operator, self.value if self.operator == "isnull" else (
            len(self.value) if self.operator == "in" else None)

    def values(self, name: str) -> dict[str, Any]:
        """Returns the values of the Binds of `condition`."""
        match self.operator:
            case "isnull":
                return {}
            case "in":
                return {f"{name}.{index}": value for index, value in enumerate(self.value)}
            case "startswith":
                # U+10FFFF is the last character of Unicode.
                return {name: self.value, f"{name}.until": self.value + "\U0010ffff"}
            case "contains":
                return {name: f"%{_escaped(self.value)}%"}
        return {name: self.value}


def parameter(name: str, operator: str) -> str:
    """Returns the name of a filter in a query string."""
    return name if operator == "eq" else f"{name}__{operator}"


def operand(collection: Readable, name: str, operator: str) -> fields.Field[Any]:
    """Returns the parameter of a filter, with the type of its field."""
    if name in collection.expansions:
        return IdText(maximum=_LONGEST, metadata={"description": f"Only rows whose {words(name)} has this id or slug."})
    # A column that is not in answers can still have a filter.
    field = collection.body_schema.fields.get(name, collection.model._meta.fields.get(name))
    described = {"description": meaning(name, operator, field)}
    item_metadata: dict[str, Any] = {} if operator == "in" else described
    if operator == "isnull":
        return Switch(metadata=item_metadata)
    allowed: tuple[str, ...] = ()
    if operator in ("eq", "ne", "in"):
        allowed = collection.values_of(name)
    elif operator == "has" and isinstance(field, fields.List):
        field = field.inner
        allowed = values_of(field)
    least = 1 if operator in ("contains", "startswith", "in", "has") else 0
    value: fields.Field[Any]
    match field:
        case _ if allowed:
            value = fields.String(validate=one_of(allowed),
                                  metadata=item_metadata | choices(collection.schema, name, allowed))
        case Id() | IdField():
            value = Id(metadata=item_metadata)
        case Time() | TimeField():
            value = NextTime(metadata=item_metadata) if operator in ("gte", "lt") else Time(metadata=item_metadata)
        case Int():
            value = Number(metadata=item_metadata)
        case Bool() | fields.Boolean():
            value = Switch(metadata=item_metadata)
        case IdText():
            value = IdText(maximum=_LONGEST, minimum=least, metadata=item_metadata)
        case Email():
            value = AddressText(maximum=_LONGEST, minimum=least, metadata=item_metadata)
        case Language() if operator in ("eq", "ne", "in"):
            value = LanguageText(maximum=_LONGEST, minimum=least, metadata=item_metadata)
        case _:
            value = Text(maximum=_LONGEST, minimum=least, metadata=item_metadata)
    if operator == "in":
        return ListParameter(value, validate=length(1, _IN_LIMIT), metadata=described)
    return value


def fits(column: pw.Field | None, operator: str) -> bool:
    """True if an operator applies to a column. None means a reference, whose filter has its name.

    A list is filtered by an entry, a text also by a part of it.
    """
    if column is None:
        return operator == "eq"
    if isinstance(column, ListField):
        return operator in OF_LISTS
    if operator in OF_TEXT:
        return isinstance(column, pw.CharField | pw.TextField)
    return operator in OPERATORS and operator != "has"


def resolve(call: Call, collection: Readable, requested: Filter) -> Filter:
    """Turns a filter by the name of a reference into a filter by its column.

    An object that the caller may not view is treated as absent, so that no row matches.
    """
    reference = collection.expansions.get(requested.column)
    if reference is None:
        return requested
    target = call.services.collections[reference.collection]
    key = "id" if is_id(requested.value) else "slug"
    row = target.visible(call, requested.value, key) if key in target.model._meta.fields else None
    if row is not None and target.hidden(call, row, (key,)):
        row = None
    return Filter(reference.field, "eq", None if row is None else row["id"])


def condition(table: type[Record], form: Form, name: str, dialect: str) -> pw.Expression:
    """Returns a filter as an expression. `Filter.values` fills its Binds, whose names begin with `name`.

    As in SQL, a missing value matches only `isnull=true`.
    """
    column, operator, detail = table._meta.fields[form[0]], form[1], form[2]
    match operator:
        case "eq" | "ne" | "lt" | "lte" | "gt" | "gte":
            return cast("pw.Expression", _COMPARE[operator](column, Bind(name)))
        case "isnull":
            return column.is_null(detail)
        case "in":
            return column.in_([Bind(f"{name}.{index}") for index in range(detail)])
        case "startswith":
            # A range, because an index serves it.
            return (column >= Bind(name)) & (column < Bind(f"{name}.until"))
        case "contains":
            # LIKE on SQLite, ILIKE on Postgres. Both ignore the case of ASCII letters; SQLite compares others exactly.
            return pw.Expression(column, pw.OP.ILIKE, pw.NodeList((Bind(name), pw.SQL("ESCAPE '\\'"))))
        case "has":
            return cast("pw.Expression", holds(column, dialect, Bind(name)))
    raise LookupError(operator)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


_NUMBER = {"eq": "is exactly this", "ne": "is any other than this", "lt": "is less than this",
           "lte": "is at most this", "gt": "is more than this", "gte": "is at least this",
           "in": "is one of these, which are separated by commas"}
_TIME = {"eq": "at exactly this time", "ne": "at any other time than this", "lt": "before this time",
         "lte": "at this time or earlier", "gt": "after this time", "gte": "at this time or later",
         "in": "at one of these times, which are separated by commas"}
_REFERENCE = {"eq": "has this id", "ne": "has any other id than this",
              "in": "has one of these ids, which are separated by commas"}
_TEXT = {"eq": "is exactly this", "ne": "is any other than this", "lt": "sorts before this",
         "lte": "is this, or sorts before it", "gt": "sorts after this", "gte": "is this, or sorts after it",
         "in": "is one of these, which are separated by commas; one with a comma stands in double quotes",
         "contains": "contains this text", "startswith": "starts with this text"}
# A column with the name of an event: `published_at`.
_HAPPENED = "_at"


def words(name: str) -> str:
    """Returns a column's name as words: `category_id` is `category`, `owner_name` is `owner name`."""
    return name.removesuffix("_id").replace("_", " ")


def meaning(name: str, operator: str, declared: Any) -> str:
    """Returns the sentence about the filter of a column; `declared` is its field of a schema, or the column itself.

    Raises `LookupError` for an unknown operator.
    """
    subject, event = words(name), words(name.removesuffix(_HAPPENED))
    if operator == "isnull":
        if isinstance(declared, Time) and name.endswith(_HAPPENED):
            return f"Only rows that were never {event} (`true`), or only rows that were (`false`)."
        return f"Only rows without any {subject} (`true`), or only rows that have one (`false`)."
    if operator == "has":
        return f"Only rows that have this among their {subject}."
    match declared:
        case Time() if operator in _TIME and name.endswith(_HAPPENED):
            return f"Only rows {event} {_TIME[operator]}."
        case Time() if operator in _TIME:
            return f"Only rows whose {subject} is {_TIME[operator].removeprefix('at ')}."
        case Int() if operator in _NUMBER:
            return f"Only rows whose {subject} {_NUMBER[operator]}."
        case Bool() | fields.Boolean() if operator == "eq":
            return f"Only rows that are {subject} (`true`), or only rows that are not (`false`)."
        case Id() | IdField() if operator in _REFERENCE and name.endswith("_id"):
            return f"Only rows whose {subject} {_REFERENCE[operator]}."
        case _:
            return f"Only rows whose {subject} {_TEXT[operator]}."
