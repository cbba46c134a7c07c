"""Orders, and the index ranges that hold what comes after a position in one.

A page is read from the index of its order (tenant, keys, id), never by counting from the front.
"Everything after this position" is one range of such an index only while all keys run in the same direction
and hold values. So it is written as a few disjoint ranges, to be read one after the other until the page is
full:

- same-direction keys are compared as one row value, `(created_at, id) < (?, ?)`: one range;
- where the direction changes, first what is equal up to there, then what is beyond: `status = ? AND
  (created_at, id) < (?, ?)`, then `status > ?`. (As one condition with OR the database walks through the
  whole group: 64 ms at row 900 000 of a million on SQLite, where two ranges take 30 µs.)
- a nullable key has two zones, values and then NULLs, in both directions and on both databases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import groupby
from operator import gt, lt
from typing import Any, cast
from uuid import UUID

import peewee as pw

from models.engine.prepared import Bind

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
    """What the text of a query depends on: is there a position, and is its first key NULL?"""

    EDGE = "edge"
    VALUE = "value"
    NULL = "null"

    @classmethod
    def of(cls, position: Position | None) -> Start:
        """Which of the three a position is."""
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
