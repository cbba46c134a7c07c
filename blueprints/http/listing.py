"""One page of a collection: the policy's plan, the client's query and the table, in one statement.

A `Shape` (SQL text) is kept for every combination of plan, filters, order and columns that was asked for;
a repeated query builds no SQL. What the caller may not see is not found, not counted and not hinted at.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import peewee as pw
from marshmallow import Schema, fields

from models import paging
from models.base import Rows, now
from models.prepared import Bind

from .access import Narrowing
from .call import Call
from .cursors import Cursor, CursorError, fingerprint
from .errors import Fault, Problem
from .fields import StrictSchema
from .query import COMPUTED, Filter, ListQuery, ListRequest, condition

if TYPE_CHECKING:
    from .collection import Collection

EXACT_UP_TO = 10_000
_SHAPES = 512  # a client that varies its query without end must not fill the memory


class Listing:
    """The list endpoint of one collection."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._model = collection.model
        self.query = ListQuery(collection)
        self._shapes: dict[tuple[Any, ...], paging.Shape] = {}
        self._reader = lru_cache(maxsize=_SHAPES)(collection.representation.reader)

    def answer(self, call: Call) -> dict[str, Any]:
        """The page that the query asks for, in the envelope that it asks for."""
        asked = self._asked(call)
        narrowing = call.access.narrow(self._collection.view, self._model)
        if narrowing is None:
            raise call.access.refusal(self._collection.view)
        question = fingerprint(filters=_question(asked.filters), sort=asked.sort, q=None, tenant=call.tenant_id)
        start = self._start(call, asked, question)
        snapshot = start.snapshot if start is not None else now() if asked.snapshot else None
        shape, values = self._shape(call, asked, narrowing, snapshot)
        if asked.offset is not None:
            return self._by_number(call, asked, shape, values)
        return self._by_cursor(call, asked, shape, values, start, question, snapshot)

    def everything(self, call: Call, permission: str, size: int) -> Iterator[list[dict[str, Any]]]:
        """All rows that the query selects and that `permission` is granted on besides viewing, `size` at a time."""
        asked = self.query.interpret(call.query, default_size=size, max_size=size)
        narrowing = call.access.narrow(self._collection.view, self._model)
        also = call.access.narrow(permission, self._model)
        if narrowing is None or also is None:
            raise call.access.refusal(permission)
        shape, values = self._shape(call, asked, narrowing, None, None if also.everything else also)
        position = None
        while True:
            page = paging.walk(call.services.database, shape, values, size=size, position=position)
            if page.rows:
                yield self._items(call, asked, shape, page)
            if not page.has_next:
                return
            position = page.last

    def envelope(self) -> Schema:
        """The schema of both envelopes, for the documentation."""
        text = fields.String(allow_none=True)
        return StrictSchema.from_dict({
            "items": fields.List(fields.Nested(self._collection.schema), required=True),
            "has_next": fields.Boolean(required=True), "has_prev": fields.Boolean(),
            "next_cursor": text, "prev_cursor": text,
            "page": fields.Integer(), "page_size": fields.Integer(),
            "total": fields.Integer(allow_none=True), "total_estimate": fields.Integer(),
        }, name=f"{self._collection.schema.__name__}Page")()

    def _asked(self, call: Call) -> ListRequest:
        settings = call.services.settings
        kind = "service" if call.principal.kind == "service" else call.principal.role
        most = settings.page_sizes.get(kind, settings.max_page_size)
        return self.query.interpret(call.query, default_size=min(settings.page_size, most), max_size=most)

    def _start(self, call: Call, asked: ListRequest, question: str) -> Cursor | None:
        if asked.position is None:
            return None
        try:
            return call.services.cursors.read(asked.position, self._collection.name, question)
        except CursorError as error:
            parameter = next(name for name in ("cursor", "after", "before") if name in call.query)
            fault = Fault(error.code, "Ask for the first page again.", parameter=parameter)
            raise Problem.of([fault], "invalid_parameter") from None

    # The two envelopes

    def _by_cursor(self, call: Call, asked: ListRequest, shape: paging.Shape, values: dict[str, Any],
                   start: Cursor | None, question: str, snapshot: str | None) -> dict[str, Any]:
        page = paging.walk(call.services.database, shape, values, size=asked.size, backward=asked.backward,
                           position=None if start is None else start.position)

        def cursor(position: tuple[Any, ...] | None) -> str | None:
            if position is None:
                return None
            return call.services.cursors.write(self._collection.name, Cursor(position, snapshot), question)

        after = cursor(page.last) if page.has_next else None
        before = cursor(page.first) if page.has_prev else None
        _link(call, {"first": {}, "next": after and {"cursor": after}, "prev": before and {"before": before}})
        return {"items": self._items(call, asked, shape, page), "next_cursor": after, "prev_cursor": before,
                "has_next": page.has_next, "has_prev": page.has_prev}

    def _by_number(self, call: Call, asked: ListRequest, shape: paging.Shape, values: dict[str, Any],
                   ) -> dict[str, Any]:
        offset = asked.offset or 0
        page = paging.skip(call.services.database, shape, values, size=asked.size, offset=offset)
        number = offset // asked.size + 1
        _link(call, {"first": {"page": 1}, "next": {"page": number + 1} if page.has_next else None,
                     "prev": {"page": number - 1} if number > 1 else None})
        answer = {"items": self._items(call, asked, shape, page), "page": number, "page_size": asked.size}
        return answer | self._total(call, shape, values) | {"has_next": page.has_next}

    def _total(self, call: Call, shape: paging.Shape, values: dict[str, Any]) -> dict[str, Any]:
        """The total as RFC 7240's `Prefer: count=` asks: exact, none, or exact up to a bound."""
        database, wish = call.services.database, _preferred_count(call)
        if wish is not None:
            call.headers["Preference-Applied"] = f"count={wish}"
        if wish == "none":
            return {}
        total = paging.count(database, shape, values, limit=None if wish == "exact" else EXACT_UP_TO + 1)
        if wish == "exact" or total <= EXACT_UP_TO:
            return {"total": total}
        return {"total": None, "total_estimate": max(total, paging.estimate(database, shape, values))}

    # Rows

    def _items(self, call: Call, asked: ListRequest, shape: paging.Shape, page: paging.Page) -> list[dict[str, Any]]:
        read = self._reader(shape.columns)
        return self._collection.represent(call, [read(row) for row in page.rows], asked.names, asked.expand)

    def _columns(self, asked: ListRequest) -> tuple[pw.Field, ...]:
        collection = self._collection
        whole = collection.guarded or asked.expand or any(name in asked.names for name in COMPUTED)
        if whole or asked.names == collection.representation.names:
            return collection.columns
        wanted = {"id", *asked.names}
        return tuple(column for column in collection.columns if column.name in wanted)

    def _shape(self, call: Call, asked: ListRequest, narrowing: Narrowing, snapshot: str | None,
               also: Narrowing | None = None) -> tuple[paging.Shape, dict[str, Any]]:
        values: dict[str, Any] = {**narrowing.values, "tenant": call.tenant_id, "snapshot": snapshot}
        further = [one for one in (self._guard(call, asked), also) if one is not None]
        for one in further:
            values |= one.values
        filters = []
        for index, found in enumerate(asked.filters):
            expression, bound = condition(self._model._meta.fields[found.column], found, _FILTER[index])
            filters.append(expression)
            values |= bound
        key = (narrowing.key, *(one.key for one in further), asked.sort, self._columns(asked), snapshot is not None,
               tuple((found.column, found.operator, _arity(found)) for found in asked.filters))
        shape = self._shapes.get(key)
        if shape is None:
            if len(self._shapes) >= _SHAPES:
                self._shapes.clear()
            shape = self._shapes[key] = self._build(asked, narrowing, further, filters, snapshot)
        return shape, values

    def _build(self, asked: ListRequest, narrowing: Narrowing, further: list[Narrowing],
               filters: list[pw.Expression], snapshot: str | None) -> paging.Shape:
        tenant = Rows(self._model, Bind("tenant"))
        conditions = [tenant.mine, *filters, *(one.expression() for one in further)]
        if snapshot is not None:
            conditions.append(self._model.created_at <= Bind("snapshot"))
        return paging.Shape(self._model, self._columns(asked), self.query.orders[asked.sort], tuple(conditions),
                            narrowing.branches, narrowing.denies)

    def _guard(self, call: Call, asked: ListRequest) -> Narrowing | None:
        """What keeps a filter or an order by a guarded field from telling of rows whose field is hidden."""
        guarded = self._collection.guarded
        touched = [found.column for found in asked.filters if found.column in guarded]
        sorted_by = [key.removeprefix("-") for key in asked.sort.split(",") if key.removeprefix("-") in guarded]
        if not touched and not sorted_by:
            return None
        managed = call.access.narrow(self._collection.manage, self._model)
        if managed is not None and managed.everything:
            return None
        if sorted_by:
            fault = Fault("invalid_parameter", f"You may not sort by {sorted_by[0]}.", parameter="sort")
            raise Problem.of([fault], "invalid_parameter")
        return call.access.own(self._model, managed)


