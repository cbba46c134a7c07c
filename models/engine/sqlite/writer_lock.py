"""Lock for one writer at a time, across the threads and processes of an instance on SQLite.

SQLite's own busy handler sleeps and retries, so under load some writers wait until they give up. Waiting before BEGIN
IMMEDIATE is fair: threads queue on a lock, and one thread per process queues on two `flock`s. The thread that waits for
the second holds the first, so the process that just wrote cannot overtake the one that waits.
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

SHORTEST, LONGEST = 0.0001, 0.002  # seconds between two attempts to get a lock that another process holds
OVERSLEPT = 1 / 8  # fraction of the wait so far: length of the next pause, and so the delay after the lock is released


class WriterLock:
    """Lock held by one thread of one process at a time; not re-entrant.

    The locks vanish with their process, so kill -9 leaves only two empty files.
    """

    def __init__(self, database: Path) -> None:
        self.queue = f"{database}.writer-queue"
        self.turn = f"{database}.writer-lock"
        self._thread = threading.Lock()
        self._held = -1

    def acquire(self, wait: Wait) -> None:
        """Waits for the turn. Raises what `Wait.limit` raises, `Unavailable` if the folder of the locks is missing."""
        wait.acquire(self._thread)
        try:
            # Opened each time: a descriptor kept across a fork would share its lock with the child.
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
        """Holds the lock in the block. Raises what `acquire` raises."""
        self.acquire(wait)
        try:
            yield
        finally:
            self.release()

    def release(self) -> None:
        os.close(self._held)
        self._thread.release()


def _lock(path: str, wait: Wait) -> int:
    """Returns an open descriptor that holds the exclusive flock of `path`; closing it releases the lock."""
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
