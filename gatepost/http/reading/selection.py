"""The SQL of a list: the policy's plan, the client's filters and the table, in one statement.

A `Shape` (SQL text) is kept for every combination of plan, filters, order and columns that was asked for; a repeated
query builds no SQL. What the caller may not see is not found, not counted and not hinted at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import peewee as pw

from gatepost.http.schemas.validation import BoundedCache
from models import paging
from models.base import Rows
from models.engine.prepared import Bind
from models.records import search
from models.records.columns import reader
from policies import ALWAYS, IF, NEVER, Plan
from policies.evaluation.compiled import Picker, picking

from ..protocol.messages import Message
from ..protocol.problems import Fault, Problem
from ..request.access import NOTHING, Narrowing
from ..request.call import Call
from .filters import Filter, condition, resolve
from .query import ListQuery, ListRequest
from .readable import Readable

# Names of the placeholders of a request's filters; the number of declared filters bounds them.
_FILTER = tuple(f"filter {index}" for index in range(200))


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """Which columns are read for a set of fields, and how a row becomes its values by name.

    plain     the values are the answer but for what is withheld: no field is expanded, computed or from another table
    shown_by  the permissions by whose plans rows and, where it is plain, fields are shown
    withheld  guarded fields that are shown in some rows only, each set with the test of a row that shows it
    """

    columns: tuple[pw.Field, ...]
    read: Callable[[tuple[Any, ...]], dict[str, Any]]
    plain: bool
    shown_by: tuple[str, ...]
    withheld: tuple[tuple[Picker, tuple[str, ...]], ...] = ()


class Selection:
    """Which rows and columns a list of one collection reads."""

    def __init__(self, collection: Readable, query: ListQuery) -> None:
        self._collection, self._model, self._query = collection, collection.model, query
        self._shapes: BoundedCache[paging.Shape] = BoundedCache()
        self._projections: BoundedCache[Projection] = BoundedCache()

    def shape(self, call: Call, asked: ListRequest, projection: Projection, narrowing: Narrowing,
              snapshot: str | None = None, also: Narrowing | None = None) -> tuple[paging.Shape, dict[str, Any]]:
        """The SQL of a request, and the values that fill it. `also`: a further narrowing that rows must be in."""
        filters = [resolve(call, self._collection, found) for found in asked.filters]
        further = [*self._guards(call, asked, filters), *(() if also is None else (also,))]
        values: dict[str, Any] = {"tenant": call.tenant_id}
        database, rare = call.services.database, None
        for one in (narrowing, *further):
            values |= one.values
        conditions: list[pw.Expression] = []
        for name, found in zip(_FILTER, filters, strict=False):
            expression, bound = condition(self._model._meta.fields[found.column], found, name, database.dialect)
            conditions.append(expression)
            values |= bound
        if asked.q is not None:
            conditions.append(cast("pw.Expression", search.matching(self._model, database.dialect, Bind("q"))))
            values["q"] = search.words(asked.q, call.tenant_id, database.dialect)
            rare = search.is_rare(database, self._model, values["q"])
        if snapshot is not None:
            column, values["snapshot"] = self._collection.by_snapshot(snapshot)
            conditions.append(column <= Bind("snapshot"))
        conditions += self._collection.lasting
        values |= self._collection.moment()
        key = (database.dialect, narrowing.key, *(one.key for one in further), asked.sort, projection,
               snapshot is None, rare,
               tuple((found.column, found.operator, found.arity) for found in filters))
        conditions += [one.expression() for one in further]
        return self._shapes.get(key, lambda: self._build(
            asked, projection, narrowing, conditions, bool(rare), database.dialect)), values

    def projection(self, call: Call, asked: ListRequest) -> Projection:
        """How the rows of a request are read, as far as the caller may see them."""
        plans = tuple([call.access.plan(permission) for permission in self._collection.guarding])
        return self._projections.get((asked.names, asked.expand == (), plans), lambda: self._project(asked, plans))

    def _project(self, asked: ListRequest, plans: tuple[Plan, ...]) -> Projection:
        known, representation = self._collection.columns, self._collection.representation
        whole = Projection(known, reader(known), False, (self._collection.view,))
        if asked.expand:
            return whole
        guarding = list(zip(plans, self._collection.guarding.values(), strict=True))
        hidden = {name for plan, fields in guarding if plan.outcome is NEVER for name in fields}
        names = tuple(name for name in asked.names if name not in hidden)
        withheld = [(plan, kept) for plan, fields in guarding
                    if plan.outcome is IF and (kept := fields.intersection(names))]
        # The test of a row reads columns of it, which must be among those that are answered.
        if not representation.direct(names) or any(
                plan.uses_shares or not plan.columns.issubset(names) for plan, _ in withheld):
            return whole
        columns = tuple(self._model._meta.fields[name] for name in names)
        guards = (permission for permission, fields in self._collection.guarding.items() if fields.intersection(names))
        return Projection(columns, reader(columns), True, (self._collection.view, *guards),
                          tuple((picking(plan), tuple(kept)) for plan, kept in withheld))

    def _build(self, asked: ListRequest, projection: Projection, narrowing: Narrowing,
               conditions: list[pw.Expression], rare: bool, dialect: str) -> paging.Shape:
        rows = Rows(self._model, Bind("tenant"))

        def mine(sought: bool) -> pw.Expression:
            return rows.sought(dialect) if sought or rare else rows.mine

        columns, ordered = projection.columns, self._query.orders[asked.sort]
        if narrowing.branches is None:
            return paging.Shape(self._model, columns, ordered, (mine(False), *conditions), None, narrowing.denies)
        # The tenant stands in each branch, because not every branch is read by an index that begins with it.
        branches = tuple(mine(sought) & branch
                         for sought, branch in zip(narrowing.sought, narrowing.branches, strict=True))
        return paging.Shape(self._model, columns, ordered, tuple(conditions), branches, narrowing.denies)

    def _guards(self, call: Call, asked: ListRequest, filters: list[Filter]) -> list[Narrowing]:
        """What keeps a filter by a guarded field from telling of rows whose field is hidden.

        Raises `Problem` (`invalid_parameter`) for an order by a field that is hidden in some row.
        """
        guards = self._collection.guards
        for key in asked.sort.replace("-", "").split(","):
            if key in guards and call.access.plan(guards[key]).outcome is not ALWAYS:
                fault = Fault("invalid_parameter", Message("You may not sort by {field}.", field=key), parameter="sort")
                raise Problem.of([fault], "invalid_parameter")
        if not filters:
            return []
        asked_for = dict.fromkeys(guards[found.column] for found in filters if found.column in guards)
        found = [call.access.narrow(permission, self._model) or NOTHING for permission in asked_for]
        return [one for one in found if not one.everything]