# Names of the placeholders of a request's filters; the number of declared filters bounds them.
_FILTER = tuple(f"filter {index}" for index in range(200))


def _question(filters: tuple[Filter, ...]) -> dict[str, Any]:
    return {f"{found.column}__{found.operator}": found.value for found in filters}


def _arity(found: Filter) -> Any:
    """What of a filter's value shapes the SQL: how many are in the list, whether null is wanted."""
    if found.operator == "in":
        return len(found.value)
    return found.value if found.operator == "isnull" else None


def _preferred_count(call: Call) -> str | None:
    for preference in call.request.headers.get("Prefer", "").split(","):
        name, _, value = preference.strip().partition("=")
        if name.strip().lower() == "count" and value.strip().strip('"') in ("exact", "none"):
            return value.strip().strip('"')
    return None


def _link(call: Call, targets: dict[str, Any]) -> None:
    """`Link` (RFC 8288): this query again, from another place."""
    kept = [(name, value) for name, value in call.request.args.items(multi=True)
            if name not in ("cursor", "after", "before", "page", "offset")]
    parts = [f'<{call.request.path}?{urlencode([*kept, *target.items()])}>; rel="{relation}"'
             for relation, target in targets.items() if target is not None]
    call.headers["Link"] = ", ".join(parts)
