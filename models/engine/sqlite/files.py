"""Second file of an instance on SQLite, for files that exports have made. No backup needs it.

It is a separate database beside the first (`gatepost.db`, `gatepost.files.db`), with its own log and its own turn to
write. It is made when the first export runs. A caller that needs both turns takes the one of this file first, so that
other writers do not wait for it. Its content can be made again: if it is damaged, the rest of the service goes on.
"""

from __future__ import annotations

from pathlib import Path

import apsw

from models.engine.errors import Damaged, RowError, Unavailable
from models.engine.sqlite.connection import BUSY_TIMEOUT
from models.engine.sqlite.copies import SIDE_FILES
from models.engine.sqlite.database import MOMENT, SqliteDatabase
from models.engine.sqlite.errors import busy
from models.engine.sqlite.writer_lock import WriterLock
from models.engine.waiting import Places, Wait
from system.files import new_file, sync


class FilesDatabase(SqliteDatabase):
    """Database of exported files beside the one at `path`."""

    def __init__(self, path: str, *, synchronous: str, statement_timeout: float) -> None:
        main = Path(path)
        self._main = main.absolute()
        super().__init__(str(main.with_name(f"{main.stem}.files{main.suffix}")), synchronous=synchronous,
                         group_commit=False, statement_timeout=statement_timeout, waiting=None)

    def exists(self) -> bool:
        return self.path.exists()

    def make(self, *statements: str) -> None:
        if self.exists():
            return
        try:
            with WriterLock(self.path).held(Wait(Places(None, moment=MOMENT, timeout=BUSY_TIMEOUT, late=busy))):
                if not self.exists():
                    self._make(statements)
        except (apsw.Error, OSError) as error:
            raise self.translate(error) or Unavailable(str(error)) from error

    def _make(self, statements: tuple[str, ...]) -> None:
        """Makes the file under another name, so that nobody sees it before it has its tables."""
        fresh = Path(f"{self.path}.new")
        # Removes the files of a deleted database, and of a killed process.
        for old in (fresh, Path(f"{fresh}-journal"), *(Path(f"{self.path}{suffix}") for suffix in SIDE_FILES)):
            old.unlink(missing_ok=True)
        new_file(fresh, self._main).close()
        conn = apsw.Connection(str(fresh), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            # Exported files are deleted often: their space is freed at once.
            for statement in ("PRAGMA auto_vacuum = FULL", *statements):
                conn.execute(statement)
        finally:
            conn.close()
        fresh.rename(self.path)
        sync(self.path.parent)

    def translate(self, error: BaseException, sql: str = "") -> RowError | None:
        translation = error if isinstance(error, Damaged) else super().translate(error, sql)
        if isinstance(translation, Damaged):
            # As `Damaged` it would ask for a restore, and there is nothing to restore.
            return Unavailable(f"{self.path.name} is damaged: move it away with {self.path.name}-wal and "
                               f"{self.path.name}-shm; it holds files of exports, which can be asked for again")
        return translation
