"""What a backup costs those who write meanwhile: a thread that writes, too, and looks how long it has to wait."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from types import TracebackType

from models.engine.database import Database
from models.engine.errors import RowError
from models.engine.waiting import uncounted
from models.tables.instance import beat

PAUSE = 0.05  # seconds between two writes


class Probe:
    """Writes again and again until it is left as a context.

    waits  seconds of the longest write; it failed where it is infinite
    log    bytes of SQLite's log: at the beginning, and the most since; None on Postgres
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._file = Path(f"{database.database}-wal") if database.dialect == "sqlite" else None
        self._left = Event()
        self._thread = Thread(target=self._run, name="probe", daemon=True)
        self.waits = 0.0
        self.log = None if self._file is None else (self._length(), self._length())

    def __enter__(self) -> Probe:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._left.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._left.is_set():
            began = monotonic()
            try:
                with uncounted():
                    self._database.transact(beat)
            except RowError:
                self.waits = float("inf")
            self.waits = max(self.waits, monotonic() - began)
            if self.log is not None:
                self.log = self.log[0], max(self.log[1], self._length())
            self._left.wait(PAUSE)

    def _length(self) -> int:
        with suppress(OSError):
            if self._file is not None:
                return self._file.stat().st_size
        return 0
