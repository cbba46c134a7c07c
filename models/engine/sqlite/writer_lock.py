"""One writer at a time, across the threads and the processes of an instance on SQLite.

SQLite's own busy handler sleeps and retries, so under load some writer waits until it gives up. Waiting in
front of BEGIN IMMEDIATE instead is fair: threads queue on a lock, and one thread per process queues on two
`flock`s. The thread that waits for the second holds the first, so the process that just wrote cannot overtake the one
that waits.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

from models.engine.errors import Unavailable
from models.engine.waiting import Wait

SHORTEST, LONGEST = 0.0001, 0.002  # seconds between two tries for a lock that another process holds
OVERSLEPT = 1 / 8  # of the wait so far: the pause in between, and how late a lock that was let go is noticed


class WriterLock:
    """Held by one thread of one process at a time; not re-entrant.

    The locks vanish with their process, so kill -9 leaves nothing behind but two empty files.
    """

    def __init__(self, database: Path) -> None:
        self.queue = f"{database}.writer-queue"
        self.turn = f"{database}.writer-lock"
        self._thread = threading.Lock()
        self._held = -1

    def acquire(self, wait: Wait) -> None:
        """Wait for the turn. Raises what `Wait.limit` raises, `Unavailable` when there is no folder for the locks."""
        wait.acquire(self._thread)
        try:
            # Opened each time: a descriptor kept over a fork would share its lock with the child.
            place = _lock(self.queue, wait)
            try:
                self._held = _lock(self.turn, wait)
            finally:
                os.close(place)
        except BaseException:
            self._thread.release()
            raise

    @contextmanager
    def held(self, wait: Wait) -> Iterator[None]:
        """`acquire` and `release`. Raises what `acquire` raises."""
        self.acquire(wait)
        try:
            yield
        finally:
            self.release()

    def release(self) -> None:
        os.close(self._held)
        self._thread.release()


def _lock(path: str, wait: Wait) -> int:
    """An open descriptor that holds the exclusive flock of `path`; closing it releases the lock."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Unavailable(str(error)) from error
    began = monotonic()
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return descriptor
            except BlockingIOError:
                pass
            most = wait.limit()
            sleep(min(max(SHORTEST, (monotonic() - began) * OVERSLEPT), LONGEST, most))
    except BaseException:
        os.close(descriptor)
        raise
