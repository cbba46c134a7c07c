"""Checkpoints: what was committed is copied from SQLite's write-ahead log into its file, beside those who write.

SQLite's own (`wal_autocheckpoint`, which our hook replaces) are made by whoever commits, while all other writers wait
for the disk. Here a thread makes them. A log begins anew once it was copied whole and nobody reads from it; while
others write, a copy in a thread is never whole. So when the thread has just copied a very long log, whoever commits
next copies what little has come since, before anybody else may write.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from threading import Thread

import apsw

from models.errors import Unavailable

STEP = 4000  # pages of the log that are copied together: one that changed often is written once
LIMIT = 16_000  # pages of the log, from which it is to begin anew
LAST = 500  # pages of the log that whoever commits copies: some milliseconds. Of twice the limit, any number.


class Checkpoints:
    """The checkpoints of one process, one at a time. `connection` lends a connection to the database."""

    def __init__(self, connection: Callable[[], AbstractContextManager[apsw.Connection]]) -> None:
        self._connection = connection
        self._begun = 0  # pages in the log when the last copy of it began
        self._due = LIMIT  # pages in the log from which the next writer may finish it
        self._thread: Thread | None = None

    def committed(self, conn: apsw.Connection, _schema: str, pages: int) -> int:
        """The hook of each connection (`sqlite3_wal_hook`): called after a commit, while its writer still holds the
        lock, with the length of the log in pages. Raises nothing."""
        if pages < self._begun:
            # A shorter log is a new one.
            self._begun, self._due = 0, LIMIT
        rest = pages - self._begun
        # Whatever becomes of the copy: what is raised here would look like a commit that failed, and be done again.
        with suppress(Exception):
            if pages >= self._due and (rest <= LAST or pages >= self._due + LIMIT):
                conn.wal_checkpoint()
                # Where somebody still reads from it, the log goes on growing.
                self._begun, self._due = pages, pages + STEP
            elif (rest >= STEP or pages >= self._due) and (self._thread is None or not self._thread.is_alive()):
                self._begun = pages
                self._thread = Thread(target=self._copy, name="checkpoint", daemon=True)
                self._thread.start()
        return apsw.SQLITE_OK

    def finish(self) -> None:
        """Wait until the copy under way, if any, is made."""
        if self._thread is not None and self._thread.is_alive():
            self._thread.join()

    def _copy(self) -> None:
        # Another process may be at it already: what it leaves, the next one copies. Nor is a file that is gone our
        # concern.
        with suppress(apsw.Error, Unavailable, OSError), self._connection() as conn:
            conn.wal_checkpoint()
