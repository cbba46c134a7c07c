"""Whether a write is possible now: one row is written, and what became of that is known for a moment.

A write may have to wait, for another writer or for a database that is silent. Nobody waits with it for longer than
`PATIENCE`: it goes on in a thread, and how long it has waited says enough.
"""

from __future__ import annotations

from threading import Event, Lock, Thread
from time import monotonic
from typing import NamedTuple

from models.engine.database import Database
from models.engine.errors import NoRoom, RowError
from models.engine.waiting import uncounted
from models.tables.instance import beat

KEPT = 5.0  # seconds for which a write that succeeded stands for others
PATIENCE = 3.0  # seconds that a caller waits for a write: after that it is one that will fail


class Beat(NamedTuple):
    """What is known of the newest write.

    age      seconds since one has succeeded in this process; None where none has
    waiting  seconds that one has been waiting; None where none is under way
    error    why the newest has failed; None where it has not
    refused  seconds since the write of a client has failed here for want of the database; None where none has
    full     whether that was because the disk is full
    """

    age: float | None
    waiting: float | None
    error: str | None
    refused: float | None
    full: bool = False


class Pulse:
    """The writes of one process. Any number of threads may ask; one write is under way at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = Lock()
        self._ended = Event()
        self._began: float | None = None
        self._tried = self._written = self._refused = float("-inf")
        self._error: str | None = None
        self._full = False

    def beat(self) -> Beat:
        """Write, unless that was done a moment ago; takes `PATIENCE` seconds at most. Raises nothing."""
        with self._lock:
            now = monotonic()
            if self._began is None and (self._error is not None or now - self._tried >= KEPT):
                self._began, self._ended = now, Event()
                try:
                    Thread(target=self._write, args=(self._ended,), name="pulse", daemon=True).start()
                except (RuntimeError, MemoryError) as failed:
                    self._began, self._error = None, str(failed) or "there is no memory"
            ended, begun = self._ended, self._began
        if begun is not None:
            ended.wait(max(0.0, begun + PATIENCE - monotonic()))
        with self._lock:
            now = monotonic()
            return Beat(now - self._written if self._written > 0 else None,
                        None if self._began is None else now - self._began, self._error,
                        now - self._refused if self._refused > 0 else None, self._full)

    def doubt(self, *, refused: Exception | None = None) -> None:
        """Have the next caller write anew: the database has failed a request meanwhile. `refused`: why it has refused
        the write of a client."""
        with self._lock:
            self._tried = float("-inf")
            if refused is not None:
                self._refused, self._full = monotonic(), isinstance(refused, NoRoom)

    def _write(self, ended: Event) -> None:
        error = None
        try:
            with uncounted():
                self._database.transact(beat)
        except RowError as failed:
            error = str(failed)
        except Exception as failed:  # whatever it is, a write is not possible
            error = f"{type(failed).__name__}: {failed}"
        with self._lock:
            self._tried, self._began, self._error = monotonic(), None, error
            if error is None:
                self._written = self._tried
        ended.set()
