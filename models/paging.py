"""Pages of rows whose cost does not grow with their depth.

A `Shape` is everything that decides the SQL text of a list; what differs from request to request is bound as
values. So a page of a known shape, at whatever depth and for whomever, builds no query.

A caller who may see rows for k different reasons gets k branches in one statement, each served by an index of
its own, merged in order (SQLite `MERGE (UNION ALL)`, Postgres `Merge Append`). The order is total, so a row
that several branches find comes as neighbours and is dropped while reading.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import peewee as pw

from models.database import Database
from models.keyset import Conditions, Key, Order, Position, Start, bind, order
from models.prepared import Bind, Prepared, prepare
from models.shape import Shape
from models.totals import count, estimate

__all__ = ["Key", "Order", "Page", "Position", "Shape", "count", "estimate", "order", "skip", "walk"]

Row = tuple[Any, ...]
Values = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its rows as tuples of the shape's columns, in the shape's order whichever way the walk went.

    `first` and `last` are the positions of its outermost rows. On the side that the walk came from,
    `has_next` or `has_prev` says that there was a position to come from; only the other side is looked at. An
    empty page has neither neighbours nor positions.
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
    more, known = len(rows) > size, position is not None
    del rows[size:]
    if backward:
        rows.reverse()
        return _page(shape, rows, has_next=known, has_prev=more)
    return _page(shape, rows, has_next=more, has_prev=known)


def skip(database: Database, shape: Shape, values: Values, *, size: int, offset: int) -> Page:
    """The `size` rows after the first `offset`. Costs what it skips: bound the offset."""
    if offset == 0:
        return walk(database, shape, values, size=size)
    if shape.width == 1 and len(shape.order.ranges(Start.EDGE, False)) == 1:
        text, = _statements(database, shape, Start.EDGE, False, skipping=True)
        rows = text.run(database, {**values, "page.limit": size + 1, "page.offset": offset})
        more = len(rows) > size
        del rows[size:]
        return _page(shape, rows, has_next=more, has_prev=True)
    # What several branches find, and what is in each zone, is only known by reading; the positions suffice.
    skipped = _read(database, shape.bare, values, offset, None, False)
    if len(skipped) < offset:
        return Page([])
    return walk(database, shape, values, size=size, position=shape.bare.position(skipped[-1]))


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
    """The next `wanted` different rows of `selected`, in the direction of the walk; fewer only at its end."""
    rows: list[Row] = []
    bound = {**values, **bind(position)}
    for text in _statements(database, shape, Start.of(position), backward):
        # Enough even if every branch finds every row. (Asking for less first, and again where rows were dropped,
        # saves 17 µs when none are and costs 70 µs when some are.)
        bound["page.limit"] = (wanted - len(rows)) * shape.width
        found = text.run(database, bound)
        rows += found if shape.width == 1 else _distinct(found, shape)
        if len(rows) >= wanted:
            break
    del rows[wanted:]
    return rows


def _distinct(rows: list[Row], shape: Shape) -> list[Row]:
    id_ = shape.ordinals[-1]
    return [row for number, row in enumerate(rows) if number == 0 or row[id_] != rows[number - 1][id_]]


def _statements(database: Database, shape: Shape, start: Start, backward: bool, *,
                skipping: bool = False) -> tuple[Prepared, ...]:
    """One statement per range of the order; none when no row may be seen."""
    if shape.width == 0:
        return ()
    return shape.texts((database.dialect, start, backward, skipping), lambda: (
        prepare(database, _reading(shape, range_, backward, skipping, database.dialect))
        for range_ in shape.order.ranges(start, backward)))


def _reading(shape: Shape, range_: Conditions, backward: bool, skipping: bool, dialect: str) -> pw.Query:
    directions = shape.order.directions(backward)
    ordering: list[pw.Node] = [
        column.desc() if descending else column.asc()
        for column, descending in zip(shape.order.columns, directions, strict=True)]
    branches = [shape.rows(shape.selected, *range_, *reason) for reason in shape.reasons()]
    if len(branches) > 1:
        if dialect == "postgres":
            # It merges only branches that are sorted themselves, and reads them by the right index only when
            # it knows how few rows are wanted. SQLite merges them lazily as they are; a limit in each spoils
            # that.
            branches = [branch.order_by(*ordering).limit(Bind("page.limit")) for branch in branches]
        ordering = [
            pw.SQL(f"{number + 1} {'DESC' if descending else 'ASC'}")
            for number, descending in zip(shape.ordinals, directions, strict=True)]
    merged = reduce(lambda left, right: left.union_all(right), branches)
    query: pw.Query = merged.order_by(*ordering).limit(Bind("page.limit"))
    return query.offset(Bind("page.offset")) if skipping else query
