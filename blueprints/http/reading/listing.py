"""One page of a collection: the policy's plan, the client's query and the table, in one statement.

A `Shape` (SQL text) is kept for every combination of plan, filters, order and columns that was asked for;
a repeated query builds no SQL. What the caller may not see is not found, not counted and not hinted at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import peewee as pw
from marshmallow import Schema

from models.base import Rows, now
from models.engine.prepared import Bind
from models.lists import paging
from models.records import search

from ..protocol.messages import Message
from ..protocol.problems import Fault, Problem
from ..request.access import Narrowing
from ..request.call import Call
from ..schemas.bounded_cache import BoundedCache
from ..schemas.cursor_parameter import split
from ..schemas.records import answered
from ..security.cursors import Cursor, CursorError, fingerprint
from . import envelopes
from .filters import Filter, condition, resolve
from .query import ListQuery, ListRequest
from .readable import Readable


@dataclass(frozen=True, slots=True)
class Projection:
    """Which columns are read for a set of fields, and how a row becomes its values by name.

    plain  the values are the answer as they are: no field is guarded, expanded, computed or from another table
    """

    columns: tuple[pw.Field, ...]
    read: Callable[[tuple[Any, ...]], dict[str, Any]]
    plain: bool


@dataclass(frozen=True, slots=True)
class Walk:
    """What all pages of one walk through a list have in common: nothing here says where a page begins.

    question  the `fingerprint` that its cursors are bound to
    query     the query string that its links repeat
    """

    asked: ListRequest
    question: str
    query: str


class Listing:
    """The list endpoint of one collection."""

    def __init__(self, collection: Readable) -> None:
        self.collection = collection
        self._model = collection.model
        self.query = ListQuery(collection)
        self._walks: BoundedCache[Walk] = BoundedCache()
        self._shapes: BoundedCache[paging.Shape] = BoundedCache()
        self._projections: BoundedCache[Projection] = BoundedCache()

    def answer(self, call: Call) -> dict[str, Any]:
        """The page that the query asks for, in the envelope that it asks for."""
        walk = self._walk(call)
        asked = walk.asked
        narrowing = call.access.narrow(self.collection.view, self._model)
        if narrowing is None:
            raise call.access.refusal(self.collection.view)
        if self._is_public(call, asked):
            call.headers["Cache-Control"] = f"public, max-age={envelopes.PUBLIC_FOR}"
        if asked.offset is not None:
            return self._by_number(call, walk, narrowing)
        return self._by_cursor(call, walk, narrowing)

    def everything(self, call: Call, permission: str, size: int) -> Iterator[list[dict[str, Any]]]:
        """All rows that the query selects and that `permission` is granted on besides viewing, `size` at a time."""
        asked = self.query.interpret(call.query, default_size=size, max_size=size)
        narrowing = call.access.narrow(self.collection.view, self._model)
        also = call.access.narrow(permission, self._model)
        if narrowing is None or also is None:
            raise call.access.refusal(permission)
        shape, values = self._shape(call, asked, narrowing, also=None if also.everything else also)
        position = None
        while True:
            page = paging.walk(call.services.database, shape, values, size=size, position=position)
            if page.rows:
                yield self._items(call, asked, page)
            if not page.has_next:
                return
            position = page.last

    def envelope(self) -> Schema:
        """The schema of both envelopes, for the documentation."""
        return envelopes.schema(answered(self.collection.schema, self.collection.expand))

    def _walk(self, call: Call) -> Walk:
        settings = call.services.settings
        kind = "service" if call.principal.kind == "service" else call.principal.role
        most = settings.page_sizes.get(kind, settings.max_page_size)
        default = min(settings.page_size, most)
        rest, parameter, _ = split(call.request.query_string)
        return self._walks.get((rest, parameter, default, most, call.tenant_id),
                               lambda: self._begin(call, default, most), text=rest)

    def _begin(self, call: Call, default: int, most: int) -> Walk:
        asked = self.query.interpret(call.query, default_size=default, max_size=most)
        question = fingerprint(filters={f"{found.column}__{found.operator}": found.value for found in asked.filters},
                               sort=asked.sort, q=asked.q, tenant=call.tenant_id)
        return Walk(asked, question, envelopes.repeated(call, asked))

    # The two envelopes

    def _by_cursor(self, call: Call, walk: Walk, narrowing: Narrowing) -> dict[str, Any]:
        asked = walk.asked
        start = self._start(call, walk)
        snapshot = start.snapshot if start is not None else now() if asked.snapshot else None
        shape, values = self._shape(call, asked, narrowing, snapshot)
        page = paging.walk(call.services.database, shape, values, size=asked.size, backward=asked.backward,
                           position=None if start is None else start.position)

        def cursor(position: tuple[Any, ...] | None) -> str | None:
            if position is None:
                return None
            return call.services.cursors.write(self.collection.name, Cursor(position, snapshot), walk.question)

        after = cursor(page.last) if page.has_next else None
        before = cursor(page.first) if page.has_prev else None
        envelopes.link_by_cursor(call, walk.query, after, before)
        return {"items": self._items(call, asked, page), "next_cursor": after, "prev_cursor": before,
                "has_next": page.has_next, "has_prev": page.has_prev}

    def _start(self, call: Call, walk: Walk) -> Cursor | None:
        parameter = walk.asked.cursor
        if parameter is None:
            return None
        try:
            return call.services.cursors.read(call.query[parameter], self.collection.name, walk.question)
        except CursorError as error:
            fault = Fault(error.code, "Ask for the first page again.", parameter=parameter)
            raise Problem.of([fault], "invalid_parameter") from None

    def _by_number(self, call: Call, walk: Walk, narrowing: Narrowing) -> dict[str, Any]:
        asked, offset = walk.asked, walk.asked.offset or 0
        shape, values = self._shape(call, asked, narrowing, now() if asked.snapshot else None)
        page = paging.skip(call.services.database, shape, values, size=asked.size, offset=offset)
        envelopes.link_by_number(call, walk.query, asked, page.has_next)
        return {"items": self._items(call, asked, page), "page": offset // asked.size + 1,
                "page_size": asked.size, **envelopes.total(call, shape, values), "has_next": page.has_next}

    def _is_public(self, call: Call, asked: ListRequest) -> bool:
        """Whether every guest is answered this, at any hour and from anywhere, so that shared caches may keep it."""
        collection = self.collection
        if call.principal.kind != "guest" or not set(collection.computed).isdisjoint(asked.names):
            return False
        followed = {collection.expansions[name].collection for name in asked.expand}
        followed |= {found.collection for one in asked.filters if (found := collection.expansions.get(one.column))}
        judged = [collection, *(call.services.collections[name] for name in followed)]
        return all(call.access.is_constant(permission) for one in judged
                   for permission in (one.view, *((one.manage,) if one.guarded else ())))

    # Rows

    def _items(self, call: Call, asked: ListRequest, page: paging.Page) -> list[dict[str, Any]]:
        projection = self._projection(asked)
        rows = [projection.read(row) for row in page.rows]
        return rows if projection.plain else self.collection.represent(call, rows, asked.names, asked.expand)

    def _projection(self, asked: ListRequest) -> Projection:
        return self._projections.get((asked.names, asked.expand == ()), lambda: self._project(asked))

    def _project(self, asked: ListRequest) -> Projection:
        known, representation = self.collection.columns, self.collection.representation
        plain = not self.collection.guarded and not asked.expand and representation.direct(asked.names)
        columns = tuple(self._model._meta.fields[name] for name in asked.names) if plain else known
        return Projection(columns, representation.reader(columns), plain)

    def _shape(self, call: Call, asked: ListRequest, narrowing: Narrowing, snapshot: str | None = None,
               also: Narrowing | None = None) -> tuple[paging.Shape, dict[str, Any]]:
        """The SQL of a request, and the values that fill it."""
        filters = [resolve(call, self.collection, found) for found in asked.filters]
        further = [one for one in (self._guard(call, asked, filters), also) if one is not None]
        values: dict[str, Any] = {"tenant": call.tenant_id, "snapshot": snapshot}
        for one in (narrowing, *further):
            values |= one.values
        conditions = []
        for name, found in zip(_FILTER, filters, strict=False):
            expression, bound = condition(self._model._meta.fields[found.column], found, name)
            conditions.append(expression)
            values |= bound
        database, rare = call.services.database, None
        if asked.q is not None:
            conditions.append(search.matching(self._model, database.dialect, Bind("q")))
            values["q"] = search.words(asked.q)
            rare = search.is_rare(database, self._model, values["q"])
        if snapshot is not None:
            conditions.append(self._model._meta.fields[self.collection.born] <= Bind("snapshot"))
        key = (database.dialect, narrowing.key, *(one.key for one in further), asked.sort, asked.names,
               asked.expand == (), snapshot is None, rare,
               tuple((found.column, found.operator, found.arity) for found in filters))
        conditions += [one.expression() for one in further]
        return self._shapes.get(key, lambda: self._build(
            asked, narrowing, conditions, bool(rare), database.dialect)), values

    def _build(self, asked: ListRequest, narrowing: Narrowing, conditions: list[pw.Expression], rare: bool,
               dialect: str) -> paging.Shape:
        rows = Rows(self._model, Bind("tenant"))

        def mine(sought: bool) -> pw.Expression:
            return rows.sought(dialect) if sought or rare else rows.mine

        columns, ordered = self._projection(asked).columns, self.query.orders[asked.sort]
        if narrowing.branches is None:
            return paging.Shape(self._model, columns, ordered, (mine(False), *conditions), None, narrowing.denies)
        # The tenant stands in each branch, because not every branch is read by an index that begins with it.
        branches = tuple(mine(sought) & branch
                         for sought, branch in zip(narrowing.sought, narrowing.branches, strict=True))
        return paging.Shape(self._model, columns, ordered, tuple(conditions), branches, narrowing.denies)

    def _guard(self, call: Call, asked: ListRequest, filters: list[Filter]) -> Narrowing | None:
        """What keeps a filter or an order by a guarded field from telling of rows whose field is hidden."""
        guarded = self.collection.guarded
        sorted_by = [key for key in asked.sort.replace("-", "").split(",") if key in guarded]
        if not sorted_by and all(found.column not in guarded for found in filters):
            return None
        managed = call.access.narrow(self.collection.manage, self._model)
        if managed is not None and managed.everything:
            return None
        if sorted_by:
            fault = Fault("invalid_parameter", Message("You may not sort by {field}.", field=sorted_by[0]),
                          parameter="sort")
            raise Problem.of([fault], "invalid_parameter")
        return call.access.own(self._model, managed)


# Names of the placeholders of a request's filters; the number of declared filters bounds them.
_FILTER = tuple(f"filter {index}" for index in range(200))
