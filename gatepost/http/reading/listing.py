"""One page of a collection, in the envelope that the client asks for; and all of its rows, for an export."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from marshmallow import Schema

from models import paging
from models.base import now

from ..protocol.problems import Fault, Problem
from ..request.access import Narrowing
from ..request.call import Call
from ..security.cursors import Cursor, CursorError
from . import envelopes
from .query import ListQuery, ListRequest
from .readable import Readable
from .selection import Projection, Selection


class Listing:
    """The list endpoint of one collection."""

    def __init__(self, collection: Readable, query: type[ListQuery] = ListQuery) -> None:
        self.collection = collection
        self._model = collection.model
        self.query = query(collection)
        self._selection = Selection(collection, self.query)

    def answer(self, call: Call) -> dict[str, Any]:
        """The page that the query asks for, in the envelope that it asks for."""
        asked = self._asked(call)
        narrowing = call.access.narrow(self.collection.view, self._model, asked.shared)
        if narrowing is None:
            raise call.access.refusal(self.collection.view)
        if self._is_public(call, asked):
            call.headers["Cache-Control"] = f"public, max-age={envelopes.PUBLIC_FOR}"
        return self._page(call, asked, narrowing, self.collection.name)

    def within(self, call: Call, narrowing: Narrowing, name: str) -> dict[str, Any]:
        """The page of the rows that `narrowing` leaves, whatever the policy says of them; `name` is that of this list
        in its cursors."""
        return self._page(call, self._asked(call), narrowing, name)

    def everything(self, call: Call, permission: str, size: int) -> Iterator[list[dict[str, Any]]]:
        """All rows that the query selects and that `permission` is granted on besides viewing, `size` at a time."""
        asked, projection, shape, values = self._whole(call, permission, size)
        position = None
        while True:
            page = paging.walk(call.services.database, shape, values, size=size, position=position)
            if page.rows:
                yield self._items(call, asked, projection, page, (permission,))
            if not page.has_next:
                return
            position = page.last

    def check(self, call: Call, permission: str) -> None:
        """Raises `Problem` for what `everything` cannot be asked for; the caller holds a connection."""
        self._whole(call, permission, 1)

    def _whole(self, call: Call, permission: str,
               size: int) -> tuple[ListRequest, Projection, paging.Shape, dict[str, Any]]:
        asked = self.query.interpret(call.query, tenant_id=call.tenant_id, default_size=size, max_size=size)
        narrowing = call.access.narrow(self.collection.view, self._model, asked.shared)
        also = call.access.narrow(permission, self._model)
        if narrowing is None or also is None:
            raise call.access.refusal(permission)
        projection = self._selection.projection(call, asked)
        shape, values = self._selection.shape(call, asked, projection, narrowing,
                                              also=None if also.everything else also)
        return asked, projection, shape, values

    def envelope(self) -> Schema:
        """The schema of both envelopes, for the documentation."""
        return envelopes.schema(self.collection.answer)

    def _asked(self, call: Call) -> ListRequest:
        settings = call.services.settings
        kind = "service" if call.principal.kind == "service" else call.principal.role
        most = settings.page_sizes.get(kind, settings.max_page_size)
        default = min(settings.page_size, most)
        return call.query.derive((default, most, call.tenant_id), lambda: self.query.interpret(
            call.query, tenant_id=call.tenant_id, default_size=default, max_size=most))

    # The two envelopes

    def _page(self, call: Call, asked: ListRequest, narrowing: Narrowing, name: str) -> dict[str, Any]:
        if asked.offset is not None:
            return self._by_number(call, asked, narrowing)
        return self._by_cursor(call, asked, narrowing, name)

    def _by_cursor(self, call: Call, asked: ListRequest, narrowing: Narrowing, name: str) -> dict[str, Any]:
        given = self._cursor(call, asked, name)
        snapshot = given.snapshot if given is not None else now() if asked.snapshot else None
        projection = self._selection.projection(call, asked)
        shape, values = self._selection.shape(call, asked, projection, narrowing, snapshot)
        page = paging.walk(call.services.database, shape, values, size=asked.size, backward=asked.backward,
                           position=None if given is None else given.position)

        def written(position: tuple[Any, ...] | None) -> str | None:
            if position is None:
                return None
            return call.services.cursors.write(name, Cursor(position, snapshot), asked.fingerprint)

        after = written(page.last) if page.has_next else None
        before = written(page.first) if page.has_prev else None
        envelopes.link_by_cursor(call, asked, after, before)
        return {"items": self._items(call, asked, projection, page), "next_cursor": after, "prev_cursor": before,
                "has_next": page.has_next, "has_prev": page.has_prev}

    def _cursor(self, call: Call, asked: ListRequest, name: str) -> Cursor | None:
        parameter = asked.cursor_parameter
        if parameter is None:
            return None
        try:
            return call.services.cursors.read(call.query[parameter], name, asked.fingerprint)
        except CursorError as error:
            fault = Fault(error.code, "Ask for the first page again.", parameter=parameter)
            raise Problem.of([fault], "invalid_parameter") from None

    def _by_number(self, call: Call, asked: ListRequest, narrowing: Narrowing) -> dict[str, Any]:
        offset = asked.offset or 0
        projection = self._selection.projection(call, asked)
        shape, values = self._selection.shape(call, asked, projection, narrowing)
        page = paging.skip(call.services.database, shape, values, size=asked.size, offset=offset)
        envelopes.link_by_number(call, asked, page.has_next)
        return {"items": self._items(call, asked, projection, page), "page": offset // asked.size + 1,
                "page_size": asked.size, **envelopes.total(call, shape, values), "has_next": page.has_next}

    def _is_public(self, call: Call, asked: ListRequest) -> bool:
        """Whether every guest is answered this, at any hour and from anywhere, so that shared caches may keep it."""
        collection = self.collection
        if call.principal.kind != "guest" or not set(collection.computed).isdisjoint(asked.names):
            return False
        if asked.shared == "only":
            return False
        followed = {collection.expansions[name].collection for name in asked.expand}
        followed |= {found.collection for one in asked.filters if (found := collection.expansions.get(one.column))}
        judged = [collection, *(call.services.collections[name] for name in followed)]
        return all(call.access.is_constant(permission) for one in judged
                   for permission in {one.view, *one.guards.values()})

    # Rows

    def _items(self, call: Call, asked: ListRequest, projection: Projection,
               page: paging.Page, also: tuple[str, ...] = ()) -> list[dict[str, Any]]:
        rows = [projection.read(row) for row in page.rows]
        for permission in (*projection.shown_by, *also):
            call.access.note_shown(permission, rows)
        if not projection.plain:
            return self.collection.represent(call, rows, asked.names, asked.expand)
        for picking, names in projection.withheld:
            shows = picking(call.principal, call.access.environment)
            for row in rows:
                if not shows(row):
                    for name in names:
                        del row[name]
        return rows
