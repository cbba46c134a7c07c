"""The query language of lists: what may stand in a query string, and what it means.

Filters, sorts and expansions are declared per collection; everything else here is the same for all. Nothing
of a query string reaches SQL as text: a filter picks a declared expression, its value is bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import peewee as pw
from marshmallow import Schema, ValidationError, fields, validate
from webargs.fields import DelimitedList

from models.keyset import Key, Order, order
from models.prepared import Bind

from .errors import Fault, Problem
from .fields import Bool, Id, Int, StrictSchema, Text, Time

if TYPE_CHECKING:
    from .collection import Collection

MAX_OFFSET = 10_000
COMPUTED = ("allowed_actions",)
_SIZES = ("limit", "page_size", "first", "last")
_CURSORS = ("cursor", "after", "before")
_IN_LIMIT = 100


class _Number(fields.Integer):
    """A whole number in a query string: ASCII digits, 64-bit at most."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:
        digits = value.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 19) or int(digits) >= 2**63:
            raise self.make_error("invalid", input=value)
        return int(value)


class _Switch(fields.Boolean):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(truthy={"true"}, falsy={"false"}, **kwargs)


@dataclass(frozen=True)
class Filter:
    """One filter of a request: `column` `operator` `value`."""

    column: str
    operator: str
    value: Any


@dataclass(frozen=True)
class ListRequest:
    """What a client asked a list for.

    page, offset  set in the page envelope only; `page` counts from 1
    position      text of the cursor to start from; `backward` walks towards the front
    """

    size: int
    sort: str
    names: tuple[str, ...]
    expand: tuple[str, ...]
    filters: tuple[Filter, ...]
    offset: int | None
    position: str | None
    backward: bool
    snapshot: bool


