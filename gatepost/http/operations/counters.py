"""Counters with a time window: of this process, or of all processes in Redis.

A process uses a monotonic clock, and Redis its own. So a wall clock that is set back prolongs no refusal. While Redis
is unreachable, each process counts for itself, reports that, and tries Redis every second.
"""

from __future__ import annotations

import logging
from threading import Lock
from time import monotonic, time
from typing import cast

from settings import SettingError

log = logging.getLogger("gatepost.limits")

MINUTE, DAY = 60, 24 * 60 * 60  # seconds for which a counter counts
RECONNECT_AFTER = 1.0  # seconds between two attempts to reach Redis
PATIENCE = 0.25  # seconds that a request waits for Redis

Count = tuple[int, float]
"""Number of counted units, and seconds until the window ends."""

_NONE = 0, float("-inf")  # units, and the end of the window


class OwnCounters:
    """Counters in the memory of this process.

    The memory storage of `limits` is not used: under load it starts a thread every ten milliseconds, which reads every
    counter.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts: dict[str, tuple[int, float]] = {}
        self._swept = monotonic()

    def add(self, key: str, units: int, seconds: int) -> Count:
        """Count `units` for so many seconds from the first one on; negative ones give back, down to 0."""
        moment = monotonic()
        with self._lock:
            if moment - self._swept > MINUTE:
                self._swept = moment
                self._counts = {key: count for key, count in self._counts.items() if count[1] > moment}
            used, ends = self._counts.get(key, _NONE)
            if ends <= moment:
                used, ends = 0, moment + seconds
            # What is given back was taken in a window that may be over.
            used = max(0, used + units)
            if used:
                self._counts[key] = used, ends
            else:
                self._counts.pop(key, None)
        # By a rounding error the rest of a window that begins now may be more than the window.
        return used, min(seconds, ends - moment)


class Unreachable(Exception):
    """Error of a Redis that does not answer."""


class SharedCounters:
    """Counters in Redis. Connects at the first count."""

    def __init__(self, url: str) -> None:
        """Raises `SettingError` if the client library of Redis is missing."""
        # Imported here, because most services have no Redis. `limits` is the library, not the module beside this one.
        from limits.errors import ConfigurationError, StorageError
        from limits.storage import Storage, storage_from_string

        self._error = StorageError
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
        except self._error as error:
            raise Unreachable(error.storage_error) from error

    def _add(self, key: str, units: int, seconds: int) -> Count:
        if units < 0:
            # What is given back was taken in a window that may be over.
            units = -min(-units, self._storage.get(key))
        used = self._storage.incr(key, seconds, units) if units else self._storage.get(key)
        if used < 0:
            self._storage.clear(key)  # the window has ended in between
        # The storage adds the current time to the seconds that Redis returns.
        return max(0, used), self._storage.get_expiry(key) - time()


class Counters:
    """Counters in Redis while it answers, otherwise in this process."""

    def __init__(self, redis_url: str) -> None:
        self._shared = SharedCounters(redis_url) if redis_url else None
        self._own = OwnCounters()
        self._next_try = 0.0
        self.degraded = False

    def add(self, key: str, units: int, seconds: int = MINUTE) -> Count:
        """Count `units` for so many seconds from the first one on; negative ones give back, down to 0."""
        if self._shared is not None and monotonic() >= self._next_try:
            if self.degraded:
                # Set before the attempt: while Redis does not answer, only one request a second waits for it.
                self._next_try = monotonic() + RECONNECT_AFTER
            try:
                count = self._shared.add(key, units, seconds)
            except Unreachable as error:
                self._next_try = monotonic() + RECONNECT_AFTER
                if not self.degraded:
                    log.error("Redis does not answer, each process limits by itself: %s", error)
                self.degraded = True
            else:
                if self.degraded:
                    log.warning("Redis answers again, limits are shared")
                self.degraded = False
                self._next_try = 0.0
                return count
        return self._own.add(key, units, seconds)
