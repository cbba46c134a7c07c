"""Counters that several processes share in Redis, by the library `limits`."""

from __future__ import annotations

from time import time
from typing import cast

from limits.errors import ConfigurationError, StorageError
from limits.storage import Storage, storage_from_string

from settings import SettingError

from .counters import PATIENCE, Count, Unreachable


class SharedCounters:
    """Counts in Redis. Nothing is connected until the first count."""

    def __init__(self, url: str) -> None:
        """Raises `SettingError` where the client library of Redis is missing."""
        try:
            self._storage = cast(Storage, storage_from_string(
                url.replace("unix://", "redis+unix://", 1), wrap_exceptions=True, socket_timeout=PATIENCE,
                socket_connect_timeout=PATIENCE, key_prefix="gatepost"))
        except ConfigurationError:
            raise SettingError("redis_url needs the Redis client. Run: pip install redis") from None

    def add(self, key: str, units: int, seconds: int) -> Count:
        """Count `units` for so many seconds from the first one on; negative ones give back, down to 0.

        Raises `Unreachable`.
        """
        try:
            return self._add(key, units, seconds)
        except StorageError as error:
            raise Unreachable(error.storage_error) from error

    def _add(self, key: str, units: int, seconds: int) -> Count:
        if units < 0:
            # What is given back was taken in a window that may be over.
            units = -min(-units, self._storage.get(key))
        used = self._storage.incr(key, seconds, units) if units else self._storage.get(key)
        if used < 0:
            self._storage.clear(key)  # it ended in between
        # The storage adds the time of this moment to what Redis says is left.
        return max(0, used), self._storage.get_expiry(key) - time()
