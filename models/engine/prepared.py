"""Statements whose SQL text is built once and whose values are bound on every run.

Building a query costs peewee several times what the database needs to run it, so the text of a page is made
once per shape, with a `Bind` wherever a value of the request belongs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import peewee as pw

from models.engine.database import Database


@dataclass(frozen=True, slots=True)
class _Placeholder:
    name: str


class Bind(pw.Value):
    """A placeholder for the value called `name`, wherever a value may stand in a peewee expression.

    The bound value reaches the driver as it is, without the field's conversion: it must be what the column
    stores. A list of unknown length has no placeholder; write `column.in_([Bind("a"), Bind("b")])`.
    `contains` and `startswith` do not escape a bound value; escape it before it is bound.
    """

    def __init__(self, name: str) -> None:
        # converter=False: a field would otherwise convert the placeholder itself, TextField to its str().
        super().__init__(_Placeholder(name), converter=False, unpack=False)


def placeholders(values: Collection[str]) -> dict[str, str]:
    """A name for a Bind → its value: each of `values` in order, the last repeated up to a power of two.

    So few statements serve any number of values.
    """
    wanted = sorted(set(values))
    wanted += wanted[-1:] * ((1 << (len(wanted) - 1).bit_length()) - len(wanted))
    return {f"value {number}": value for number, value in enumerate(wanted)}


class Prepared:
    """One statement: its text in a database's dialect, and where each value goes."""

    __slots__ = ("_parameters", "text")

    def __init__(self, text: str, parameters: list[Any]) -> None:
        self.text = text
        self._parameters = parameters

    def bound(self, values: Mapping[str, object]) -> list[object]:
        """The parameters in the order of the text. Raises KeyError for a Bind without a value."""
        return [values[one.name] if one.__class__ is _Placeholder else one for one in self._parameters]

    def prefixed(self, words: str) -> Prepared:
        """The same statement behind `words`, such as EXPLAIN."""
        return Prepared(words + self.text, self._parameters)

    def run(self, database: Database, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
        """All rows as plain tuples. Raises what `bound` and `Database.query` raise.

        Values without a Bind are ignored, so that one mapping serves every statement of a request.
        """
        return database.query(self.text, self.bound(values))

    def recall(self, database: Database, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
        """`run`, for the few rows that every request asks for (`Database.recall`)."""
        return database.recall(self.text, self.bound(values))

    def write(self, database: Database, values: Mapping[str, object]) -> int:
        """Run an INSERT, UPDATE or DELETE; the number of its rows. Raises what `bound` and `Database.write` raise."""
        return database.write(self.text, self.bound(values))


def prepare(database: Database, query: pw.Query) -> Prepared:
    """Build the text of `query` once, in the dialect of `database`; no connection is needed."""
    text, parameters = database.get_sql_context().sql(query).query()  # type: ignore[no-untyped-call]
    return Prepared(text, parameters)


class Statement:
    """The one query of a function, with a `Bind` for each of its values: built when a dialect first runs it."""

    __slots__ = ("_prepared",)

    def __init__(self) -> None:
        self._prepared: dict[str, Prepared] = {}

    def on(self, database: Database, build: Callable[[], pw.Query]) -> Prepared:
        """The query that `build` makes, in the dialect of `database`."""
        found = self._prepared.get(database.dialect)
        if found is None:
            found = self._prepared[database.dialect] = prepare(database, build())
        return found
