"""Checkpoints: what was committed is copied from SQLite's write-ahead log into its file, beside those who write.

SQLite's own (`wal_autocheckpoint`, which our hook replaces) are made by whoever commits, while all other writers wait
for the disk. Here a thread makes them. A log begins anew once it was copied whole and nobody reads from it; while
others write, a copy in a thread is never whole. So when the thread has just copied a long log, whoever commits next
copies what little has come since, before anybody else may write. Where reads overlap all the time that is not enough,
and whoever commits to a very long log waits for those who read from it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from threading import Thread

import apsw

from models.errors import Unavailable
from models.sqlite_connection import BUSY_TIMEOUT

LONG = 4000  # pages after which a log is to begin anew; one that has changed often is copied once
LAST = 500  # pages that whoever commits copies: some milliseconds
MOST = 50_000  # pages from which whoever commits copies all that the thread has left, and waits for readers
PATIENCE = 0.5  # seconds for which they are waited for


class Checkpoints:
    """The checkpoints of one process, one at a time. `connection` lends a connection to the database."""

    def __init__(self, connection: Callable[[], AbstractContextManager[apsw.Connection]]) -> None:
        self._connection = connection
        self._due = LONG  # pages in the log from which it is to be copied
        self._begun = 0  # pages in the log when the last copy of it began
        self._thread: Thread | None = None

    def committed(self, conn: apsw.Connection, _schema: str, pages: int) -> int:
        """The hook of each connection (`sqlite3_wal_hook`): called after a commit, while its writer still holds the
        lock, with the length of the log in pages. Raises nothing."""
        if pages < self._begun:
            # A shorter log is a new one.
            self._due, self._begun = LONG, 0
        # Whatever becomes of the copy: what is raised here would look like a commit that failed, and be done again.
        if pages >= self._due:
            with suppress(Exception):
                self._long(conn, pages)
        return apsw.SQLITE_OK

    def finish(self) -> None:
        """Wait until the copy under way, if any, is made."""
        if self._thread is not None and self._thread.is_alive():
            self._thread.join()

    def _long(self, conn: apsw.Connection, pages: int) -> None:
        under_way = self._thread is not None and self._thread.is_alive()
        if (pages - self._begun <= LAST and not under_way) or pages >= self._due + MOST:
            if pages < MOST:
                conn.wal_checkpoint()
            else:
                _copy_patiently(conn)
            # Where somebody still reads from it, it goes on growing for now.
            self._due, self._begun = pages + pages // 4, pages
        elif not under_way:
            self._begun = pages
            self._thread = Thread(target=self._copy, name="checkpoint", daemon=True)
            self._thread.start()

    def _copy(self) -> None:
        # Another process may be at it already: what it leaves, the next one copies. Nor is a file that is gone our
        # concern.
        with suppress(apsw.Error, Unavailable, OSError), self._connection() as conn:
            conn.wal_checkpoint()


def _copy_patiently(conn: apsw.Connection) -> None:
    conn.set_busy_timeout(int(PATIENCE * 1000))
    try:
        # Busy: somebody reads for longer than that, such as an export.
        with suppress(apsw.BusyError):
            conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
    finally:
        conn.set_busy_timeout(int(BUSY_TIMEOUT * 1000))
