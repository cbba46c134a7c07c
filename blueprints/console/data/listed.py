"""*Data*: the rows of every served collection that the caller may see.

A collection's pages and forms are endpoints of their own (`Routes.of_each`), so that each requires the collection's
own permissions and accepts its own filters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlencode

from flask import Response

from gatepost import Call, Collection, Endpoint, Fault, Message, Problem
from gatepost.collections.asking import ask
from gatepost.http.credentials.console_sessions import member
from gatepost.http.openapi.operations import operation_id
from gatepost.http.pipeline.conditional import version_for
from gatepost.http.reading.filters import parameter

from ..frame import page, routes, show, texts
from ..naming import found, sentence, title_parameter
from .fields import FLAG, OWN, OWNER, choices, currencies, kind_of, shown, summary
from .seen import Seen, seen
from .words import collection_called, field_called

ROOT = "/console/data"
_UNCOUNTED = ("audit",)  # to count its rows would be a look at them
_OWN_PARAMETERS = ("q", "sort", "cursor", "before", "owner", "as", "count", "select")
_OF_THE_PAGE = ("owner", "as", "count", "select")  # parameters that the API's list does not have
DELETE = "delete"


@dataclass(frozen=True, eq=False)
class Kind:
    """A collection as the console shows it, with what it serves: the name of an endpoint → the endpoint."""

    collection: Collection
    served: Mapping[str, Endpoint]

    @classmethod
    def of(cls, collection: Collection) -> Kind:
        return cls(collection, {endpoint.name: endpoint for endpoint in collection.served})

    @property
    def name(self) -> str:
        return self.collection.name

    @property
    def path(self) -> str:
        return f"{ROOT}/{self.name}"

    @property
    def actions(self) -> list[str]:
        return [found.name for found in self.collection.actions if found.name in self.served]

    def operation(self, name: str) -> str:
        """The `operationId` of an endpoint."""
        return operation_id(self.name, self.served[name])

    def filters(self, call: Call) -> dict[str, tuple[str, ...]]:
        """The fields that a list can be narrowed by to one of few values, and the values."""
        collection, may = self.collection, call.access.may_ever
        found = {}
        for name, operators in collection.filters.items():
            field = collection.body_schema.fields.get(name)
            values = ("true", "false") if kind_of(field) == FLAG else choices(
                call, collection, collection.body_schema, name)
            guard = collection.guards.get(name)
            if "eq" in operators and values and (guard is None or may(guard)):
                found[name] = values
        return found


def listed(call: Call) -> dict[str, Kind]:
    """Returns the collections with rows that the caller may see, by name."""
    known = (Kind.of(cast(Collection, one)) for one in call.services.collections.values())
    return {kind.name: kind for kind in known if "list" in kind.served and call.access.may_ever(kind.collection.view)}


@routes.get(ROOT, **page(public="it tells of the collections that the caller may see", identify=member))
def collections(call: Call) -> Response:
    """Show which collections there are."""
    kinds, rows = listed(call), []
    for name, kind in kinds.items():
        rows.append({"name": name, "path": kind.path, "title": collection_called(name),
                     "count": _count(call, kind) if name not in _UNCOUNTED else "",
                     "create": "create" in kind.served
                     and call.access.may_ever(kind.collection.permission("create"))})
    return show(call, "data.html", rows=rows)


@routes.of_each
def pages(collection: Collection) -> Iterator[Endpoint]:
    """The page of a collection's rows."""
    kind = Kind.of(collection)
    if "list" not in kind.served:
        return

    def handler(call: Call) -> Response:
        return rows_page(call, kind)

    yield Endpoint(name=f"data_{collection.name}", method="GET", path=kind.path, handler=handler,
                   summary=f"Show {collection.name}.",
                   **page(collection.view, narrows=True, identify=member, query=texts(*parameter_names(collection))))


def parameter_names(collection: Collection) -> list[str]:
    """Returns the names of the query parameters of a list."""
    return sorted({*_OWN_PARAMETERS, *(name for name, operators in collection.filters.items() if "eq" in operators)})


