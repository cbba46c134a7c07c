"""What a query string means to its schema, and what was made of that: kept together, under one key."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from .bounded_cache import BoundedCache

T = TypeVar("T")

_MOST_DERIVED = 64  # by tenant, page size and parameter: few of each ask the same


class LoadedQuery(Mapping[str, Any]):
    """The loaded parameters by name. Requests whose query strings differ in the cursor alone share one: it is
    never changed.

    sent  (name, text) of each parameter as the client wrote it, without the cursor
    """

    __slots__ = ("_derived", "_parameter", "_values", "sent")

    def __init__(self, values: Mapping[str, Any] = MappingProxyType({}),
                 sent: Sequence[tuple[str, str]] = ()) -> None:
        self._values, self.sent = values, sent
        self._parameter: str | None = None
        self._derived: BoundedCache[Any] = BoundedCache(_MOST_DERIVED)

    def with_cursor(self, parameter: str, cursor: str) -> LoadedQuery:
        """The same with a cursor; whatever is derived from either is kept here."""
        found = LoadedQuery.__new__(LoadedQuery)
        found._values, found.sent = {**self._values, parameter: cursor}, self.sent
        found._parameter, found._derived = parameter, self._derived
        return found

    def derive(self, key: tuple[Hashable, ...], make: Callable[[], T]) -> T:
        """What `make` reads in these parameters, made once for each `key`. It may depend on the cursor's
        parameter, never on its value."""
        derived: T = self._derived.get((self._parameter, key), make)
        return derived

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def get(self, name: str, default: Any = None) -> Any:
        return self._values.get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


NO_PARAMETERS = LoadedQuery()
