"""Copying what was committed from SQLite's write-ahead log into its file, beside those who write.

SQLite leaves that to whoever commits when the log has grown long, and then everybody waits for the disk. Here a thread
does it meanwhile. A log that was copied whole begins anew, but while others write one never is; so whoever commits to a
very long one copies what is left, before the next one may write.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from threading import Thread

import apsw

STEP = 4000  # pages of the log that are copied together: one that changed often is written once
LONGEST = 16_000  # pages


class Checkpoints:
    """The checkpoints of one process. `connection` lends one of its connections."""

    def __init__(self, connection: Callable[[], AbstractContextManager[apsw.Connection]]) -> None:
        self._connection = connection
        self._begun = 0  # how long the log was when the last copy began
        self._thread: Thread | None = None

    def committed(self, conn: apsw.Connection, _schema: str, pages: int) -> int:
        """SQLite calls this after each commit, with the length of the log (`sqlite3_wal_hook`)."""
        self._begun = min(self._begun, pages)
        # What is committed stays so, whatever becomes of the copy: another commit tries again.
        with suppress(apsw.Error, RuntimeError):
            if pages >= LONGEST:
                conn.wal_checkpoint()
            elif pages - self._begun >= STEP and (self._thread is None or not self._thread.is_alive()):
                self._begun = pages
                self._thread = Thread(target=self._copy, name="checkpoint", daemon=True)
                self._thread.start()
        return apsw.SQLITE_OK

    def finish(self) -> None:
        """Wait for the copy that is being made."""
        if self._thread is not None and self._thread.is_alive():
            self._thread.join()

    def _copy(self) -> None:
        # Another process may be at it already: it does our part, too.
        with suppress(OSError, apsw.Error), self._connection() as conn:
            conn.wal_checkpoint()
