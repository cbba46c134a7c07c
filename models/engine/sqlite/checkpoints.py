"""Checkpoints: what was committed is copied from SQLite's write-ahead log into its file, beside the writers.

SQLite's own (`wal_autocheckpoint`, which our hook replaces) are made by the writer that commits, while all other
writers wait for the disk. Here a thread makes them. A log begins anew once it was copied whole and no connection reads
from it; while writers go on, a copy in a thread is never whole. So when the thread has just copied a long log, the next
writer that commits copies what little has come since, before another may write. Where reads overlap all the time that
is not enough, and a writer that commits to a very long log waits a moment for its readers.

Before a copy, and once for a log that was made from nothing, the file gets a new token (`models.engine.sqlite.pair`).
Without it, nothing is copied.
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

LONG = 4000  # pages from which a log is copied and is to begin anew: a page that changes often is copied once
LAST = 500  # pages that the committing writer copies, where the thread has copied the rest: some milliseconds
VERY_LONG = 16_000  # pages from which the committing writer waits: for the thread, and for readers
PATIENCE = 0.25  # seconds for which that writer waits


class Checkpoints:
    """The checkpoints of one process, one at a time. `connection` lends a connection to the database, whose file and
    log are the `pair`.

    Only the thread that holds the `writer_lock` of this process calls `committed`.
    """

    def __init__(self, connection: Callable[[], AbstractContextManager[apsw.Connection]], pair: Pair) -> None:
        self._connection, self._pair = connection, pair
        self.observer: Observer = Unobserved()
        self._renewing = False
        self._pages = 0  # in the log at the last commit
        self._due = LONG  # pages in the log from which it is to be copied
        self._copied = 0  # pages of the log that were copied, or are just being copied
        self._thread: Thread | None = None

    def committed(self, conn: apsw.Connection, _schema: str, pages: int) -> int:
        """The hook of each connection (`sqlite3_wal_hook`): called after a commit with the length of the log in pages,
        before another connection may write. Raises nothing."""
        before, self._pages = self._pages, pages
        if self._renewing:
            return apsw.SQLITE_OK
        # Whatever becomes of the copy: what is raised here would look like a commit that failed, and be done again.
        new = pages <= before or not self._pair.noted
        if new or pages >= self._due:
            with suppress(Exception):
                if new:
                    # A log that has not grown is a new one; at the first commit to a file it may be.
                    self._begin(conn)
                if pages >= self._due:
                    self._shorten(conn, pages)
        return apsw.SQLITE_OK

    def cut(self, conn: apsw.Connection) -> None:
        """Copy the whole log, and make it empty unless somebody reads from it. The caller has the turn to write, and
        has begun no transaction. Raises `ForeignLog`."""
        self.finish()
        self._renew(conn)
        with suppress(apsw.BusyError):
            self._settle(*conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE))

    def rescue(self, conn: apsw.Connection) -> bool:
        """Copy a log whose name is gone; whether all of it was copied. The caller has the turn to write. Raises what
        apsw raises, `ForeignLog`."""
        self.finish()
        self._renew(conn, lost=True)
        try:
            log, copied = conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_FULL)
        except apsw.BusyError:  # somebody reads
            return False
        self._settle(log, copied)
        return log == copied

    def finish(self) -> None:
        """Wait until the copy under way, if any, is made."""
        if self._thread is not None:
            self._thread.join()

    def _begin(self, conn: apsw.Connection) -> None:
        self._due, self._copied = LONG, 0
        if self._pair.begun():
            self._settle(*self._copy_under_a_token(conn))

    def _shorten(self, conn: apsw.Connection, pages: int) -> None:
        if self._thread is not None and self._thread.is_alive():
            if pages >= VERY_LONG:
                # The disk takes less than is written.
                self._thread.join(PATIENCE)
        elif pages - self._copied <= LAST:
            log, copied = self._copy_under_a_token(conn)
            if log >= VERY_LONG and not _is_held_back(log, copied):
                _wait_for_readers(conn)
            self._note(log, copied)
            self._settle(log, copied)
        else:
            # At once: where no thread can be started, the next to commit copies.
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
        """Copy as much of the log as its readers allow, while no other may write: its pages, and those copied."""
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
        # Another process may be at it already: what it leaves, the next one copies. A file that is gone
        # needs no copy.
        with suppress(apsw.Error, Unavailable, OSError), self._connection() as conn:
            self._pair.look()
            log, copied = self._copied_by(conn)
            if _is_held_back(log, copied):
                self._note(log, copied)

    def _note(self, log: int, copied: int) -> None:
        # It begins anew with the next commit. If a connection reads from it, it is copied again when a quarter longer.
        self._due, self._copied = log + log // 4, copied


def _is_held_back(log: int, copied: int) -> bool:
    """Whether a reader needs old pages, and may go on for minutes, as an export does."""
    return log - copied > LONG


def _wait_for_readers(conn: apsw.Connection) -> None:
    until = monotonic() + PATIENCE

    def wait(_times: int) -> bool:
        # Not SQLite's own, which sleeps ever longer and misses most gaps.
        sleep(0.001)
        return monotonic() < until

    conn.set_busy_handler(wait)
    try:
        with suppress(apsw.BusyError):
            conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
    finally:
        conn.setbusytimeout(int(BUSY_TIMEOUT * 1000))
