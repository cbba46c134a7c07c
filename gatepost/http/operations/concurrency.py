"""Concurrency limits for requests that may hold a thread for long: exports, large bodies, waiting writes."""

from __future__ import annotations

from collections import Counter
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from settings import Settings

EACH = 2  # requests at a time for one key
RETRY_AFTER = "5"  # seconds after which a refused client may retry


def threads_of(settings: Settings) -> int:
    """Returns the number of requests that one process handles at a time.

    On Postgres further threads would only wait for a connection; SQLite opens as many connections as are used.
    """
    on_sqlite = settings.database_url.startswith("sqlite:")
    return settings.threads if on_sqlite else min(settings.threads, settings.pool_size)


def most_waiting(threads: int) -> int:
    """Returns how many of these threads may serve long or waiting requests; the others are for short requests."""
    return max(1, threads // 2)


class ConcurrencyLimit:
    """Concurrency limit of one process: `EACH` requests for each key, and `most` for all keys together."""

    def __init__(self, most: int, each: int = EACH) -> None:
        self.most, self._each = most, each
        self._in_use: Counter[str] = Counter()
        self._lock = Lock()

    def acquire(self, key: str) -> bool:
        """Counts one more request. Returns False if the limit is reached."""
        with self._lock:
            if self._in_use[key] >= self._each or self._in_use.total() >= self.most:
                return False
            self._in_use[key] += 1
            return True

    def release(self, key: str) -> None:
        """Counts one request less."""
        with self._lock:
            self._in_use[key] -= 1
            if not self._in_use[key]:
                del self._in_use[key]
