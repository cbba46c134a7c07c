"""SQL text that is built once, with values that are bound on every run.

peewee takes several times as long to build a query as the database takes to run it. So a function that builds one
writes a `Bind` wherever a value of the request belongs, and `cache_sql` keeps its result.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import wraps
from operator import itemgetter
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import peewee as pw

from models.engine.database import Database

P = ParamSpec("P")
T = TypeVar("T")
MOST_CACHED = 4096  # results of all functions together


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
    """Name of a Bind → value: `values` in order, the last one repeated up to a power of two.

    So few statements serve any number of values.
    """
    ordered = sorted(set(values))
    ordered += ordered[-1:] * ((1 << (len(ordered) - 1).bit_length()) - len(ordered))
    return {f"value {number}": value for number, value in enumerate(ordered)}


def binds(count: int) -> list[Bind]:
    """A Bind for each value that `placeholders` names."""
    return [Bind(f"value {number}") for number in range(count)]


class Prepared:
    """One statement: its text in a database's dialect, and where each value goes.

    names  of the Binds
    """

    __slots__ = ("_constants", "_pick", "names", "text")

    def __init__(self, text: str, parameters: list[Any]) -> None:
        self.text = text
        # By name, or by place where peewee bound the value itself.
        keys = [one.name if isinstance(one, _Placeholder) else place for place, one in enumerate(parameters)]
        self._constants = {place: parameters[place] for place in keys if isinstance(place, int)}
        self._pick = _picking(keys)
        self.names = frozenset(key for key in keys if isinstance(key, str))

    def bound(self, values: Mapping[str, object]) -> tuple[object, ...]:
        """The parameters in the order of the text. Raises KeyError for a Bind without a value."""
        return self._pick({**self._constants, **values} if self._constants else values)

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


def _picking(keys: list[Any]) -> Callable[[Any], tuple[object, ...]]:
    """A function that takes these values out of a mapping."""
    match keys:
        case []:
            return lambda values: ()
        case [key]:  # `itemgetter` of one key returns the value itself
            return lambda values: (values[key],)
    return itemgetter(*keys)


def prepare(database: Database, query: pw.Query, prefix: str = "") -> Prepared:
    """Build the text of `query` in the dialect of `database`; no connection is needed. `prefix`: such as EXPLAIN."""
    text, parameters = database.get_sql_context().sql(query).query()  # type: ignore[no-untyped-call]
    return Prepared(prefix + text, parameters)


def cache_sql(build: Callable[Concatenate[Database, P], T]) -> Callable[Concatenate[Database, P], T]:
    """Keep what `build` returns for each dialect and each combination of its other arguments.

    `build` reads nothing but these, so the key holds all that its SQL depends on. The arguments are positional and
    hashable. They hold no value of a request, for which there is `Bind`. An exception is not kept.

    All functions share one cache. Threads may fill it at once: two may build the same SQL, and one result stays. A
    full cache is emptied, so that a client who varies requests without end costs time, and never memory.
    """
    @wraps(build)
    def cached(database: Database, *arguments: Any) -> T:
        key = build, database.dialect, arguments
        result = _cached.get(key)
        if result is None:
            result = build(database, *arguments)  # type: ignore[call-arg]
            if len(_cached) >= MOST_CACHED:
                _cached.clear()
            _cached[key] = result
        return cast("T", result)

    return cast("Callable[Concatenate[Database, P], T]", cached)


_cached: dict[tuple[object, str, tuple[Any, ...]], Any] = {}
