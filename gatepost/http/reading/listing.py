"""Page of a collection in the envelope of the client's choice, and all of its rows for an export.

The policy's plan, the client's filters and the table become one statement. A `Shape` (SQL text) is cached for each
combination of plan, filters, order and columns, so that a repeated query builds no SQL. A hidden row is neither found
nor counted, and nothing reveals it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import peewee as pw
from marshmallow import Schema, fields

from gatepost.http.protocol.messages import Message
from gatepost.http.protocol.preferences import preferences
from gatepost.http.protocol.problems import Fault, Problem
from gatepost.http.protocol.versions import sent_path
from gatepost.http.reading.filters import Filter, Form, condition, resolve
from gatepost.http.reading.query import MAX_OFFSET, ListQuery, ListRequest
from gatepost.http.reading.readable import Readable
from gatepost.http.request.access import NOTHING, Narrowing
from gatepost.http.request.call import Call
from gatepost.http.request.urls import url_of
from gatepost.http.schemas.documented import component_name
from gatepost.http.schemas.fields import StrictSchema
from gatepost.http.schemas.guarded import Guards
from gatepost.http.schemas.validation import BoundedCache
from gatepost.http.security.cursors import BACKWARD, Cursor, CursorError
from models import paging
from models.base import Rows, last_id, now
from models.engine.database import Database
from models.engine.prepared import Bind, cache_sql
from models.records import search
from models.records.columns import reader
from policies import IF, NEVER, Plan
from policies.evaluation.compiled import Picker, picking
from policies.evaluation.sql import Where

EXACT_UP_TO = 10_000
PUBLIC_FOR = 10  # seconds for which a shared cache may store a page for guests
_FILTER = tuple(f"filter {index}" for index in range(200))


class Listing:
    """List endpoint of one collection."""

    def __init__(self, collection: Readable, query: type[ListQuery] = ListQuery) -> None:
        self.collection = collection
        self._model = collection.model
        self.query = query(collection)
        self._selection = Selection(collection, self.query)

    def answer(self, call: Call) -> dict[str, Any]:
        """Returns the page and envelope that the query selects."""
        requested = self._list_request(call)
        narrowing = call.access.narrow(self.collection.view, self._model, requested.shared)
        if narrowing is None:
            raise call.access.refusal(self.collection.view)
        if self._is_public(call, requested):
            call.headers["Cache-Control"] = f"public, max-age={PUBLIC_FOR}"
        return self._page(call, requested, narrowing, self.collection.name)

    def within(self, call: Call, narrowing: Narrowing, name: str) -> dict[str, Any]:
        """Returns a page of the rows in `narrowing`, without the policy. Cursors of this list contain `name`."""
        return self._page(call, self._list_request(call), narrowing, name)

    def everything(self, call: Call, permission: str, size: int) -> Iterator[list[dict[str, Any]]]:
        """Yields all rows of the query that the caller may view and has `permission` for, `size` at a time."""
        requested, projection, shape, values = self._whole(call, permission, size)
        position = None
        while True:
            page = paging.walk(call.services.database, shape, values, size=size, position=position)
            if page.rows:
                yield self._items(call, requested, projection, page, (permission,))
            if not page.has_next:
                return
            position = page.last

    def check(self, call: Call, permission: str) -> None:
        """Raises `Problem` for a query that `everything` does not support. Needs an open connection."""
        self._whole(call, permission, 1)

    def _whole(self, call: Call, permission: str,
               size: int) -> tuple[ListRequest, Projection, paging.Shape, dict[str, Any]]:
        requested = self.query.interpret(call.query, tenant_id=call.tenant_id, default_size=size, max_size=size)
        narrowing = call.access.narrow(self.collection.view, self._model, requested.shared)
        also = call.access.narrow(permission, self._model)
        if narrowing is None or also is None:
            raise call.access.refusal(permission)
        projection = self._selection.projection(call, requested)
        shape, values = self._selection.shape(call, requested, projection, narrowing,
                                              also=None if also.where.is_everything else also)
        return requested, projection, shape, values

    def orders(self, call: Call) -> list[str]:
        """Returns the sort orders that the caller may use."""
        return [sort for sort in self.query.orders if not self._selection.hidden_keys(call, sort)]

    def envelope(self) -> Schema:
        """Returns the schema of both envelopes, for the documentation."""
        return page_schema(self.collection.answer)

    def _list_request(self, call: Call) -> ListRequest:
        settings = call.services.settings
        kind = "service" if call.principal.kind == "service" else call.principal.role
        most = settings.page_sizes.get(kind, settings.max_page_size)
        default = min(settings.page_size, most)
        return call.query.derive((default, most, call.tenant_id), lambda: self.query.interpret(
            call.query, tenant_id=call.tenant_id, default_size=default, max_size=most))

    # The two envelopes

    def _page(self, call: Call, requested: ListRequest, narrowing: Narrowing, name: str) -> dict[str, Any]:
        if requested.offset is not None:
            return self._by_number(call, requested, narrowing)
        return self._by_cursor(call, requested, narrowing, name)

    def _by_cursor(self, call: Call, requested: ListRequest, narrowing: Narrowing, name: str) -> dict[str, Any]:
        cursor = self._cursor(call, requested, name)
        projection = self._selection.projection(call, requested)
        shape, values = self._selection.shape(call, requested, projection, narrowing, cursor.snapshot)
        page = paging.walk(call.services.database, shape, values, size=requested.size, position=cursor.position,
                           backward=cursor.backward)
        after = cursor.at(page.last) if page.has_next and page.last is not None else None
        before = cursor.at(page.first) if page.has_prev and page.first is not None else None
        link_by_cursor(call, requested, after, before)
        return {"items": self._items(call, requested, projection, page), "next_cursor": after, "prev_cursor": before,
                "has_next": page.has_next, "has_prev": page.has_prev}

    def _cursor(self, call: Call, requested: ListRequest, name: str) -> Cursor:
        cursors, parameter = call.services.cursors, requested.cursor_parameter
        if parameter is None:
            return cursors.begin(name, requested.question, now() if requested.snapshot else None)
        try:
            return cursors.read(call.query[parameter], name, requested.question, backward=parameter == BACKWARD)
        except CursorError as error:
            raise Problem.of([error.fault(parameter=parameter)], "invalid_parameter") from None

    def _by_number(self, call: Call, requested: ListRequest, narrowing: Narrowing) -> dict[str, Any]:
        offset = requested.offset or 0
        projection = self._selection.projection(call, requested)
        shape, values = self._selection.shape(call, requested, projection, narrowing)
        page = paging.skip(call.services.database, shape, values, size=requested.size, offset=offset)
        link_by_number(call, requested, page.has_next)
        return {"items": self._items(call, requested, projection, page), "page": offset // requested.size + 1,
                "page_size": requested.size, **total(call, shape, values), "has_next": page.has_next}

    def _is_public(self, call: Call, requested: ListRequest) -> bool:
        """True if every guest gets this answer, independent of time and address: shared caches may store it."""
        collection = self.collection
        if call.principal.kind != "guest" or not set(collection.computed).isdisjoint(requested.names):
            return False
        if requested.shared == "only":
            return False
        names = {collection.expansions[name].collection for name in requested.expand}
        names |= {expansion.collection for by_client in requested.filters
                  if (expansion := collection.expansions.get(by_client.column))}
        peers = [collection, *(call.services.collections[name] for name in names)]
        return all(call.access.is_constant(permission) for peer in peers
                   for permission in {peer.view, *peer.guards_in(call.access.policy).by_field.values()})

    # Rows

    def _items(self, call: Call, requested: ListRequest, projection: Projection,
               page: paging.Page, also: tuple[str, ...] = ()) -> list[dict[str, Any]]:
        rows = [projection.read(row) for row in page.rows]
        for permission in (*projection.shown_by, *also):
            call.access.note_shown(permission, rows)
        if not projection.plain:
            return self.collection.represent(call, rows, requested.names, requested.expand)
        for pick, names in projection.withheld:
            shows = pick(call.principal, call.access.environment)
            for row in rows:
                if not shows(row):
                    for name in names:
                        del row[name]
        return rows


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """Columns that are read for a set of fields, and a function from a row to its values by name.

    plain     True if the values are the answer, apart from `withheld`: none is expanded, computed or from another table
    shown_by  permissions whose plans show rows and, if it is plain, fields
    withheld  guarded fields that only some rows show, each set with the test for a row that shows it
    """

    columns: tuple[pw.Field, ...]
    read: Callable[[tuple[Any, ...]], dict[str, Any]]
    plain: bool
    shown_by: tuple[str, ...]
    withheld: tuple[tuple[Picker, tuple[str, ...]], ...] = ()


class Selection:
    """Rows and columns that a list of one collection reads."""

    def __init__(self, collection: Readable, query: ListQuery) -> None:
        self._collection, self._model, self._query = collection, collection.model, query
        self._projections: BoundedCache[Projection] = BoundedCache()
        guards = collection.guards.keys()
        self._open_orders = frozenset(sort for sort in query.orders if guards.isdisjoint(keys_of(sort)))

    def shape(self, call: Call, requested: ListRequest, projection: Projection, narrowing: Narrowing,
              snapshot: str | None = None, also: Narrowing | None = None) -> tuple[paging.Shape, dict[str, Any]]:
        """Returns the SQL of a request, and the values that fill it. `also` is a further condition on rows."""
        collection, database = self._collection, call.services.database
        filters = [resolve(call, collection, by_client) for by_client in requested.filters]
        further = [*self._guards(call, requested, filters), *(() if also is None else (also,))]
        values: dict[str, Any] = {"tenant": call.tenant_id, **narrowing.values, **collection.moment()}
        for extra in further:
            values |= extra.values
        for name, by_client in zip(_FILTER, filters, strict=False):
            values |= by_client.values(name)
        is_rare = None
        if requested.q is not None:
            values["q"] = search.words(requested.q, call.tenant_id, database.dialect)
            is_rare = search.is_rare(database, self._model, values["q"])
        if snapshot is not None:
            values["snapshot"] = last_id(snapshot) if collection.age_column.name == "id" else snapshot
        return _shape(database, collection, self._query.orders[requested.sort], projection, narrowing.where,
                      tuple([extra.where for extra in further]), tuple([by_client.form for by_client in filters]),
                      is_rare, snapshot is not None), values

    def projection(self, call: Call, requested: ListRequest) -> Projection:
        """Returns the columns that a request reads and the caller may see."""
        guards = self._collection.guards_in(call.access.policy)
        plans = tuple([call.access.plan(group.permission) for group in guards.groups])
        return self._projections.get((requested.names, requested.expand == (), guards, plans),
                                     lambda: self._project(requested, guards, plans))

    def _project(self, requested: ListRequest, guards: Guards, plans: tuple[Plan, ...]) -> Projection:
        all_columns, representation = self._collection.columns, self._collection.representation
        whole = Projection(all_columns, reader(all_columns), False, (self._collection.view,))
        if requested.expand:
            return whole
        guarding = [(plan, group.fields) for plan, group in zip(plans, guards.groups, strict=True)]
        # A column can be a list whose entries have guarded fields.
        if any(not (group.outer - group.fields).isdisjoint(requested.names) for group in guards.groups):
            return whole
        hidden = {name for plan, fields in guarding if plan.outcome is NEVER for name in fields}
        names = tuple(name for name in requested.names if name not in hidden)
        withheld = [(plan, shown) for plan, fields in guarding
                    if plan.outcome is IF and (shown := fields.intersection(names))]
        # The test of a row reads columns, which the query must select.
        if not representation.direct(names) or any(
                plan.uses_shares or not plan.columns.issubset(names) for plan, _ in withheld):
            return whole
        columns = tuple(self._model._meta.fields[name] for name in names)
        shown_by = (group.permission for group in guards.groups if group.fields.intersection(names))
        return Projection(columns, reader(columns), True, (self._collection.view, *shown_by),
                          tuple((picking(plan), tuple(shown)) for plan, shown in withheld))

    def hidden_keys(self, call: Call, sort: str) -> list[str]:
        """Returns the keys of a sort order that are hidden from the caller in some row."""
        guards = self._collection.guards_in(call.access.policy).by_field
        return [key for key in keys_of(sort) if key in guards and not call.access.shows_all(guards[key])]

    def _guards(self, call: Call, requested: ListRequest, filters: list[Filter]) -> list[Narrowing]:
        """Returns conditions, so that a filter by a guarded field does not reveal rows whose field is hidden.

        Raises `Problem` (`invalid_parameter`) for an order by a field that is hidden in some row.
        """
        if not filters and requested.sort in self._open_orders:
            return []
        for key in self.hidden_keys(call, requested.sort):
            fault = Fault("invalid_parameter", Message("You may not sort by {field}.", field=key), parameter="sort")
            raise Problem.of([fault], "invalid_parameter")
        guards = self._collection.guards_in(call.access.policy).by_field
        permissions = dict.fromkeys(guards[by_client.column] for by_client in filters if by_client.column in guards)
        return [call.access.narrow(permission, self._model) or NOTHING for permission in permissions
                if not call.access.shows_all(permission)]


def keys_of(sort: str) -> list[str]:
    """Returns the fields of a sort order, such as `status,-created_at`."""
    return sort.replace("-", "").split(",")


@cache_sql
def _shape(database: Database, collection: Readable, order: paging.SortOrder, projection: Projection, where: Where,
           further: tuple[Where, ...], filters: tuple[Form, ...], is_rare: bool | None, has_snapshot: bool
           ) -> paging.Shape:
    """Returns the shape. `is_rare` is about the words of a search; None without a search."""
    model, rows, dialect = collection.model, Rows(collection.model, Bind("tenant")), database.dialect
    conditions = [condition(model, form, name, dialect) for name, form in zip(_FILTER, filters, strict=False)]
    if is_rare is not None:
        conditions.append(cast("pw.Expression", search.matching(model, dialect, Bind("q"))))
    if has_snapshot:
        conditions.append(collection.age_column <= Bind("snapshot"))
    conditions += [*collection.lasting, *(one.expression() for one in further)]

    def mine(by_id: bool) -> pw.Expression:
        return rows.sought(dialect) if by_id or is_rare else rows.mine

    if where.allows is None:
        return paging.Shape(model, projection.columns, order, (mine(False), *conditions), None, where.denies)
    # The tenant is in each branch, because not every branch uses an index that begins with it.
    branches = tuple(mine(by_id) & allow for by_id, allow in zip(where.by_id, where.allows, strict=True))
    return paging.Shape(model, projection.columns, order, tuple(conditions), branches, where.denies)


def page_schema(row: Schema) -> Schema:
    """Returns the schema of both envelopes around rows of answers, for the documentation."""
    text = fields.String(allow_none=True)
    return StrictSchema.from_dict({
        "items": fields.List(fields.Nested(row), required=True),
        "has_next": fields.Boolean(required=True), "has_prev": fields.Boolean(),
        "next_cursor": text, "prev_cursor": text,
        "page": fields.Integer(), "page_size": fields.Integer(),
        "total": fields.Integer(allow_none=True), "total_estimate": fields.Integer(),
    }, name=f"{component_name(type(row))}List")()


def total(call: Call, shape: paging.Shape, values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the total for `Prefer: count=` (RFC 7240): exact, none, or exact up to a bound."""
    call.headers["Vary"] = "Prefer"
    database, wish = call.services.database, _preferred_count(call)
    if wish is not None:
        call.headers["Preference-Applied"] = f"count={wish}"
    if wish == "none":
        return {}
    number = paging.count(database, shape, values, limit=None if wish == "exact" else EXACT_UP_TO + 1)
    if wish == "exact" or number <= EXACT_UP_TO:
        return {"total": number}
    return {"total": None, "total_estimate": max(number, paging.estimate(database, shape, values))}


