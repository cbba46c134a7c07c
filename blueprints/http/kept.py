"""Results that are kept because they take longer to make than to use."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Kept(Generic[T]):
    """At most `most` results by key. When there are more it forgets them all: a client that varies its requests
    without end costs time, never memory."""

    __slots__ = ("_found", "_most")

    def __init__(self, most: int = 512) -> None:
        self._found: dict[Hashable, T] = {}
        self._most = most

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """What is kept under `key`, made first if it is not there; what `make` raises is not kept."""
        found = self._found.get(key)
        if found is None:
            found = make()
            if len(self._found) >= self._most:
                self._found.clear()
            self._found[key] = found
        return found
