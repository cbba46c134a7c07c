"""Waiting for the database: one deadline for a caller's whole wait, and a bounded number of waiters.

One cause (another process that holds the lock, a silent server) keeps all callers waiting. Soon every thread of a
server would wait, and none would be free for requests that only read. So at most half of the threads (`Places`) wait
longer than a moment. Other callers are refused with `Overloaded`: at once where all places have been taken for longer
than a moment, and after a moment where a burst has just taken them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from math import ceil
from threading import Lock
from time import monotonic

from models.engine.errors import Overloaded, Unavailable
from models.engine.observer import Observer, Unobserved

_uncounted: ContextVar[bool] = ContextVar("gatepost_uncounted", default=False)


@contextmanager
def uncounted() -> Iterator[None]:
    """Exempts a background thread, which answers no request, from the limit of waiters."""
    token = _uncounted.set(True)
    try:
        yield
    finally:
        _uncounted.reset(token)


class Places:
    """Limit of the threads of one process that wait longer than a moment.

    most     number of places; None: no limit
    moment   seconds for which a thread may wait without a place
    timeout  seconds for which it may wait in all
    late     makes the error of a thread whose deadline has passed
    moved    time of the last call of `progress`, by the monotonic clock
    observer records threads that had to wait, and threads that were refused
    """

    def __init__(self, most: int | None, *, moment: float, timeout: float, late: Callable[[], Unavailable]) -> None:
        self.most, self.moment, self.timeout, self.late = most, moment, timeout, late
        self.moved = 0.0
        self.observer: Observer = Unobserved()
        self._mutex = Lock()
        self._taken: set[Wait] = set()

    def progress(self) -> None:
        """Notes that a thread got, or gave back, the resource that the others wait for."""
        self.moved = monotonic()

    def admit(self) -> None:
        """Raises `Overloaded` if all places are taken and nothing has moved for longer than a moment.

        At least one place must have been taken for that long, and no `progress` noted in that time.
        """
        long_ago = monotonic() - self.moment
        if self.moved < long_ago:
            with self._mutex:
                if any(wait.begun < long_ago for wait in self._taken):
                    self._refuse_if_full()

    def acquire(self, wait: Wait) -> None:
        """Gives a place to `wait`, unless that has ended. Raises `Overloaded` when no place is free."""
        with self._mutex:
            self._refuse_if_full()
            # The order matters: another thread may end the wait meanwhile (`Wait.end`), and its place must not stay
            # taken.
            wait.placed = True
            if not wait.over and not _uncounted.get():
                self._taken.add(wait)

    def release(self, wait: Wait) -> None:
        """Frees the place of `wait`, if it has one."""
        with self._mutex:
            self._taken.discard(wait)

    def _refuse_if_full(self) -> None:
        if self.most is not None and len(self._taken) >= self.most and not _uncounted.get():
            self.observer.refused()
            # The earliest deadline frees a place, even if that thread did not get its turn.
            first = min(wait.deadline for wait in self._taken)
            raise Overloaded(max(1, ceil(first - monotonic())))


class Wait:
    """One caller's wait for all resources that it needs, with one deadline.

    begun     time of its begin, by the monotonic clock
    deadline  latest end, by the same clock
    placed    True if it tried to get a place and was not refused
    over      True if it has ended
    """

    __slots__ = ("_places", "_queued", "begun", "deadline", "over", "placed")

    def __init__(self, places: Places) -> None:
        self._places = places
        self.begun = monotonic()
        self.deadline = self.begun + places.timeout
        self._queued = self.placed = self.over = False

    def left(self) -> float:
        """Returns the seconds until the deadline; 0 when it has passed."""
        return max(0.0, self.deadline - monotonic())

    def limit(self) -> float:
        """Returns the seconds to wait before the next call of this method.

        Raises `Overloaded`, and the error that `Places.late` makes when the deadline has passed.
        """
        if not self._queued:
            self._places.admit()
            self._queued = True
        now = monotonic()
        if now >= self.deadline:
            self._places.observer.refused()
            raise self._places.late()
        short = self.begun + self._places.moment - now
        if not self.placed:
            if short > 0:
                return min(short, self.deadline - now)
            self._places.acquire(self)
        return self.deadline - now

    def acquire_place(self) -> bool:
        """Tries to get a place at once, for work that may take longer than a moment. Returns True if it has one."""
        if not self.placed:
            with suppress(Overloaded):
                self._places.acquire(self)
        return self.placed

    def acquire(self, lock: Lock) -> None:
        """Acquires the lock. Raises what `limit` raises."""
        if not lock.acquire(blocking=False):
            while not lock.acquire(timeout=self.limit()):
                pass

    def end(self) -> None:
        """Frees the place. Any thread may call this, more than once."""
        if self._queued and not self.over:
            self._places.observer.waited(monotonic() - self.begun)
        self.over = True
        if self.placed:
            self._places.release(self)
