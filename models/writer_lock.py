"""One writer at a time, across the threads and the processes of an instance on SQLite.

SQLite's own busy handler sleeps and retries, so under load some writer waits until it gives up. Waiting in
front of BEGIN IMMEDIATE instead is fair: threads queue on a lock, and one thread per process queues on two
`flock`s. Whoever waits for the second holds the first, so the process that just wrote cannot overtake the one
that waits.
"""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType

from models.errors import Busy, Unavailable

SHORTEST, LONGEST = 0.0001, 0.002  # seconds between two tries for a lock that another process holds
OVERSLEPT = 1 / 8  # of the wait so far: the pause in between, and how late a lock that was let go is noticed


class WriterLock:
    """Context manager; not re-entrant. Raises `Busy` after `timeout` seconds.

    The locks vanish with their process, so kill -9 leaves nothing behind but two empty files.
    """

    def __init__(self, database: Path, timeout: float) -> None:
        self.queue = f"{database}.writer-queue"
        self.turn = f"{database}.writer-lock"
        self.timeout = timeout
        self._thread = threading.Lock()
        self._held = -1

    def __enter__(self) -> WriterLock:
        deadline = monotonic() + self.timeout
        if not self._thread.acquire(timeout=self.timeout):
            raise Busy("other writers kept the database busy")
        try:
            # Opened each time: a descriptor kept over a fork would share its lock with the child.
            place = _lock(self.queue, deadline)
            try:
                self._held = _lock(self.turn, deadline)
            finally:
                os.close(place)
        except BaseException:
            self._thread.release()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        os.close(self._held)
        self._thread.release()


def _lock(path: str, deadline: float) -> int:
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
                moment = monotonic()
                if moment > deadline:
                    raise Busy("other processes kept the database busy") from None
                sleep(min(max(SHORTEST, (moment - began) * OVERSLEPT), LONGEST))
    except BaseException:
        os.close(descriptor)
        raise
