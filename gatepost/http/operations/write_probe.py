"""Write probe of the health check: writes one row, and keeps the result for a moment.

A write may have to wait for another writer, or for a database that does not respond. No caller waits longer than
`PATIENCE`: the write goes on in a thread, and the result says how long it has waited.
"""

from __future__ import annotations

from threading import Event, Lock, Thread
from time import monotonic
from typing import NamedTuple

from models.engine.database import Database
from models.engine.errors import NoRoom, RowError
from models.engine.waiting import uncounted
from models.tables.instance import beat

KEPT = 5.0  # seconds for which the result of a successful write is reused
PATIENCE = 3.0  # seconds that a caller waits for a write; after that the write counts as failed


class ProbeResult(NamedTuple):
    """Result of the newest write.

    age      seconds since the last successful write of this process; None before the first
    waiting  seconds for which a write has been waiting; None if no write is running
    error    reason why the newest write failed; None if it succeeded
    refused  seconds since the database refused the write of a client of this process; None if it never did
    full     True if it refused that write because the disk is full
    """

    age: float | None
    waiting: float | None
    error: str | None
    refused: float | None
    full: bool = False


class WriteProbe:
    """Probe of one process. Any number of threads may call it; one write runs at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = Lock()
        self._ended = Event()
        self._start: float | None = None
        self._last_attempt = self._last_success = self._last_refusal = float("-inf")
        self._error: str | None = None
        self._full = False

    def probe(self) -> ProbeResult:
        """Writes, unless the last result is recent, and returns the result within `PATIENCE` seconds. Never raises."""
        with self._lock:
            now = monotonic()
            if self._start is None and (self._error is not None or now - self._last_attempt >= KEPT):
                self._start, self._ended = now, Event()
                try:
                    Thread(target=self._write, args=(self._ended,), name="write-probe", daemon=True).start()
                except (RuntimeError, MemoryError) as error:
                    self._start, self._error = None, str(error) or "there is no memory"
            ended, start = self._ended, self._start
        if start is not None:
            ended.wait(max(0.0, start + PATIENCE - monotonic()))
        with self._lock:
            now = monotonic()
            return ProbeResult(now - self._last_success if self._last_success > 0 else None,
                               None if self._start is None else now - self._start, self._error,
                               now - self._last_refusal if self._last_refusal > 0 else None, self._full)

    def doubt(self, *, refused: Exception | None = None) -> None:
        """Makes the next caller write again, because the database has failed a request.

        `refused` is the error with which it refused the write of a client.
        """
        with self._lock:
            self._last_attempt = float("-inf")
            if refused is not None:
                self._last_refusal, self._full = monotonic(), isinstance(refused, NoRoom)

    def _write(self, ended: Event) -> None:
        error = None
        try:
            with uncounted():
                self._database.transact(beat)
        except RowError as failed:
            error = str(failed)
        except Exception as failed:  # any exception means that a write is not possible
            error = f"{type(failed).__name__}: {failed}"
        with self._lock:
            self._last_attempt, self._start, self._error = monotonic(), None, error
            if error is None:
                self._last_success = self._last_attempt
        ended.set()
