"""Pages of rows whose cost does not grow with their depth.

A `Shape` contains everything that decides the SQL text of a list. Everything else is bound as values. So a page of a
known shape builds no query, at whatever depth and for any caller.

If a caller may see rows for k different reasons, the statement has k branches, each served by its own index. Their
positions are merged in order, each once, and only the rows of this page are read whole. `count` and `estimate` return
how many rows a list has.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property, lru_cache, reduce
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
_GREATEST = 2**128 - 1  # the largest id, as a number
Conditions = tuple[pw.Expression, ...]
Position = tuple[Any, ...]
"""One value per key of the order, the id last: where a page begins or ends."""


@dataclass(frozen=True, eq=False)
class Key:
    """One column of an order. The column itself decides whether NULL is allowed."""

    column: pw.Field
    descending: bool = False


class Start(Enum):
    """The part of a position that decides the text of a query: no position, a value, or NULL as its first key."""

    EDGE = "edge"
    VALUE = "value"
    NULL = "null"

    @classmethod
    def of(cls, position: Position | None) -> Start:
        """Returns the start for a position."""
        if position is None:
            return cls.EDGE
        return cls.NULL if position[0] is None else cls.VALUE


@dataclass(frozen=True, eq=False)
class SortOrder:
    """A total order of the rows of one table; made by `sort_order`."""

    keys: tuple[Key, ...]

    @cached_property
    def columns(self) -> tuple[pw.Field, ...]:
        """Columns whose values form a position; the id is the last."""
        return tuple(key.column for key in self.keys)

    def directions(self, backward: bool) -> tuple[bool, ...]:
        """Returns for each key True if a walk forward, or backward, meets its values in descending order."""
        return tuple(key.descending != backward for key in self.keys)

    def beside(self, position: Position, backward: bool) -> Position:
        """Returns the next position after one, or before it when `backward`. A walk that turns round there meets its
        row first."""
        *keys, id = position
        number = UUID(id).int + (1 if self.keys[-1].descending == backward else -1)
        return (*keys, str(UUID(int=min(max(number, 0), _GREATEST))))

    def ranges(self, start: Start, backward: bool) -> list[Conditions]:
        """Returns the conditions of the ranges after a position (before it, when backward), in the order of the walk.

        `bind` gives the values of the position.
        """
        if not self.keys[0].column.null:
            return [()] if start is Start.EDGE else list(_beyond(self.keys, 0, backward))
        value: Conditions = (self.keys[0].column.is_null(False),)
        null: Conditions = (self.keys[0].column.is_null(),)
        if start is Start.EDGE:
            return [null, value] if backward else [value, null]
        if start is Start.VALUE:
            following = [(*value, *range_) for range_ in _beyond(self.keys, 0, backward)]
            return following if backward else [*following, null]
        following = [(*null, *range_) for range_ in _beyond(self.keys, 1, backward)]
        return [*following, value] if backward else following


def sort_order(*keys: Key) -> SortOrder:
    """Returns the order by these keys, made total by the id in the direction of the last key. NULLs come last.

    Raises ValueError for an order that no index of both databases can serve: no key or more than three, keys of several
    tables, a column twice, a nullable key after the first, keys after the id.
    """
    if not 1 <= len(keys) <= MAX_KEYS:
        raise ValueError(f"an order has one to {MAX_KEYS} keys, not {len(keys)}")
    model = keys[0].column.model
    names = [key.column.name for key in keys]
    if any(key.column.model is not model for key in keys):
        raise ValueError(f"the keys {', '.join(names)} belong to several tables")
    if len(set(names)) != len(names):
        raise ValueError(f"a column stands twice in the order {', '.join(names)}")
    # SQLite cannot keep NULLs last inside a group of an index, so it would sort all rows for each page.
    if nullable := [key.column.name for key in keys[1:] if key.column.null]:
        raise ValueError(f"{nullable[0]} can be NULL, so it can only be the first key of an order")
    if "id" in names[:-1]:
        raise ValueError("nothing can follow the id in an order: it is unique")
    if names[-1] == "id":
        return SortOrder(keys)
    return SortOrder((*keys, Key(model.id, keys[-1].descending)))


_NAMES = tuple(f"page.position.{number}" for number in range(MAX_KEYS + 1))


def bind(position: Position | None) -> dict[str, object]:
    """Returns the values for the Binds of `SortOrder.ranges`."""
    return dict(zip(_NAMES, position, strict=False)) if position is not None else {}


def _beyond(keys: Sequence[Key], skipped: int, backward: bool) -> Iterator[Conditions]:
    """Yields the ranges after the position in `keys[skipped:]`, the nearest first. None of these values is NULL."""
    numbered = list(enumerate(keys))[skipped:]
    runs = [list(run) for _, run in groupby(numbered, key=lambda pair: pair[1].descending)]
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
    """One list without its values.

    `cache_sql` caches the shapes that requests repeat, and a shape caches its few statements.

    `filters` are ANDed and include the tenant. `branches` are the reasons to see a row; one of them suffices (None:
    every row is visible; empty: none is). `denies` are ANDed conditions that must also hold. Values that differ from
    request to request are `Bind`s in them (names that begin with `page.` are reserved).
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
        """The columns of the list, then those of its order that are missing among them."""
        names = {column.name for column in self.columns}
        return (*self.columns, *(column for column in self.order.columns if column.name not in names))

    @cached_property
    def ordinals(self) -> tuple[int, ...]:
        """Positions of the order's columns in `selected`, from 0."""
        names = [column.name for column in self.selected]
        return tuple(names.index(column.name) for column in self.order.columns)

    @cached_property
    def position(self) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
        """Function that takes the position from a row of `selected`."""
        if len(self.ordinals) == 1:  # itemgetter of one number returns the bare value
            only = self.ordinals[0]
            return lambda row: (row[only],)
        return itemgetter(*self.ordinals)

    @cached_property
    def bare(self) -> Shape:
        """The list with only the columns that its order needs."""
        return replace(self, columns=self.order.columns)

    def reasons(self) -> list[Conditions]:
        """Returns the conditions that each branch adds to the filters; one empty addition if every row is visible."""
        return [()] if self.branches is None else [(branch,) for branch in self.branches]

    @cached_property
    def width(self) -> int:
        """Number of branches; 1 if every row is visible, 0 if none is."""
        return len(self.reasons())

    def rows(self, columns: Iterable[pw.Node], *conditions: pw.Node) -> Any:
        """Returns a query over the rows that satisfy the filters, the denies and `conditions`."""
        query = self.model.select(*columns)
        every = (*self.filters, *conditions, *self.denies)
        return query.where(*every) if every else query

    def texts(self, key: Hashable, build: Callable[[], Iterable[Prepared]]) -> tuple[Prepared, ...]:
        """Returns the statements of this list under `key`. Builds them on first use."""
        statements = self._texts.get(key)
        if statements is None:
            statements = self._texts[key] = tuple(build())
        return statements


