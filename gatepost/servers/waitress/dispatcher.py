"""Which thread of waitress answers which request, and when one has waited too long."""

from __future__ import annotations

from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any

from waitress.task import ThreadedTaskDispatcher

from ..admission import LIVE, LOOK, PATIENCE, overloaded


class Dispatcher(ThreadedTaskDispatcher):
    """The threads that handle requests, and one that answers `LIVE` and refuses what has waited for `PATIENCE`.

    A task is a channel whose first request is whole.
    """

    def __init__(self) -> None:
        super().__init__()
        self._urgent: SimpleQueue[Any] = SimpleQueue()
        self._turned = monotonic()
        Thread(target=self._spare, name="waitress-spare", daemon=True).start()

    def add_task(self, task: Any) -> None:
        if self.active_count >= len(self.threads) and task.requests and task.requests[0].path in LIVE:
            self._urgent.put(task)
            return
        task.queued = monotonic()
        super().add_task(task)

    def shutdown(self, cancel_pending: bool = True, timeout: float = 5) -> bool:
        self._urgent.put(None)
        done: bool = super().shutdown(cancel_pending, timeout)
        return done

    def turns(self) -> bool:
        """Whether the thread that answers when all others are busy has been free in the last `PATIENCE`."""
        return monotonic() - self._turned < PATIENCE

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
                self._serve(task)
            if monotonic() >= look:
                self._refuse_overdue()
                look = monotonic() + LOOK

    def _refuse_overdue(self) -> None:
        for task in self._overdue():
            if task.requests:
                task.requests[0].turn_away(overloaded())
            self._serve(task)

    def _overdue(self) -> list[Any]:
        """Take out of the queue what has waited too long: its first tasks have waited longest."""
        late, found = monotonic() - PATIENCE, []
        with self.lock:
            while self.queue and self.queue[0].queued < late:
                found.append(self.queue.popleft())
        return found

    def _serve(self, task: Any) -> None:
        try:
            task.service()
        except BaseException:
            self.logger.exception("Exception when servicing %r", task)