def _preferred_count(call: Call) -> str | None:
    wish = preferences(call.request.headers.get("Prefer")).get("count", "").strip().lower()
    return wish if wish in ("exact", "none") else None


def link_by_cursor(call: Call, requested: ListRequest, after: str | None, before: str | None) -> None:
    """Adds `Link` (RFC 8288) to the first page and the neighbours, by cursor."""
    _link(call, requested.repeated, {"first": "", "next": after and f"cursor={after}",
                                     "prev": before and f"before={before}"})


def link_by_number(call: Call, requested: ListRequest, has_next: bool) -> None:
    """Adds `Link` to the first page and the neighbours, by the parameter of this request."""
    skipped = requested.offset or 0
    later: int | None = skipped + requested.size if has_next and skipped + requested.size <= MAX_OFFSET else None
    earlier = max(0, skipped - requested.size) if skipped else None

    def written(offset: int | None) -> str | None:
        if offset is None:
            return None
        return f"page={offset // requested.size + 1}" if requested.offset_parameter == "page" else f"offset={offset}"

    _link(call, requested.repeated, {"first": written(0), "next": written(later), "prev": written(earlier)})


def _link(call: Call, query: str, parameters: Mapping[str, str | None]) -> None:
    path, links = url_of(call.services.settings, call.request, sent_path(call.request)), []
    for relation, parameter in parameters.items():
        if parameter is not None:
            both = f"{query}&{parameter}" if query and parameter else query or parameter
            links.append(f'<{path}{"?" if both else ""}{both}>; rel="{relation}"')
    # In addition to the link to the successor of a deprecated part.
    call.headers["Link"] = ", ".join(filter(None, (call.headers.get("Link"), *links)))


# Names of the placeholders of a request's filters; the number of declared filters bounds them.
