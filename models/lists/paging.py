"""Pages of rows whose cost does not grow with their depth.

A `Shape` is everything that decides the SQL text of a list; what differs from request to request is bound as
values. So a page of a known shape, at whatever depth and for any caller, builds no query.

A caller who may see rows for k different reasons gets k branches in one statement, each served by an index of
its own: their positions are merged in order, each once, and only the rows of this page are read whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import peewee as pw

from models.engine.database import Database
from models.engine.prepared import Bind, Prepared, prepare
from models.lists.keyset import Conditions, Key, Position, SortOrder, Start, bind, sort_order
from models.lists.shape import Shape
from models.lists.totals import count, estimate

__all__ = ["Key", "Page", "Position", "Shape", "SortOrder", "count", "estimate", "skip", "sort_order", "walk"]

Row = tuple[Any, ...]
Values = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its rows as tuples of the shape's columns, in the shape's order whichever way the walk went.

    `first` and `last` are the positions of its outermost rows. On the side that the walk came from,
    `has_next` or `has_prev` says that there was a position to come from; only the other side is looked at. A
    page that has become empty keeps the position that the walk came from, if rows are on that side.
    """

    rows: list[Row]
    has_next: bool = False
    has_prev: bool = False
    first: Position | None = None
    last: Position | None = None


def walk(database: Database, shape: Shape, values: Values, *, size: int, position: Position | None = None,
         backward: bool = False) -> Page:
    """The `size` rows after `position`, before it when `backward`; from the very first or last without
    one."""
    rows = _read(database, shape, values, size + 1, position, backward)
    if not rows and position is not None:
        return _emptied(database, shape, values, position, backward)
    more, known = len(rows) > size, position is not None
    del rows[size:]
    if backward:
        rows.reverse()
        return _page(shape, rows, has_next=known, has_prev=more)
    return _page(shape, rows, has_next=more, has_prev=known)


def skip(database: Database, shape: Shape, values: Values, *, size: int, offset: int) -> Page:
    """The `size` rows after the first `offset`. Costs what it skips: bound the offset."""
    if offset == 0 or shape.width == 0:
        return walk(database, shape, values, size=size)
    if len(shape.order.ranges(Start.EDGE, False)) == 1:
        text, = _statements(database, shape, Start.EDGE, False, skipping=True)
        rows = text.run(database, {**values, **_limits(size + 1, offset)})
        more = len(rows) > size
        del rows[size:]
        return _page(shape, rows, has_next=more, has_prev=True)
    # How many rows are in each zone is only known by reading; the positions suffice.
    skipped = _read(database, shape.bare, values, offset, None, False)
    if len(skipped) < offset:
        return Page([])
    return walk(database, shape, values, size=size, position=shape.bare.position(skipped[-1]))


def _emptied(database: Database, shape: Shape, values: Values, position: Position, backward: bool) -> Page:
    beside = shape.order.beside(position, backward)
    if not _read(database, shape, values, 1, beside, not backward):
        return Page([])
    return Page([], has_next=True, last=beside) if backward else Page([], has_prev=True, first=beside)


def _page(shape: Shape, rows: list[Row], *, has_next: bool, has_prev: bool) -> Page:
    if not rows:
        return Page([])
    first, last = shape.position(rows[0]), shape.position(rows[-1])
    columns = len(shape.columns)
    if columns < len(shape.selected):
        rows = [row[:columns] for row in rows]
    return Page(rows, has_next, has_prev, first, last)


def _read(database: Database, shape: Shape, values: Values, wanted: int, position: Position | None,
          backward: bool) -> list[Row]:
    """The next `wanted` rows of `selected`, in the direction of the walk; fewer only at its end."""
    rows: list[Row] = []
    bound = {**values, **bind(position)}
    for text in _statements(database, shape, Start.of(position), backward):
        rows += text.run(database, {**bound, **_limits(wanted - len(rows))})
        if len(rows) >= wanted:
            break
    return rows


def _limits(limit: int, offset: int = 0) -> dict[str, object]:
    return {"page.limit": limit, "page.offset": offset, "page.reach": limit + offset}


def _statements(database: Database, shape: Shape, start: Start, backward: bool, *,
                skipping: bool = False) -> tuple[Prepared, ...]:
    """One statement per range of the order; none when no row may be seen."""
    if shape.width == 0:
        return ()
    return shape.texts((database.dialect, start, backward, skipping), lambda: (
        prepare(database, _reading(shape, range_, backward, skipping, database.dialect))
        for range_ in shape.order.ranges(start, backward)))


def _reading(shape: Shape, range_: Conditions, backward: bool, skipping: bool, dialect: str) -> Any:
    directions = shape.order.directions(backward)
    if shape.width == 1:
        reason, = shape.reasons()
        query = shape.rows(shape.selected, *range_, *reason)
        return _cut(query.order_by(*_sorted(shape.order.columns, directions)), skipping)
    branches = [shape.rows(shape.order.columns, *range_, *reason) for reason in shape.reasons()]
    if dialect == "postgres":
        # It reads each branch by the right index only when it knows how few rows are wanted. SQLite merges the
        # branches lazily as they are; a limit in each spoils that.
        ordering = _sorted(shape.order.columns, directions)
        branches = [branch.order_by(*ordering).limit(Bind("page.reach")) for branch in branches]
    # UNION, because a row that several branches find is one row.
    merged = reduce(lambda left, right: left.union(right), branches)
    numbers = [pw.SQL(str(number)) for number in range(1, len(directions) + 1)]
    positions = _cut(merged.order_by(*_sorted(numbers, directions)), skipping)
    if shape.ordinals == tuple(range(len(shape.selected))):
        return positions
    found = positions.alias("found")
    places = [getattr(found.c, column.column_name) for column in shape.order.columns]
    # Within the tenant already: whatever the branches found has passed their filters, in this very statement.
    same = shape.model._meta.primary_key == places[-1]
    return shape.model.select(*shape.selected).join(found, on=same).order_by(*_sorted(places, directions))


def _sorted(columns: Iterable[Any], directions: Iterable[bool]) -> list[pw.Node]:
    return [column.desc() if descending else column.asc()
            for column, descending in zip(columns, directions, strict=True)]


def _cut(query: Any, skipping: bool) -> Any:
    query = query.limit(Bind("page.limit"))
    return query.offset(Bind("page.offset")) if skipping else query
