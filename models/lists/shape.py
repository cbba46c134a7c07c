"""The shape of a list: everything that decides its SQL text, and the texts once they are built."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter
from typing import Any

import peewee as pw

from models.engine.prepared import Prepared
from models.lists.keyset import Conditions, SortOrder


@dataclass(frozen=True, eq=False)
class Shape:
    """One list, but for its values. Hashed by identity: keep it, and its texts are kept with it.

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
    denies: Conditions = ()
    _texts: dict[Hashable, tuple[Prepared, ...]] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def selected(self) -> tuple[pw.Field, ...]:
        """The columns, then those of the order that are not among them."""
        names = {one.name for one in self.columns}
        return (*self.columns, *(one for one in self.order.columns if one.name not in names))

    @cached_property
    def ordinals(self) -> tuple[int, ...]:
        """Where in `selected` the columns of the order stand, from 0."""
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
        """The same list without the columns that its order does not need."""
        return replace(self, columns=self.order.columns)

    def reasons(self) -> list[Conditions]:
        """What each branch adds to the filters; one empty addition when every row may be seen."""
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
        """The statements kept under `key`, built on first use."""
        found = self._texts.get(key)
        if found is None:
            found = self._texts[key] = tuple(build())
        return found
