"""The SQL of a list: the policy's plan, the client's filters and the table, in one statement.

A `Shape` (SQL text) is kept for every combination of plan, filters, order and columns that was asked for; a repeated
query builds no SQL. What the caller may not see is not found, not counted and not hinted at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import peewee as pw

from models.base import Rows
from models.engine.prepared import Bind
from models.lists import paging
from models.records import search

from ..protocol.messages import Message
from ..protocol.problems import Fault, Problem
from ..request.access import Narrowing
from ..request.call import Call
from ..schemas.bounded_cache import BoundedCache
from .filters import Filter, condition, resolve
from .query import ListQuery, ListRequest
from .readable import Readable

# Names of the placeholders of a request's filters; the number of declared filters bounds them.
_FILTER = tuple(f"filter {index}" for index in range(200))


@dataclass(frozen=True, slots=True)
class Projection:
    """Which columns are read for a set of fields, and how a row becomes its values by name.

    plain  the values are the answer as they are: no field is guarded, expanded, computed or from another table
    """

    columns: tuple[pw.Field, ...]
    read: Callable[[tuple[Any, ...]], dict[str, Any]]
    plain: bool


class Selection:
    """Which rows and columns a list of one collection reads."""

    def __init__(self, collection: Readable, query: ListQuery) -> None:
        self._collection, self._model, self._query = collection, collection.model, query
        self._shapes: BoundedCache[paging.Shape] = BoundedCache()
        self._projections: BoundedCache[Projection] = BoundedCache()

    def shape(self, call: Call, asked: ListRequest, narrowing: Narrowing, snapshot: str | None = None,
              also: Narrowing | None = None) -> tuple[paging.Shape, dict[str, Any]]:
        """The SQL of a request, and the values that fill it. `also`: a further narrowing that rows must be in."""
        filters = [resolve(call, self._collection, found) for found in asked.filters]
        further = [one for one in (self._guard(call, asked, filters), also) if one is not None]
        values: dict[str, Any] = {"tenant": call.tenant_id, "snapshot": snapshot}
        for one in (narrowing, *further):
            values |= one.values
        conditions: list[pw.Expression] = []
        for name, found in zip(_FILTER, filters, strict=False):
            expression, bound = condition(self._model._meta.fields[found.column], found, name)
            conditions.append(expression)
            values |= bound
        database, rare = call.services.database, None
        if asked.q is not None:
            conditions.append(cast("pw.Expression", search.matching(self._model, database.dialect, Bind("q"))))
            values["q"] = search.words(asked.q)
            rare = search.is_rare(database, self._model, values["q"])
        if snapshot is not None:
            conditions.append(self._model._meta.fields[self._collection.born] <= Bind("snapshot"))
        key = (database.dialect, narrowing.key, *(one.key for one in further), asked.sort, asked.names,
               asked.expand == (), snapshot is None, rare,
               tuple((found.column, found.operator, found.arity) for found in filters))
        conditions += [one.expression() for one in further]
        return self._shapes.get(key, lambda: self._build(
            asked, narrowing, conditions, bool(rare), database.dialect)), values

    def projection(self, asked: ListRequest) -> Projection:
        """How the rows of a request are read."""
        return self._projections.get((asked.names, asked.expand == ()), lambda: self._project(asked))

    def _project(self, asked: ListRequest) -> Projection:
        known, representation = self._collection.columns, self._collection.representation
        plain = not self._collection.guarded and not asked.expand and representation.direct(asked.names)
        columns = tuple(self._model._meta.fields[name] for name in asked.names) if plain else known
        return Projection(columns, representation.reader(columns), plain)

    def _build(self, asked: ListRequest, narrowing: Narrowing, conditions: list[pw.Expression], rare: bool,
               dialect: str) -> paging.Shape:
        rows = Rows(self._model, Bind("tenant"))

        def mine(sought: bool) -> pw.Expression:
            return rows.sought(dialect) if sought or rare else rows.mine

        columns, ordered = self.projection(asked).columns, self._query.orders[asked.sort]
        if narrowing.branches is None:
            return paging.Shape(self._model, columns, ordered, (mine(False), *conditions), None, narrowing.denies)
        # The tenant stands in each branch, because not every branch is read by an index that begins with it.
        branches = tuple(mine(sought) & branch
                         for sought, branch in zip(narrowing.sought, narrowing.branches, strict=True))
        return paging.Shape(self._model, columns, ordered, tuple(conditions), branches, narrowing.denies)

    def _guard(self, call: Call, asked: ListRequest, filters: list[Filter]) -> Narrowing | None:
        """What keeps a filter or an order by a guarded field from telling of rows whose field is hidden."""
        guarded = self._collection.guarded
        sorted_by = [key for key in asked.sort.replace("-", "").split(",") if key in guarded]
        if not sorted_by and all(found.column not in guarded for found in filters):
            return None
        managed = call.access.narrow(self._collection.manage, self._model)
        if managed is not None and managed.everything:
            return None
        if sorted_by:
            fault = Fault("invalid_parameter", Message("You may not sort by {field}.", field=sorted_by[0]),
                          parameter="sort")
            raise Problem.of([fault], "invalid_parameter")
        return call.access.own(self._model, managed)
