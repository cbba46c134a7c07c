"""Checkpoints: copies of committed pages from SQLite's write-ahead log into its file, while writers go on.

SQLite's own checkpoints (`wal_autocheckpoint`, which our hook replaces) run in the writer that commits, while all other
writers wait for the disk. Here a thread makes them. A log restarts from its beginning once it is copied whole and no
connection reads from it. While writers go on, a copy in a thread is never whole. So after the thread has copied a long
log, the next writer that commits copies the few new pages, before another may write. Where reads overlap all the time,
that is not enough: then a writer that commits to a very long log waits a moment for its readers.

Before a copy, and once for a new log, the file gets a new token (`models.engine.sqlite.pair`). Without it, nothing is
copied.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from threading import Thread
from time import monotonic, sleep

import apsw

from models.engine.errors import Unavailable
from models.engine.observer import Observer, Unobserved
from models.engine.sqlite.connection import BUSY_TIMEOUT
from models.engine.sqlite.pair import Pair

LONG = 4000  # pages from which a log is copied and should restart: a page that changes often is copied only once
LAST = 500  # pages that the committing writer copies after the thread has copied the rest: some milliseconds
VERY_LONG = 16_000  # pages from which the committing writer waits for the thread and for readers
PATIENCE = 0.25  # seconds for which that writer waits


class Checkpoints:
    """Makes the checkpoints of one process, one at a time.

    `connection` lends a connection to the database; `pair` is its file and log. Only the thread that holds this
    process's `writer_lock` calls `committed`.
    """

    def __init__(self, connection: Callable[[], AbstractContextManager[apsw.Connection]], pair: Pair) -> None:
        self._connection, self._pair = connection, pair
        self.observer: Observer = Unobserved()
        self._renewing = False
        self._pages = 0  # in the log at the last commit
        self._due = LONG  # pages in the log from which the next copy is due
        self._copied = 0  # pages of the log that are copied, or being copied
        self._thread: Thread | None = None

    def committed(self, conn: apsw.Connection, _schema: str, pages: int) -> int:
        """Starts a checkpoint where one is due. SQLite calls it after each commit (`sqlite3_wal_hook`), with the pages
        of the log, before another connection may write. Raises nothing."""
        old_pages, self._pages = self._pages, pages
        if self._renewing:
            return apsw.SQLITE_OK
        # An error of the copy must stay here: raised, it would look like a failed commit, and the caller would retry.
        new = pages <= old_pages or not self._pair.noted
        if new or pages >= self._due:
            with suppress(Exception):
                if new:
                    # A log that has not grown is a new one. At the first commit to a file it may also be new.
                    self._begin(conn)
                if pages >= self._due:
                    self._shorten(conn, pages)
        return apsw.SQLITE_OK

    def cut(self, conn: apsw.Connection) -> None:
        """Copies the whole log, and empties it unless a connection reads from it. Raises `ForeignLog`.

        The caller has the turn to write, and no open transaction.
        """
        self.finish()
        self._renew(conn)
        with suppress(apsw.BusyError):
            self._settle(*conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE))

    def rescue(self, conn: apsw.Connection) -> bool:
        """Copies a log whose name was deleted. Returns True if all of it was copied.

        The caller has the turn to write. Raises what apsw raises, `ForeignLog`.
        """
        self.finish()
        self._renew(conn, lost=True)
        try:
            log, copied = conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_FULL)
        except apsw.BusyError:  # a connection reads from it
            return False
        self._settle(log, copied)
        return log == copied

    def finish(self) -> None:
        """Waits for a running copy to end."""
        if self._thread is not None:
            self._thread.join()

    def _begin(self, conn: apsw.Connection) -> None:
        self._due, self._copied = LONG, 0
        if self._pair.begun():
            self._settle(*self._copy_under_a_token(conn))

    def _shorten(self, conn: apsw.Connection, pages: int) -> None:
        if self._thread is not None and self._thread.is_alive():
            if pages >= VERY_LONG:
                # The disk is slower than the writers.
                self._thread.join(PATIENCE)
        elif pages - self._copied <= LAST:
            log, copied = self._copy_under_a_token(conn)
            if log >= VERY_LONG and not _is_held_back(log, copied):
                _wait_for_readers(conn)
            self._note(log, copied)
            self._settle(log, copied)
        else:
            # Set before the thread starts: if it cannot start, the next writer that commits copies.
            self._copied = pages
            self._renew(conn)
            thread = Thread(target=self._copy, name="checkpoint", daemon=True)
            thread.start()
            self._thread = thread

    def _renew(self, conn: apsw.Connection, *, lost: bool = False) -> None:
        self._renewing = True
        try:
            self._pair.renew(conn, lost=lost)
        finally:
            self._renewing = False

    def _copy_under_a_token(self, conn: apsw.Connection) -> tuple[int, int]:
        """Copies as much of the log as its readers allow, while no other may write. Returns its pages and those copied.
        """
        self._renew(conn)
        return self._copied_by(conn)

    def _copied_by(self, conn: apsw.Connection) -> tuple[int, int]:
        began = monotonic()
        log, copied = conn.wal_checkpoint()
        self.observer.copied(monotonic() - began, held_back=_is_held_back(log, copied))
        return log, copied

    def _settle(self, log: int, copied: int) -> None:
        if log == copied:
            self._pair.settle()

    def _copy(self) -> None:
        # Another process may be copying already: the next copy takes the rest. A deleted file needs no copy.
        with suppress(apsw.Error, Unavailable, OSError), self._connection() as conn:
            self._pair.look()
            log, copied = self._copied_by(conn)
            if _is_held_back(log, copied):
                self._note(log, copied)

    def _note(self, log: int, copied: int) -> None:
        # The log restarts with the next commit. If a connection reads from it, the next copy is due when it is a
        # quarter longer.
        self._due, self._copied = log + log // 4, copied


def _is_held_back(log: int, copied: int) -> bool:
    """True if a reader needs old pages. It may take minutes, as an export does."""
    return log - copied > LONG


def _wait_for_readers(conn: apsw.Connection) -> None:
    until = monotonic() + PATIENCE

    def wait(_times: int) -> bool:
        # SQLite's own handler sleeps ever longer, and misses most gaps.
        sleep(0.001)
        return monotonic() < until

    conn.set_busy_handler(wait)
    try:
        with suppress(apsw.BusyError):
            conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
    finally:
        conn.setbusytimeout(int(BUSY_TIMEOUT * 1000))
