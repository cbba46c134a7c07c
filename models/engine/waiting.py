"""Waiting for the database: one deadline for all that a caller waits for in turn, and a bounded number of waiters.

What keeps one caller waiting (another process that holds the lock, a silent server) keeps all callers waiting, and soon
every thread of a server, also for requests that need no turn to write. So at most half of the threads (`Places`) wait
for longer than a moment. Other callers are refused with `Overloaded`: at once where all places have been taken for
longer than a moment, and after a moment where they were taken just now, by a burst.
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
    """For a background thread, which answers no request: it takes no place and needs none."""
    before = _uncounted.set(True)
    try:
        yield
    finally:
        _uncounted.reset(before)


class Places:
    """The places at which the threads of one process wait for longer than a moment.

    most     places that there are; None: no bound
    moment   seconds for which a thread may wait without a place
    timeout  seconds for which it may wait in all
    late     makes the error of a thread whose deadline has passed
    moved    when `progress` was last called, by the monotonic clock
    observer is told of threads that had to wait, and of those that were refused
    """

    def __init__(self, most: int | None, *, moment: float, timeout: float, late: Callable[[], Unavailable]) -> None:
        self.most, self.moment, self.timeout, self.late = most, moment, timeout, late
        self.moved = 0.0
        self.observer: Observer = Unobserved()
        self._mutex = Lock()
        self._taken: set[Wait] = set()

    def progress(self) -> None:
        """Note that a thread got, or gave back, what the others wait for."""
        self.moved = monotonic()

    def admit(self) -> None:
        """Raises `Overloaded` where all places are taken, one of them for longer than a moment, and for as long no
        thread got or gave back what the others wait for."""
        long_ago = monotonic() - self.moment
        if self.moved < long_ago:
            with self._mutex:
                if any(wait.begun < long_ago for wait in self._taken):
                    self._refuse_if_full()

    def acquire(self, wait: Wait) -> None:
        """Give a place to `wait`, unless it is over. Raises `Overloaded` when none is free."""
        with self._mutex:
            self._refuse_if_full()
            # In this order: another thread may end the wait meanwhile (`Wait.end`), and must not leave its place taken.
            wait.placed = True
            if not wait.over and not _uncounted.get():
                self._taken.add(wait)

    def release(self, wait: Wait) -> None:
        """Free the place of `wait`, if it has one."""
        with self._mutex:
            self._taken.discard(wait)

    def _refuse_if_full(self) -> None:
        if self.most is not None and len(self._taken) >= self.most and not _uncounted.get():
            self.observer.refused()
            # The first deadline frees a place, whether that thread got its turn or not.
            first = min(wait.deadline for wait in self._taken)
            raise Overloaded(max(1, ceil(first - monotonic())))


class Wait:
    """The waiting of one caller, for all that it needs in turn, until one deadline.

    begun     when it began, by the monotonic clock
    deadline  when it ends at the latest, by the same clock
    placed    whether it asked for a place and was not refused
    over      whether it has ended
    """

    __slots__ = ("_places", "_queued", "begun", "deadline", "over", "placed")

    def __init__(self, places: Places) -> None:
        self._places = places
        self.begun = monotonic()
        self.deadline = self.begun + places.timeout
        self._queued = self.placed = self.over = False

    def left(self) -> float:
        """The seconds until the deadline, 0 when it has passed."""
        return max(0.0, self.deadline - monotonic())

    def limit(self) -> float:
        """The seconds for which to wait before asking this again.

        Raises `Overloaded`, and what the places call being late once the deadline has passed.
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
        """Acquire a place at once, for what may take longer than a moment; whether there is one."""
        if not self.placed:
            with suppress(Overloaded):
                self._places.acquire(self)
        return self.placed

    def acquire(self, lock: Lock) -> None:
        """Acquire the lock. Raises what `limit` raises."""
        if not lock.acquire(blocking=False):
            while not lock.acquire(timeout=self.limit()):
                pass

    def end(self) -> None:
        """Free the place. Any thread may call this, more than once."""
        if self._queued and not self.over:
            self._places.observer.waited(monotonic() - self.begun)
        self.over = True
        if self.placed:
            self._places.release(self)
