"""Results that are kept because they take longer to make than to use."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")

_LONGEST = 1024  # bytes of a client's text in a key: what is read from it takes many times as much


class BoundedCache(Generic[T]):
    """At most `most` results by key. When there are more it forgets them all: a client that varies its requests
    without end costs time, never memory."""

    __slots__ = ("_found", "_most")

    def __init__(self, most: int = 512) -> None:
        self._found: dict[Hashable, T] = {}
        self._most = most

    def get(self, key: Hashable, make: Callable[[], T], *, text: bytes = b"") -> T:
        """What is kept under `key`, made first if it is not there; what `make` raises is not kept, and neither is
        what comes of a long `text` of the client's."""
        if len(text) > _LONGEST:
            return make()
        found = self._found.get(key)
        if found is None:
            found = make()
            if len(self._found) >= self._most:
                self._found.clear()
            self._found[key] = found
        return found
