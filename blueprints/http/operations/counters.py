"""Counters that start afresh some time after they were first used: of this process, or of all of them in Redis.

Time is that of a monotonic clock here and of Redis' own there: a wall clock that is set back prolongs no refusal.
When Redis is gone each process counts for itself, says so, and looks every second whether Redis is back.
"""

from __future__ import annotations

import logging
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .redis_counters import SharedCounters

log = logging.getLogger("gatepost.limits")

MINUTE, DAY = 60, 24 * 60 * 60  # seconds for which a counter counts
RECONNECT_AFTER = 1.0  # seconds between two looks at a Redis that was gone
PATIENCE = 0.25  # seconds that a request waits for Redis

Count = tuple[int, float]
"""How many units were counted, and the seconds until counting starts afresh."""

_NONE = 0, float("-inf")  # units, and when counting starts afresh


class OwnCounters:
    """Counts in the memory of this process.

    Not the memory storage of `limits`: under load that one starts a thread every ten milliseconds, which looks at
    every counter there is.
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
    """Redis does not answer."""


class Counters:
    """Shared counters where there is a Redis that answers, own ones otherwise."""

    def __init__(self, redis_url: str) -> None:
        self._shared = _shared(redis_url) if redis_url else None
        self._own = OwnCounters()
        self._next_try = 0.0
        self.degraded = False

    def add(self, key: str, units: int, seconds: int = MINUTE) -> Count:
        """Count `units` for so many seconds from the first one on; negative ones give back, down to 0."""
        if self._shared is not None and monotonic() >= self._next_try:
            if self.degraded:
                # Before it is asked: while it is silent, one request a second waits for it, and no other.
                self._next_try = monotonic() + RECONNECT_AFTER
            try:
                counted = self._shared.add(key, units, seconds)
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
                return counted
        return self._own.add(key, units, seconds)


def _shared(redis_url: str) -> SharedCounters:
    from .redis_counters import SharedCounters  # and its library: only where there is a Redis
    return SharedCounters(redis_url)