def rows_page(call: Call, kind: Kind, refusal: Problem | None = None) -> Response:
    """Returns the page of a list, with the `refusal` of what was tried on its rows."""
    collection, parameters = kind.collection, {name: text for name, text in call.query.items() if text}
    parameters.pop("lang", None)
    names = [name for name in collection.representation.names if name not in OWN]
    head, columns = columns_of(collection, names)
    problem, whose = "" if refusal is None else sentence(call, refusal), None
    page_of = dict[str, Any](items=[], next_cursor=None, prev_cursor=None)
    say = call.services.translations.wanted(call.request).say
    try:
        query = _query(call, kind, parameters)
        fields = ["id", *([head] if head else []), *columns, *currencies(collection, columns), *_actions(collection)]
        page_of = ask(call, kind.operation("list"), {**query, "fields": ",".join(fields)})
        if parameters.get("as"):
            whose = seen(call, kind.name, parameters["as"], [row["id"] for row in page_of["items"]])
    except Problem as wrong:
        if wrong.status not in (400, 403, 404):
            raise
        problem = sentence(call, wrong)
    if page_of["items"]:  # a column that is hidden in every row is left out
        columns = [name for name in columns if any(name in row for row in page_of["items"])]
    verbs_by_id = {} if parameters.get("as") else _verbs_by_id(call, kind, page_of["items"])
    verbs = [verb for verb in verbs_of(kind) if any(verb in some for some in verbs_by_id.values())]
    return show(call, "data_rows.html", kind=kind, title=collection_called(kind.name), parameters=parameters,
                problem=problem, head=field_called(head) if head else Message("ID"),
                heads=[(field_called(name), kind_of(collection.body_schema.fields.get(name))) for name in columns],
                rows=_drawn(call, kind, page_of["items"], head, columns, whose),
                filters=[(name, field_called(name), values) for name, values in kind.filters(call).items()],
                orders=[(order, _order_called(order, say)) for order in collection.listing.orders(call)],
                whose=whose, may_ask=call.access.may_ever("policy.view"),
                searched=bool(collection.search or title_parameter(collection)),
                owned=_owner_parameter(collection) is not None, total=_total(call, kind, parameters),
                later=_link(parameters, "cursor", page_of["next_cursor"]),
                earlier=_link(parameters, "before", page_of["prev_cursor"]), counting=_link(parameters, "count", "yes"),
                verbs=verbs, boxes=_boxes(call, kind, [id for id, some in verbs_by_id.items() if some]),
                whole=parameters.get("select") == "all",
                everything=_link(parameters, "select", "all", kept=("cursor", "before")),
                filtered=urlencode({name: text for name, text in parameters.items() if name != "select"}),
                exported=_exported(call, kind, parameters), create=_may(call, kind, "create"),
                imports=_may(call, kind, "import"))


def _may(call: Call, kind: Kind, name: str) -> bool:
    return name in kind.served and call.access.may_ever(kind.collection.permission(name))


def columns_of(collection: Collection, names: Sequence[str]) -> tuple[str, list[str]]:
    """Returns the field that names a row, and the columns beside it: as declared, or else a few by their kinds."""
    head, columns = summary(collection, names)
    declared = [name for name in collection.overview if name in names and name != head]
    return head, declared or columns


def verbs_of(kind: Kind) -> list[str]:
    """Returns what can be done to several rows: the actions that need no further input, and the deletion."""
    plain = [action.name for action in kind.collection.actions
             if action.name in kind.served and not action.body.load_fields]
    return [*plain, *([DELETE] if DELETE in kind.served else [])]


def _actions(collection: Collection) -> list[str]:
    return [name for name in collection.computed if name == "allowed_actions"]


