"""SQL text that is built once, and values that are bound on every run.

peewee takes several times as long to build a query as the database takes to run it. So a function that builds a query
writes a `Bind` in place of each value of the request, and `cache_sql` keeps its result.
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
    """Placeholder for the value called `name`, usable wherever a peewee expression takes a value.

    The bound value reaches the driver without the field's conversion: it must be in the form that the column stores. A
    list of unknown length has no placeholder; write `column.in_([Bind("a"), Bind("b")])`. `contains` and `startswith`
    do not escape a bound value; escape it before you bind it.
    """

    def __init__(self, name: str) -> None:
        # converter=False: otherwise a field converts the placeholder itself, and TextField takes its str().
        super().__init__(_Placeholder(name), converter=False, unpack=False)


def placeholders(values: Collection[str]) -> dict[str, str]:
    """Returns a mapping from names of Binds to `values`, sorted, with the last one repeated up to a power of two.

    So few statements serve any number of values.
    """
    ordered = sorted(set(values))
    ordered += ordered[-1:] * ((1 << (len(ordered) - 1).bit_length()) - len(ordered))
    return {f"value {number}": value for number, value in enumerate(ordered)}


def binds(count: int) -> list[Bind]:
    """Returns a Bind for each value that `placeholders` names."""
    return [Bind(f"value {number}") for number in range(count)]


class Prepared:
    """One statement: its text in a database's dialect, and the position of each value.

    names  of the Binds
    """

    __slots__ = ("_constants", "_pick", "names", "text")

    def __init__(self, text: str, parameters: list[Any]) -> None:
        self.text = text
        # A key is the name of a Bind, or the position of a value that peewee bound itself.
        keys = [value.name if isinstance(value, _Placeholder) else place for place, value in enumerate(parameters)]
        self._constants = {place: parameters[place] for place in keys if isinstance(place, int)}
        self._pick = _picking(keys)
        self.names = frozenset(key for key in keys if isinstance(key, str))

    def bound(self, values: Mapping[str, object]) -> tuple[object, ...]:
        """Returns the parameters in the order of the text. Raises KeyError for a Bind without a value."""
        return self._pick({**self._constants, **values} if self._constants else values)

    def run(self, database: Database, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
        """Returns all rows as plain tuples. Raises what `bound` and `Database.query` raise.

        Values without a Bind are ignored, so that one mapping serves every statement of a request.
        """
        return database.query(self.text, self.bound(values))

    def recall(self, database: Database, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
        """Runs the statement through `Database.recall`, for a small result that many requests need."""
        return database.recall(self.text, self.bound(values))

    def write(self, database: Database, values: Mapping[str, object]) -> int:
        """Runs an INSERT, UPDATE or DELETE and returns the number of its rows. Raises what `bound` and `Database.write`
        raise."""
        return database.write(self.text, self.bound(values))


def _picking(keys: list[Any]) -> Callable[[Any], tuple[object, ...]]:
    """Returns a function that takes the values of these keys from a mapping."""
    match keys:
        case []:
            return lambda values: ()
        case [key]:  # `itemgetter` of one key returns the value itself
            return lambda values: (values[key],)
    return itemgetter(*keys)


def prepare(database: Database, query: pw.Query, prefix: str = "") -> Prepared:
    """Builds the text of `query` in the dialect of `database`, without a connection. `prefix`: such as EXPLAIN."""
    text, parameters = database.get_sql_context().sql(query).query()  # type: ignore[no-untyped-call]
    return Prepared(prefix + text, parameters)


def cache_sql(build: Callable[Concatenate[Database, P], T]) -> Callable[Concatenate[Database, P], T]:
    """Caches the result of `build` for each dialect and each combination of its other arguments.

    `build` reads nothing else, so the key holds all that its SQL depends on. The arguments are positional and hashable.
    They hold no value of a request: those are `Bind`s. An exception is not cached.

    All functions share one cache. Two threads may build the same SQL at once; one result stays. A full cache is
    emptied. So a client who varies requests without end costs time, but no memory.
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
