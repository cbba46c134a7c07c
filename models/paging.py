"""Pages of rows whose cost does not grow with their depth.

A `Shape` is everything that decides the SQL text of a list; what differs from request to request is bound as
values. So a page of a known shape, at whatever depth and for any caller, builds no query.

A caller who may see rows for k different reasons gets k branches in one statement, each served by an index of
its own: their positions are merged in order, each once, and only the rows of this page are read whole. `count` and
`estimate` say how many rows a list holds.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property, reduce
from itertools import groupby
from operator import gt, itemgetter, lt, or_
from typing import Any, cast
from uuid import UUID

import orjson
import peewee as pw

from models.engine.database import Database
from models.engine.prepared import Bind, Prepared, prepare

Row = tuple[Any, ...]
Values = Mapping[str, object]

MAX_KEYS = 3
_GREATEST = 2**128 - 1  # as an id
Conditions = tuple[pw.Expression, ...]
Position = tuple[Any, ...]
"""One value per key of the order, the id last: where a page begins or ends."""


@dataclass(frozen=True, eq=False)
class Key:
    """One column of an order. Whether it can be NULL is what the column says."""

    column: pw.Field
    descending: bool = False


class Start(Enum):
    """The part of a position that decides the text of a query: is there one, and is its first key NULL?"""

    EDGE = "edge"
    VALUE = "value"
    NULL = "null"

    @classmethod
    def of(cls, position: Position | None) -> Start:
        """The start that a position is."""
        if position is None:
            return cls.EDGE
        return cls.NULL if position[0] is None else cls.VALUE


@dataclass(frozen=True, eq=False)
class SortOrder:
    """A total order of the rows of one table; made by `sort_order`."""

    keys: tuple[Key, ...]

    @cached_property
    def columns(self) -> tuple[pw.Field, ...]:
        """The columns whose values make a position; the id is the last."""
        return tuple(key.column for key in self.keys)

    def directions(self, backward: bool) -> tuple[bool, ...]:
        """Per key, whether a walk forward or backward meets its values descending."""
        return tuple(key.descending != backward for key in self.keys)

    def beside(self, position: Position, backward: bool) -> Position:
        """The next position after one, before it when `backward`: a walk that turns round there meets its row first."""
        *keys, id = position
        number = UUID(id).int + (1 if self.keys[-1].descending == backward else -1)
        return (*keys, str(UUID(int=min(max(number, 0), _GREATEST))))

    def ranges(self, start: Start, backward: bool) -> list[Conditions]:
        """The conditions of the ranges after a position (before it, when backward), in the order of the walk.

        The values of the position are what `bind` gives.
        """
        if not self.keys[0].column.null:
            return [()] if start is Start.EDGE else list(_beyond(self.keys, 0, backward))
        value: Conditions = (self.keys[0].column.is_null(False),)
        null: Conditions = (self.keys[0].column.is_null(),)
        if start is Start.EDGE:
            return [null, value] if backward else [value, null]
        if start is Start.VALUE:
            rest = [(*value, *range_) for range_ in _beyond(self.keys, 0, backward)]
            return rest if backward else [*rest, null]
        rest = [(*null, *range_) for range_ in _beyond(self.keys, 1, backward)]
        return [*rest, value] if backward else rest


def sort_order(*keys: Key) -> SortOrder:
    """The order by these keys, made total by the id in the direction of the last one. NULLs come last.

    Raises ValueError for an order that no index of both databases can serve: no key or more than three, keys
    of several tables, a column twice, a nullable key that is not the first, keys after the id.
    """
    if not 1 <= len(keys) <= MAX_KEYS:
        raise ValueError(f"an order has one to {MAX_KEYS} keys, not {len(keys)}")
    model = keys[0].column.model
    names = [key.column.name for key in keys]
    if any(key.column.model is not model for key in keys):
        raise ValueError(f"the keys {', '.join(names)} belong to several tables")
    if len(set(names)) != len(names):
        raise ValueError(f"a column stands twice in the order {', '.join(names)}")
    # SQLite cannot keep NULLs last inside a group of an index, so such pages would be sorted from scratch.
    if nullable := [key.column.name for key in keys[1:] if key.column.null]:
        raise ValueError(f"{nullable[0]} can be NULL, so it can only be the first key of an order")
    if "id" in names[:-1]:
        raise ValueError("nothing can follow the id in an order: it is unique")
    if names[-1] == "id":
        return SortOrder(keys)
    return SortOrder((*keys, Key(model.id, keys[-1].descending)))


_NAMES = tuple(f"page.position.{number}" for number in range(MAX_KEYS + 1))


def bind(position: Position | None) -> dict[str, object]:
    """The values for the Binds of `SortOrder.ranges`."""
    return dict(zip(_NAMES, position, strict=False)) if position is not None else {}


def _beyond(keys: Sequence[Key], skipped: int, backward: bool) -> Iterator[Conditions]:
    """Ranges after the position in `keys[skipped:]`, none of which is NULL; the nearest first."""
    numbered = list(enumerate(keys))[skipped:]
    runs = [list(run) for _, run in groupby(numbered, key=lambda one: one[1].descending)]
    for last in reversed(range(len(runs))):
        equal = [key.column == Bind(_NAMES[number]) for run in runs[:last] for number, key in run]
        yield (*equal, _compare(runs[last], backward))


def _compare(run: list[tuple[int, Key]], backward: bool) -> pw.Expression:
    beyond = lt if run[0][1].descending != backward else gt
    columns = [key.column for _, key in run]
    values = [Bind(_NAMES[number]) for number, _ in run]
    if len(run) == 1:
        return cast(pw.Expression, beyond(columns[0], values[0]))
    return cast(pw.Expression, beyond(pw.Tuple(*columns), pw.Tuple(*values)))


@dataclass(frozen=True, eq=False)
class Shape:
    """One list, but for its values.

    `cache_sql` keeps the shapes that requests repeat, and a shape keeps its statements: a handful, which need no bound.
    The statements of a shape that is used once go with it.

    `filters` are ANDed and hold the tenant; `branches` are the reasons to see a row, any of which suffices
    (None: every row may be seen; empty: none may); `denies` are ANDed conditions that must hold as well.
    Whatever differs from request to request stands in them as a `Bind` (names that begin with `page.` are
    ours).
    """

    model: type[pw.Model]
    columns: tuple[pw.Field, ...]
    order: SortOrder
    filters: Conditions
    branches: Conditions | None = None
    denies: tuple[pw.Node, ...] = ()
    _texts: dict[Hashable, tuple[Prepared, ...]] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def selected(self) -> tuple[pw.Field, ...]:
        """The columns, then those of the order that are not among them."""
        names = {one.name for one in self.columns}
        return (*self.columns, *(one for one in self.order.columns if one.name not in names))

    @cached_property
    def ordinals(self) -> tuple[int, ...]:
        """Places of the columns of the order in `selected`, from 0."""
        names = [one.name for one in self.selected]
        return tuple(names.index(one.name) for one in self.order.columns)

    @cached_property
    def position(self) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
        """Takes the position out of a row of `selected`."""
        if len(self.ordinals) == 1:  # itemgetter of one number gives the bare value
            only = self.ordinals[0]
            return lambda row: (row[only],)
        return itemgetter(*self.ordinals)

    @cached_property
    def bare(self) -> Shape:
        """This list without the columns that its order does not need."""
        return replace(self, columns=self.order.columns)

    def reasons(self) -> list[Conditions]:
        """Conditions that each branch adds to the filters; one empty addition when every row may be seen."""
        return [()] if self.branches is None else [(one,) for one in self.branches]

    @cached_property
    def width(self) -> int:
        """The number of branches, 1 without; 0 when no row may be seen."""
        return len(self.reasons())

    def rows(self, columns: Iterable[pw.Node], *conditions: pw.Node) -> Any:
        """A query over the rows that pass the filters, the denies and `conditions`."""
        query = self.model.select(*columns)
        every = (*self.filters, *conditions, *self.denies)
        return query.where(*every) if every else query

    def texts(self, key: Hashable, build: Callable[[], Iterable[Prepared]]) -> tuple[Prepared, ...]:
        """The statements of this list under `key`, built on first use."""
        statements = self._texts.get(key)
        if statements is None:
            statements = self._texts[key] = tuple(build())
        return statements


SAMPLE = 1_000  # rows looked at for an estimate on SQLite: about a millisecond
# Multiples of a prime, modulo the number of rows, spread evenly and fall in step with no pattern in them.
STRIDE = 618_033_989


def count(database: Database, shape: Shape, values: Values, *, limit: int | None) -> int:
    """The number of rows, but at most `limit`; each once, however many branches find it.

    Branch by branch, each by an index of its own, without what earlier branches have counted, until the limit is
    reached: so no statement looks at more than twice the limit. (One condition with OR takes 1.2 s to find five rows
    among a million where SQLite has no statistics; a UNION of ids takes 50 ms to find the first 10 000.)
    """
    bounded = limit is not None
    found = 0
    for text in shape.texts((database.dialect, "count", bounded), lambda: _counting(database, shape, bounded)):
        rest = None if limit is None else limit - found
        found += int(text.run(database, {**values, "page.limit": rest})[0][0])
        if found == limit:
            break
    return found


def estimate(database: Database, shape: Shape, values: Values) -> int:
    """About how many rows, at a small fixed cost: the planner's guess on Postgres, a sample on SQLite.

    It may be below what `count` has found already; the caller knows that and takes the larger.
    """
    if shape.width == 0:
        return 0
    text, = shape.texts((database.dialect, "estimate"), lambda: [_estimating(database, shape)])
    if database.dialect == "postgres":
        plan = text.run(database, values)[0][0]
        return int(plan[0]["Plan"]["Plan Rows"])
    name = shape.model._meta.table_name
    rows = database.query(f'SELECT max(rowid) FROM main."{name}"')[0][0] or 0
    sample = min(rows, SAMPLE)
    chosen = range(1, rows + 1) if rows <= SAMPLE else [1 + n * STRIDE % rows for n in range(SAMPLE)]
    found = int(text.run(database, {**values, "page.sample": orjson.dumps(list(chosen)).decode()})[0][0])
    return round(found * rows / sample) if sample else 0


def _counting(database: Database, shape: Shape, bounded: bool) -> Iterator[Prepared]:
    counted: list[pw.Node] = []
    for reason in shape.reasons():
        rows = shape.rows([shape.order.columns[-1]], *reason, *counted)
        if bounded:
            rows = rows.limit(Bind("page.limit"))
        yield prepare(database, pw.Select([rows.alias("found")], [pw.fn.COUNT(pw.SQL("*"))]))
        counted += [pw.NodeList((one, pw.SQL("IS NOT TRUE"))) for one in reason]


def _estimating(database: Database, shape: Shape) -> Prepared:
    anyhow = [reduce(or_, shape.branches)] if shape.branches else []
    if database.dialect == "postgres":
        return prepare(database, shape.rows([shape.order.columns[-1]], *anyhow), "EXPLAIN (FORMAT JSON) ")
    chosen = pw.NodeList([pw.SQL("(SELECT value FROM"), pw.fn.json_each(Bind("page.sample")), pw.SQL(")")])
    sampled = pw.Column(shape.model._meta.table, "rowid").in_(chosen)
    return prepare(database, shape.rows([pw.fn.COUNT(pw.SQL("*"))], sampled, *anyhow))


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