class ItemQuery:
    """The parameters of `GET /api/{collection}/{id}`: `fields` and `expand`."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self.schema: Schema = StrictSchema.from_dict(self._fields(), name=f"{type(collection).__name__}Item")()

    def _fields(self) -> dict[str, Any]:
        names = [*self._collection.representation.names, *COMPUTED]
        made: dict[str, Any] = {"fields": _names(names, "Which fields to answer, separated by commas.")}
        if self._collection.expand:
            made["expand"] = _names(self._collection.expand, "References to answer as objects beside their ids.")
        return made

    def read(self, loaded: Mapping[str, Any]) -> ListRequest:
        """The fields and expansions that were asked for."""
        return ListRequest(1, "", *self._shape(loaded), filters=(), offset=None, position=None, backward=False,
                           snapshot=False)

    def _shape(self, loaded: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        names = loaded.get("fields")
        return (self._collection.representation.names if names is None else tuple(dict.fromkeys(names)),
                tuple(dict.fromkeys(loaded.get("expand", ()))))


class ListQuery(ItemQuery):
    """The parameters of `GET /api/{collection}`."""

    def __init__(self, collection: Collection) -> None:
        self._filters = {_parameter(name, operator): (name, operator)
                         for name, operators in collection.filters.items() for operator in operators}
        self.orders = {text: _order(collection, text)
                       for declared in (*collection.sort, collection.default_sort)
                       for text in (declared, _reversed(declared))}
        super().__init__(collection)
        kind = type(collection).__name__
        self.schema = StrictSchema.from_dict({**self._fields(), **_paging()}, name=f"{kind}List")()
        self.selection = StrictSchema.from_dict(self._fields(), name=f"{kind}Selection")()

    def _fields(self) -> dict[str, Any]:
        """Which rows, in which order, with which fields: what a list and an export have in common."""
        made = super()._fields()
        made["sort"] = fields.String(validate=validate.OneOf(sorted(self.orders)), metadata={
            "description": f"The order of the rows; `-` is descending. Default: {self._collection.default_sort}."})
        made |= {parameter: _operand(self._collection, name, operator)
                 for parameter, (name, operator) in self._filters.items()}
        return made

    def interpret(self, loaded: Mapping[str, Any], *, default_size: int, max_size: int) -> ListRequest:
        """What the loaded parameters ask for.

        Raises `Problem`: `pagination_conflict`, `offset_too_large`, `invalid_parameter` for a size beyond
        `max_size`.
        """
        _refuse_conflicts(loaded)
        sizes = {name: loaded[name] for name in _SIZES if name in loaded}
        for name, asked in sizes.items():
            if asked > max_size:
                raise _out_of_range(name, f"At most {max_size} rows on a page.", 1, max_size)
        size = next(iter(sizes.values()), default_size)
        offset = loaded.get("offset")
        if "page" in loaded:
            offset = (loaded["page"] - 1) * size
        if offset is not None and offset > MAX_OFFSET:
            raise Problem.of([Fault("offset_too_large", f"At most {MAX_OFFSET} rows can be skipped; use cursors.",
                                    parameter="page" if "page" in loaded else "offset",
                                    meta={"max": MAX_OFFSET})], "invalid_parameter")
        names, expand = self._shape(loaded)
        filters = tuple(Filter(*self._filters[parameter], value) for parameter, value in loaded.items()
                        if parameter in self._filters)
        before = loaded.get("before")
        return ListRequest(
            size=size, sort=loaded.get("sort", self._collection.default_sort), names=names, expand=expand,
            filters=filters, offset=offset, position=before or loaded.get("after") or loaded.get("cursor"),
            backward=before is not None, snapshot=loaded.get("snapshot", False))


def condition(column: pw.Field, found: Filter, name: str) -> tuple[pw.Expression, dict[str, Any]]:
    """A filter as an expression with placeholders called after `name`, and the values that fill them.

    Missing values satisfy no filter but `isnull=true`, as in SQL.
    """
    value = found.value
    match found.operator:
        case "eq":
            return column == Bind(name), {name: value}
        case "ne":
            return column != Bind(name), {name: value}
        case "lt":
            return column < Bind(name), {name: value}
        case "lte":
            return column <= Bind(name), {name: value}
        case "gt":
            return column > Bind(name), {name: value}
        case "gte":
            return column >= Bind(name), {name: value}
        case "isnull":
            return column.is_null(value), {}
        case "in":
            values = {f"{name}.{index}": one for index, one in enumerate(value)}
            return column.in_([Bind(key) for key in values]), values
        case "startswith":
            # A range, because an index serves it; U+10FFFF is the last character there is.
            until = f"{name}.until"
            return (column >= Bind(name)) & (column < Bind(until)), {name: value, until: value + "\U0010ffff"}
        case "contains":
            escaped = value.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
            like = pw.NodeList((pw.fn.LOWER(column), pw.SQL("LIKE"), pw.fn.LOWER(Bind(name)), pw.SQL("ESCAPE '\\'")))
            return like, {name: f"%{escaped}%"}
    raise LookupError(found.operator)


def _paging() -> dict[str, Any]:
    """Which page of them."""
    made: dict[str, Any] = {
        name: _Number(validate=[validate.Range(min=1)], metadata={"description": "Rows on a page."})
        for name in _SIZES}
    made |= {name: fields.String(metadata={"description": "An opaque cursor from an earlier page."})
             for name in _CURSORS}
    made["page"] = _Number(metadata={"description": "Page number, from 1: answers the page envelope."},
                           validate=[validate.Range(min=1)])
    made["offset"] = _Number(metadata={"description": f"Rows to skip, at most {MAX_OFFSET}."},
                             validate=[validate.Range(min=0)])
    made["snapshot"] = _Switch(metadata={"description": "Leave out rows created after the first page was read."})
    return made


def _refuse_conflicts(loaded: Mapping[str, Any]) -> None:
    sizes = {loaded[name] for name in _SIZES if name in loaded}
    cursors = [name for name in _CURSORS if name in loaded]
    clashes = (
        ("page" in loaded and "offset" in loaded, "page and offset exclude each other."),
        (("page" in loaded or "offset" in loaded) and bool(cursors), "page and offset exclude cursors."),
        ("after" in loaded and "before" in loaded, "after and before exclude each other."),
        ("cursor" in loaded and len(cursors) > 1, "cursor is another name of after; send one cursor."),
        ("first" in loaded and ("before" in loaded or "last" in loaded), "first goes with after, last with before."),
        ("last" in loaded and "before" not in loaded, "last needs before."),
        (len(sizes) > 1, "The page sizes differ."),
    )
    for clash, detail in clashes:
        if clash:
            raise Problem("pagination_conflict", detail)


def _out_of_range(parameter: str, detail: str, low: int, high: int) -> Problem:
    fault = Fault("invalid_parameter", detail, parameter=parameter, meta={"min": low, "max": high})
    return Problem.of([fault], "invalid_parameter")


def _parameter(name: str, operator: str) -> str:
    return name if operator == "eq" else f"{name}__{operator}"


def _operand(collection: Collection, name: str, operator: str) -> fields.Field[Any]:
    about = {"description": f"Only rows whose {name} is {operator} this."}
    if operator == "isnull":
        return _Switch(metadata=about)
    declared = collection.schema().fields[name]
    value: fields.Field[Any]
    match declared:
        case Id():
            value = Id(metadata=about)
        case Time():
            value = Time(metadata=about)
        case Int():
            value = _Number(metadata=about)
        case Bool():
            value = _Switch(metadata=about)
        case _:
            value = Text(maximum=1000, minimum=0 if operator == "eq" else 1, metadata=about)
    if operator == "in":
        return DelimitedList(value, validate=validate.Length(min=1, max=_IN_LIMIT), metadata=about)
    return value


def _names(allowed: Sequence[str], about: str) -> fields.Field[Any]:
    known = frozenset(allowed)

    def check(names: list[str]) -> None:
        if wrong := [name for name in names if name not in known]:
            raise ValidationError(f"{wrong[0][:80]!r} is not one of {', '.join(allowed)}.")

    return DelimitedList(fields.String(), validate=check, metadata={"description": about})


def _order(collection: Collection, text: str) -> Order:
    columns = collection.model._meta.fields
    return order(*(Key(columns[key.removeprefix("-")], descending=key.startswith("-")) for key in text.split(",")))


def _reversed(text: str) -> str:
    return ",".join(key.removeprefix("-") if key.startswith("-") else f"-{key}" for key in text.split(","))
