"""Query language of lists: the parameters of a query string, and their meaning.

Filters, sorts and expansions are declared per collection; everything else is the same for all. No part of a query
string becomes SQL text: a filter selects a declared expression, and its value is bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args
from urllib.parse import urlencode

from marshmallow import Schema, fields

from gatepost.http.schemas.validation import LoadedQuery
from models.paging import Key, SortOrder, sort_order

from ..protocol.messages import Message
from ..protocol.problems import Fault, Problem
from ..request.access import Sharing
from ..schemas.documented import component_name
from ..schemas.fields import StrictSchema, Text, one_of
from ..schemas.parameters import Count, Switch, name_list
from ..security import cursors
from .filters import Filter, operand, parameter
from .readable import Readable

MAX_OFFSET = 10_000
SIZES = ("limit", "page_size", "first", "last")
NUMBERS = ("page", "offset")
_SIZE_TEXTS = {"limit": "How many rows a page has at most.", "page_size": "Another name of `limit`.",
               "first": "As `limit`, of pages that go forward: with `after`.",
               "last": "As `limit`, of pages that go back: with `before`, which it needs."}


@dataclass(frozen=True, slots=True)
class ListRequest:
    """Request of a client for a list, without its cursor: neighbouring pages share one.

    offset            rows to skip, only in the page envelope
    offset_parameter  its parameter: `page` or `offset`
    cursor_parameter  the parameter that holds the cursor
    shared            effect of shares on the rows
    question          `fingerprint` of the list, which its cursors belong to
    repeated          the query string of the links of this page: without cursor, offset and size
    """

    size: int
    names: tuple[str, ...]
    expand: tuple[str, ...] = ()
    sort: str = ""
    filters: tuple[Filter, ...] = ()
    q: str | None = None
    offset: int | None = None
    offset_parameter: str | None = None
    cursor_parameter: str | None = None
    snapshot: bool = False
    shared: Sharing = "include"
    question: str = ""
    repeated: str = ""


class ItemQuery:
    """Parameters of `GET /api/{collection}/{id}`: `fields` and `expand`."""

    def __init__(self, collection: Readable) -> None:
        self._collection = collection
        self._answered = (*collection.representation.names, *collection.computed)
        self.schema: Schema = self._schema("Item", self._fields() | self._expansions())

    def _schema(self, kind: str, parameters: dict[str, Any]) -> Schema:
        return StrictSchema.from_dict(parameters, name=type(self._collection).__name__ + kind)()

    def _fields(self) -> dict[str, Any]:
        about = "Fields to answer, separated by commas, and no others; without it, all of them."
        return {"fields": name_list(self._answered, about, f"{self._rows_called}Field")}

    def _expansions(self) -> dict[str, Any]:
        if not self._collection.expand:
            return {}
        about = "References to answer as objects beside their ids, separated by commas."
        return {"expand": name_list(self._collection.expand, about, f"{self._rows_called}Expansion")}

    @property
    def _rows_called(self) -> str:
        """Name of a row in the documentation."""
        return component_name(self._collection.schema)

    def read(self, loaded: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Returns the fields of the answer, and the references to expand."""
        requested, expand = loaded.get("fields"), tuple(dict.fromkeys(loaded.get("expand", ())))
        if requested is None:
            return self._collection.representation.names, expand
        # An expanded list is included, because it contains the objects: `items` for `items.product`.
        names = {*requested, *(self._collection.expansions[name].within for name in expand)}
        return tuple(name for name in self._answered if name in names), expand


class ListQuery(ItemQuery):
    """Parameters of `GET /api/{collection}`; `export_schema` has those of an export."""

    def __init__(self, collection: Readable) -> None:
        self._filters = {parameter(name, operator): (name, operator)
                         for name, operators in collection.filters.items() for operator in operators}
        self.orders = {text: _order(collection, text)
                       for declared in (*collection.sort, collection.default_sort)
                       for text in (declared, _reversed(declared))}
        # A filter of a plugin by a column of that name has priority.
        self._by_shares = collection.shares and "shared" not in self._filters
        super().__init__(collection)
        rows = self._fields() | self._rows()
        self.export_schema = self._schema("Selection", rows)
        self.schema = self._schema("List", rows | self._expansions() | _paging())

    def _rows(self) -> dict[str, Any]:
        """Returns the parameters of the rows and their order."""
        parameters: dict[str, Any] = {"sort": fields.String(validate=one_of(sorted(self.orders)), metadata={
            "description": "The order of the rows; `-` stands before what descends. "
                           f"Without it: `{self._collection.default_sort}`.",
            "component": f"{self._rows_called}Sort", "default": self._collection.default_sort})}
        if self._collection.search:
            parameters["q"] = Text(maximum=200, metadata={
                "description": f'Only rows that have all these words in {" or ".join(self._collection.search)}. '
                               'Words in double quotes must stand beside each other.'})
        if self._by_shares:
            parameters["shared"] = fields.String(validate=one_of(list(get_args(Sharing))), metadata={
                "description": "What becomes of rows that only a share opens to the caller: they are listed with the "
                               "others (`include`, the default), or left out (`exclude`). `only` lists nothing but "
                               "rows that are shared with the caller."})
        filters = {query_name: operand(self._collection, name, operator)
                   for query_name, (name, operator) in self._filters.items()}
        for query_name, (name, _) in self._filters.items():
            reference, field = self._collection.expansions.get(name), filters[query_name]
            if (guard := self._collection.guards.get(reference.field if reference else name)) is not None:
                field.metadata = {**field.metadata, "guard": guard}
        return parameters | filters

    def interpret(self, loaded: LoadedQuery, *, tenant_id: str, default_size: int, max_size: int) -> ListRequest:
        """Returns the request that the loaded parameters make, in a tenant.

        Raises `Problem`: `pagination_conflict`, `invalid_parameter` for what is out of range, `offset_too_large`.
        """
        _refuse_conflicts(loaded)
        size = _size(loaded, default_size, max_size)
        offset_parameter, offset = _offset(loaded, size)
        cursor_parameter = next((name for name in cursors.NAMES if name in loaded), None)
        shown, expand = self.read(loaded)
        sort, q = loaded.get("sort", self._collection.default_sort), loaded.get("q")
        filters = tuple(Filter(*self._filters[name], value) for name, value in loaded.items() if name in self._filters)
        shared: Sharing = loaded.get("shared", "include") if self._by_shares else "include"
        question = {f"{filter.column}__{filter.operator}": filter.value for filter in filters}
        if shared != "include":
            question["shared"] = shared
        return ListRequest(
            size=size, names=shown, expand=expand, sort=sort, filters=filters, q=q, offset=offset,
            offset_parameter=offset_parameter, cursor_parameter=cursor_parameter,
            snapshot=loaded.get("snapshot", False), shared=shared,
            question=cursors.fingerprint(filters=question, sort=sort, q=q, tenant=tenant_id),
            repeated=_repeated(loaded.sent, size))


