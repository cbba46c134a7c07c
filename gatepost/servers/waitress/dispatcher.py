"""Threads that answer the requests of waitress, and a thread that refuses requests that have waited too long."""

from __future__ import annotations

import logging
from collections import deque
from queue import Empty, SimpleQueue
from threading import Condition, Thread
from time import monotonic
from typing import TYPE_CHECKING

from ..admission import LIVE, LOOK, PATIENCE, overloaded

if TYPE_CHECKING:
    from .channel import Channel

log = logging.getLogger("gatepost.serving")


class Dispatcher:
    """Threads that answer requests in their order, and a spare one that answers `LIVE` while all others are busy.

    A channel in the queue has one complete request. It is refused after `PATIENCE`.
    """

    def __init__(self, threads: int) -> None:
        self._queue: deque[tuple[Channel, float]] = deque()  # each with the time since which it waits (monotonic)
        self._urgent: SimpleQueue[Channel | None] = SimpleQueue()
        self._changed = Condition()  # and the lock of what is above and below
        self._idle, self._stopping = 0, False
        self._turned = monotonic()  # when the spare thread was last free
        self._threads = [Thread(target=self._work, name=f"waitress-{number}", daemon=True) for number in range(threads)]
        for each in (*self._threads, Thread(target=self._spare, name="waitress-spare", daemon=True)):
            each.start()

    def __len__(self) -> int:
        """Returns the number of requests that wait for a thread."""
        return len(self._queue)

    @property
    def is_idle(self) -> bool:
        return self._idle == len(self._threads)

    def add_task(self, task: Channel) -> None:
        """Lets a thread answer the request of a channel. waitress calls it."""
        with self._changed:
            if self._idle > len(self._queue) or task.requests[0].path not in LIVE:
                self._queue.append((task, monotonic()))
                self._changed.notify()
                return
        self._urgent.put(task)

    def shutdown(self, timeout: float) -> None:
        """Stops the threads. Waits at most `timeout` seconds for their current requests."""
        self._urgent.put(None)
        with self._changed:
            self._stopping = True
            self._queue.clear()
            self._changed.notify_all()
        end = monotonic() + timeout
        for each in self._threads:
            each.join(max(0.0, end - monotonic()))

    def turns(self) -> bool:
        """True if the spare thread was free within the last `PATIENCE` seconds."""
        return monotonic() - self._turned < PATIENCE

    def _work(self) -> None:
        while True:
            with self._changed:
                self._idle += 1
                while not (self._queue or self._stopping):
                    self._changed.wait()
                self._idle -= 1
                if self._stopping:
                    return
                task, _ = self._queue.popleft()
            _serve(task)

    def _spare(self) -> None:
        look = monotonic() + LOOK
        while True:
            self._turned = monotonic()
            try:
                task = self._urgent.get(timeout=max(0.0, look - monotonic()))
            except Empty:
                pass
            else:
                if task is None:
                    return
                _serve(task)
            if monotonic() >= look:
                for task in self._overdue():
                    task.requests[0].turn_away(overloaded())
                    _serve(task)
                look = monotonic() + LOOK

    def _overdue(self) -> list[Channel]:
        """Removes the requests that have waited too long from the queue. The first ones have waited longest."""
        late, overdue = monotonic() - PATIENCE, []
        with self._changed:
            while self._queue and self._queue[0][1] < late:
                overdue.append(self._queue.popleft()[0])
        return overdue


def _serve(task: Channel) -> None:
    try:
        task.service()
    except BaseException:
        log.exception("Exception when servicing %r", task)