SAMPLE = 1_000  # rows read for an estimate on SQLite: about a millisecond
# Multiples of a prime, modulo the number of rows, are spread evenly and match no pattern in the rows.
STRIDE = 618_033_989


def count(database: Database, shape: Shape, values: Values, *, limit: int | None) -> int:
    """Returns the number of rows, but at most `limit`. Counts a row once, however many branches match it.

    Counts branch by branch, each by its own index, without the rows of earlier branches, until it reaches the limit. So
    no statement reads more than twice the limit. (One condition with OR takes 1.2 s to find five rows among a million
    where SQLite has no statistics; a UNION of ids takes 50 ms to find the first 10 000.) SQLite counts again after a
    commit, not before.
    """
    bounded = limit is not None
    number = 0
    for text in shape.texts((database.dialect, "count", bounded), lambda: _counting(database, shape, bounded)):
        remaining = None if limit is None else limit - number
        number += int(text.recall(database, {**values, "page.limit": remaining})[0][0])
        if number == limit:
            break
    return number


def estimate(database: Database, shape: Shape, values: Values) -> int:
    """Estimates the number of rows at a small fixed cost: the planner's estimate on Postgres, a sample on SQLite.

    The estimate may be less than a number that `count` has returned; the caller then takes the larger.
    """
    if shape.width == 0:
        return 0
    text, = shape.texts((database.dialect, "estimate"), lambda: [_estimating(database, shape)])
    if database.dialect == "postgres":
        plan = text.recall(database, values)[0][0]
        return int(plan[0]["Plan"]["Plan Rows"])
    name = shape.model._meta.table_name
    rows = database.recall(f'SELECT max(rowid) FROM main."{name}"', ())[0][0] or 0
    if rows == 0:
        return 0
    matches = int(text.recall(database, {**values, "page.sample": _sample(rows)})[0][0])
    return round(matches * rows / min(rows, SAMPLE))


@lru_cache(maxsize=64)
def _sample(rows: int) -> str:
    """Returns numbers of rows, spread over a table with so many, as JSON."""
    chosen = range(1, rows + 1) if rows <= SAMPLE else [1 + n * STRIDE % rows for n in range(SAMPLE)]
    return orjson.dumps(list(chosen)).decode()


def _counting(database: Database, shape: Shape, bounded: bool) -> Iterator[Prepared]:
    counted: list[pw.Node] = []
    for reason in shape.reasons():
        rows = shape.rows([shape.order.columns[-1]], *reason, *counted)
        if bounded:
            rows = rows.limit(Bind("page.limit"))
        yield prepare(database, pw.Select([rows.alias("found")], [pw.fn.COUNT(pw.SQL("*"))]))
        counted += [pw.NodeList((condition, pw.SQL("IS NOT TRUE"))) for condition in reason]