def _paging() -> dict[str, Any]:
    """Returns the parameters of the page. Their ranges are not declared: the largest size depends on the role."""
    parameters: dict[str, Any] = {
        name: Count(metadata={"description": _SIZE_TEXTS[name], "minimum": 1}) for name in SIZES}
    parameters |= cursors.parameters()
    parameters["page"] = Count(metadata={"description": "The number of the page, from 1; instead of a cursor.",
                                         "minimum": 1})
    parameters["offset"] = Count(metadata={"description": "How many rows to skip; instead of a cursor.", "minimum": 0,
                                           "maximum": MAX_OFFSET})
    parameters["snapshot"] = Switch(metadata={
        "description": "Leave out rows created after the first page was read; with cursors alone."})
    return parameters


def _repeated(sent: Iterable[tuple[str, str]], size: int) -> str:
    pairs = [(name, text) for name, text in sent if name not in _PAGING]
    # `first` and `last` go with one direction only, `limit` with both.
    limit = [("limit", size)] if any(name in SIZES for name, _ in sent) else []
    return urlencode([*pairs, *limit])


def _refuse_conflicts(loaded: Mapping[str, Any]) -> None:
    if loaded.keys().isdisjoint(_PAGING):
        return
    places = [name for name in cursors.NAMES if name in loaded]
    clashes = (
        ("page" in loaded and "offset" in loaded, Message("page and offset exclude each other.")),
        (bool(places) and not loaded.keys().isdisjoint(NUMBERS), Message("page and offset exclude cursors.")),
        (loaded.get("snapshot") and not loaded.keys().isdisjoint(NUMBERS),
         Message("page and offset exclude snapshot.")),
        ("before" in loaded and len(places) > 1, Message("before excludes after, also by its other name, cursor.")),
        (_differ(loaded, ("cursor", "after")), Message("cursor is another name of after, and the two differ.")),
        ("first" in loaded and ("before" in loaded or "last" in loaded),
         Message("first goes with after, last with before.")),
        ("last" in loaded and "before" not in loaded, Message("last needs before.")),
        (_differ(loaded, SIZES), Message("The page sizes differ.")),
    )
    for clash, detail in clashes:
        if clash:
            raise Problem("pagination_conflict", detail)


PAGING = (*SIZES, *cursors.NAMES, *NUMBERS)
_PAGING = frozenset(PAGING)


def _differ(loaded: Mapping[str, Any], synonyms: Iterable[str]) -> bool:
    return len({loaded[name] for name in synonyms if name in loaded}) > 1


def _size(loaded: Mapping[str, Any], default: int, most: int) -> int:
    sizes = {name: loaded[name] for name in SIZES if name in loaded}
    if faults := [_out_of_range(name, 1, most) for name, size in sizes.items() if not 1 <= size <= most]:
        raise Problem.of(faults, "invalid_parameter")
    return next(iter(sizes.values()), default)


def _offset(loaded: Mapping[str, Any], size: int) -> tuple[str | None, int | None]:
    """Returns the parameter that skips rows, and their number; None with a cursor."""
    number = next((name for name in NUMBERS if name in loaded), None)
    if number is None:
        return None, None
    value, low = loaded[number], 1 if number == "page" else 0
    high = MAX_OFFSET // size + 1 if number == "page" else MAX_OFFSET
    if value < low:
        raise Problem.of([_out_of_range(number, low, high)], "invalid_parameter")
    if value > high:
        fault = Fault("offset_too_large", Message("{name} must be from {low} to {high}. Use cursors to read on.",
                                                  name=number, low=low, high=high),
                      parameter=number, meta={"min": low, "max": high})
        raise Problem.of([fault], "invalid_parameter")
    return number, (value - 1) * size if number == "page" else value


def _out_of_range(name: str, low: int, high: int) -> Fault:
    detail = Message("{name} must be from {low} to {high}.", name=name, low=low, high=high)
    return Fault("invalid_parameter", detail, parameter=name, meta={"min": low, "max": high})


def _order(collection: Readable, text: str) -> SortOrder:
    columns = collection.model._meta.fields
    return sort_order(*(Key(columns[key.removeprefix("-")], descending=key.startswith("-")) for key in text.split(",")))


def _reversed(text: str) -> str:
    return ",".join(key.removeprefix("-") if key.startswith("-") else f"-{key}" for key in text.split(","))