def _verbs_by_id(call: Call, kind: Kind, items: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Returns id → those of `verbs_of` that the caller may do to the row."""
    verbs = [verb for verb in verbs_of(kind) if call.access.may_ever(kind.collection.permission(verb))]
    return {item["id"]: [verb for verb in verbs if verb in item.get("allowed_actions", verbs)] for item in items}


def _boxes(call: Call, kind: Kind, ids: Sequence[str]) -> dict[str, str]:
    """Returns id → the value of the row's check box: its id and its version, as this caller would send it."""
    if not ids:
        return {}
    guard = kind.collection.guards.get("version")
    return {row.id: f"{row.id} {version_for(call, row.__data__, guard)}"
            for row in kind.collection.rows(call).find_all(ids)}


def _exported(call: Call, kind: Kind, parameters: Mapping[str, str]) -> str:
    """Returns the query of an export of all rows of this list; "" if there is no export."""
    if not _may(call, kind, "export"):
        return ""
    try:
        query = _query(call, kind, parameters)
    except Problem:
        return ""
    kept = {name: text for name, text in query.items() if name not in ("cursor", "before")}
    return f"?{urlencode(kept)}" if kept else "?"


def _drawn(call: Call, kind: Kind, items: Sequence[Mapping[str, Any]], head: str, columns: Sequence[str],
           whose: Seen | None) -> list[dict[str, Any]]:
    rows = []
    for item, fields in zip(items, shown(call, kind.collection, items, columns), strict=True):
        as_seen = None if whose is None else whose.of(item["id"])
        by_name = {field.name: field for field in fields}
        text = str(item.get(head) or "")
        rows.append({"id": item["id"], "title": text, "seen": as_seen,
                     "fields": [by_name.get(name) for name in columns],
                     "may_delete": "get" not in kind.served and "delete" in possible(call, kind, item["id"], None)})
    return rows


def possible(call: Call, kind: Kind, id: str, allowed: Sequence[str] | None) -> list[str]:
    """Returns the actions on a row that the console offers to the caller.

    These are the `allowed` ones if given, else those that both the rules and the collection's own code allow.
    """
    collection = kind.collection
    verbs = [verb for verb in ("update", "delete", "share", *kind.actions) if verb in kind.served]
    if allowed is not None:
        return [verb for verb in verbs if verb in allowed]
    row = collection.rows(call).find(id)
    if row is None or not collection.shows(call, row.__data__):
        return []
    hidden = set(collection.hidden(call, row.__data__, list(collection.guards)))

    def refused(verb: str) -> bool:
        return any(rule.refuses and hidden.isdisjoint(rule.reads)
                   for rule in collection.rules_in_code(call, verb, row))

    return [verb for verb in verbs
            if call.access.would_allow(collection.permission(verb), row.__data__) and not refused(verb)]


def _query(call: Call, kind: Kind, parameters: Mapping[str, str]) -> dict[str, str]:
    """Returns the query of the API's list for that of the page. Raises `Problem` for an unknown owner."""
    query = {name: text for name, text in parameters.items() if name not in _OF_THE_PAGE}
    if "q" in query and not kind.collection.search:
        query[title_parameter(kind.collection) or "q"] = query.pop("q")
    owner = _owner_parameter(kind.collection)
    if parameters.get("owner") and owner is not None:
        ids = [id for id, _ in found(call, "users", parameters["owner"])]
        if not ids:
            raise Problem.of([Fault("invalid_parameter", "There is no such user, or you may not see them.",
                                    parameter="owner")], "invalid_parameter")
        if owner == OWNER and len(ids) > 1:
            raise Problem.of([Fault("invalid_parameter", "Several users have this name. Enter the full e-mail address.",
                                    parameter="owner")], "invalid_parameter")
        query[owner] = ",".join(ids)
    return query


def _owner_parameter(collection: Collection) -> str | None:
    operators = collection.filters.get(OWNER, ())
    return next((parameter(OWNER, one) for one in ("in", "eq") if one in operators), None)


def _total(call: Call, kind: Kind, parameters: Mapping[str, str]) -> str:
    if not parameters.get("count"):
        return ""
    try:
        return _count(call, kind, {name: text for name, text in _query(call, kind, parameters).items()
                                   if name not in ("cursor", "before")})
    except Problem:
        return ""


def _count(call: Call, kind: Kind, query: Mapping[str, str] | None = None) -> str:
    answer = ask(call, kind.operation("list"), {**(query or {}), "page": 1, "limit": 1, "fields": "id"})
    return str(answer["total"]) if answer.get("total") is not None else f"> {answer.get('total_estimate', 0)}"


def _link(parameters: Mapping[str, str], name: str, value: str | None, kept: Sequence[str] = ()) -> str:
    """Returns the query of the page with another parameter; "" without a value. `kept` stay, though of one page."""
    query = {one: text for one, text in parameters.items() if one not in ("cursor", "before", "select") or one in kept}
    return f"?{urlencode({**query, name: value})}" if value else ""


def _order_called(order: str, say: Any) -> str:
    keys = [(key.removeprefix("-"), key.startswith("-")) for key in order.split(",")]
    names = [say(Message("{field}, descending", field=field_called(name))) if falling
             else say(field_called(name)) for name, falling in keys]
    return "; ".join(map(str, names))