def _estimating(database: Database, shape: Shape) -> Prepared:
    anyhow = [reduce(or_, shape.branches)] if shape.branches else []
    if database.dialect == "postgres":
        return prepare(database, shape.rows([shape.order.columns[-1]], *anyhow), "EXPLAIN (FORMAT JSON) ")
    chosen = pw.NodeList([pw.SQL("(SELECT value FROM"), pw.fn.json_each(Bind("page.sample")), pw.SQL(")")])
    sampled = pw.Column(shape.model._meta.table, "rowid").in_(chosen)
    return prepare(database, shape.rows([pw.fn.COUNT(pw.SQL("*"))], sampled, *anyhow))


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its rows as tuples of the shape's columns, in the shape's order, also after a walk backward.

    `first` and `last` are the positions of its outermost rows. On the side that the walk came from, `has_next` or
    `has_prev` is True if there was a position to come from. Only the other side is read. An empty page keeps the
    position that the walk came from, if there are rows on that side.
    """

    rows: list[Row]
    has_next: bool = False
    has_prev: bool = False
    first: Position | None = None
    last: Position | None = None


def walk(database: Database, shape: Shape, values: Values, *, size: int, position: Position | None = None,
         backward: bool = False) -> Page:
    """Returns the `size` rows after `position`, or before it when `backward`. Without a position, starts at the first
    or last row."""
    rows = _read(database, shape, values, size + 1, position, backward)
    if not rows and position is not None:
        return _emptied(database, shape, values, position, backward)
    more, has_position = len(rows) > size, position is not None
    del rows[size:]
    if backward:
        rows.reverse()
        return _page(shape, rows, has_next=has_position, has_prev=more)
    return _page(shape, rows, has_next=more, has_prev=has_position)


def skip(database: Database, shape: Shape, values: Values, *, size: int, offset: int) -> Page:
    """Returns the `size` rows after the first `offset`. The cost grows with the offset: limit it."""
    if offset == 0 or shape.width == 0:
        return walk(database, shape, values, size=size)
    if len(shape.order.ranges(Start.EDGE, False)) == 1:
        text, = _statements(database, shape, Start.EDGE, False, skipping=True)
        rows = text.run(database, {**values, **_limits(size + 1, offset)})
        more = len(rows) > size
        del rows[size:]
        return _page(shape, rows, has_next=more, has_prev=True)
    # Only reading shows how many rows each range has. Positions suffice for that.
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


def _read(database: Database, shape: Shape, values: Values, limit: int, position: Position | None,
          backward: bool) -> list[Row]:
    """Returns the next `limit` rows of `selected`, in the direction of the walk; fewer only at its end."""
    rows: list[Row] = []
    bound = {**values, **bind(position)}
    for text in _statements(database, shape, Start.of(position), backward):
        rows += text.run(database, {**bound, **_limits(limit - len(rows))})
        if len(rows) >= limit:
            break
    return rows


def _limits(limit: int, offset: int = 0) -> dict[str, object]:
    return {"page.limit": limit, "page.offset": offset, "page.reach": limit + offset}


def _statements(database: Database, shape: Shape, start: Start, backward: bool, *,
                skipping: bool = False) -> tuple[Prepared, ...]:
    """Returns one statement for each range of the order; none if no row is visible."""
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
        # Postgres chooses the right index for each branch only if it knows the limit. SQLite merges the branches
        # lazily; a limit in each would prevent that.
        ordering = _sorted(shape.order.columns, directions)
        branches = [branch.order_by(*ordering).limit(Bind("page.reach")) for branch in branches]
    # UNION returns a row once, even if several branches match it.
    merged = reduce(lambda left, right: left.union(right), branches)
    numbers = [pw.SQL(str(number)) for number in range(1, len(directions) + 1)]
    positions = _cut(merged.order_by(*_sorted(numbers, directions)), skipping)
    if shape.ordinals == tuple(range(len(shape.selected))):
        return positions
    page = positions.alias("found")
    places = [getattr(page.c, column.column_name) for column in shape.order.columns]
    # Needs no condition on the tenant: all rows of the branches have passed their filters in this statement.
    # The order ends with the id, which is not the primary key of every table.
    same = shape.order.columns[-1] == places[-1]
    return shape.model.select(*shape.selected).join(page, on=same).order_by(*_sorted(places, directions))


def _sorted(columns: Iterable[Any], directions: Iterable[bool]) -> list[pw.Node]:
    return [column.desc() if descending else column.asc()
            for column, descending in zip(columns, directions, strict=True)]


def _cut(query: Any, skipping: bool) -> Any:
    query = query.limit(Bind("page.limit"))
    return query.offset(Bind("page.offset")) if skipping else query
