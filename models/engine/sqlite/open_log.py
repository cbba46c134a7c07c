"""Write-ahead log that this process has open: detects when its name is deleted, and saves it then.

A program that deletes `….db-wal` removes only a name. SQLite goes on writing to the file behind it, which nobody can
reach after the process has ended. So before each commit the name is compared with the opened log. If it is missing or
names another file, this process commits nothing more. It copies the log through its own descriptor to `….db-wal.saved`,
and describes the outcome in `….db-wal.saved.txt`.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock

from models.engine.errors import LostLog
from system.files import Identity, fresh_file, identity, new_file

SAVED = "-wal.saved"
_HEAD = 32  # bytes of a log's header: it contains the salts, so no two logs share it
_MOST = 100  # names to try for a saved log
_BLOCK = 1 << 20  # bytes

logger = logging.getLogger(__name__)


class OpenLog:
    """Log of the database at `path`, and its index (`….db-shm`), as one process sees them.

    lost     the problem and its outcome, once a name is missing; until `forget`
    settled  True if there is nothing more to save
    """

    def __init__(self, path: Path) -> None:
        self._path, self._name, self._index_name = path, f"{path}-wal", f"{path}-shm"
        self._mutex = Lock()
        self._descriptor = -1
        self._identity: Identity | None = None
        self._index: Identity | None = None
        self.lost: str | None = None
        self.settled = False

    def note(self) -> None:
        """Remembers the log that a connection has just opened. Raises `LostLog`."""
        with self._mutex:
            log = identity(self._name)
            if log != self._identity and self._in_use():
                raise self._lose(self._deleted())
            if log is None:
                raise self.refuse()  # just deleted: SQLite copies it when the connection closes
            if log != self._identity:
                # The last connection of all processes closed the log before, and SQLite deleted it.
                self._forget()
                self._descriptor = os.open(self._name, os.O_RDONLY | os.O_CLOEXEC)
                self._identity, self._index = log, identity(self._index_name)

    def confirm(self) -> None:
        """Checks that the noted log still has its name, with one `stat`. Raises `LostLog`."""
        if self.lost is not None:
            raise LostLog(self.lost)
        if self._identity is not None and identity(self._name) != self._identity:
            self._judge()

    def confirm_index(self) -> None:
        """Checks that the index of the log still has its name. Raises `LostLog`.

        A process that finds no index makes a new one. Then the two processes do not see each other's writes.
        """
        if self._index is not None and identity(self._index_name) != self._index and self._in_use():
            with self._mutex:
                self.settled = True  # the log itself is still there
                raise self._lose(f"{self._deleted('-shm')}: stop all processes of Gatepost, and start it again")

    @property
    def noted(self) -> bool:
        return self._identity is not None

    def short(self, frames: int, page: int) -> bool:
        """True if the file with the log's name has fewer frames, of `page` bytes each, than the index says. Then other
        processes have another log open."""
        try:
            return os.stat(self._name).st_size < _HEAD + frames * (24 + page)
        except FileNotFoundError:
            return True

    def refuse(self) -> LostLog:
        """Returns the error for a connection that has opened another log than the processes that use the database."""
        name = f"{self._path.name}-wal"
        return LostLog(f"{name} is not the log that other processes of Gatepost have open: it was deleted or replaced "
                       "while they ran. This one has changed nothing; they save the log. Stop them, and start Gatepost "
                       "again")

    @property
    def unsaved(self) -> bool:
        """True if the log is lost and not saved yet."""
        return self.lost is not None and not self.settled

    @property
    def replaced(self) -> bool:
        """True if a file with the name of the lost log has content, for example from another process."""
        with suppress(FileNotFoundError):
            return os.stat(self._name).st_size > 0
        return False

    def save(self) -> Path | None:
        """Copies the log to `….db-wal.saved`, or to a numbered name if another log is there. Returns the copy, or None
        for an empty log.

        The caller has the turn to write. Raises OSError.
        """
        if self._descriptor < 0:
            return None
        head = os.pread(self._descriptor, _HEAD, 0)
        if len(head) < _HEAD:
            return None
        for number in range(1, _MOST):
            copy = Path(f"{self._path}{SAVED}{f'.{number}' if number > 1 else ''}")
            if not copy.exists():
                self._copy_to(copy)
                return copy
            with copy.open("rb") as file:
                if file.read(_HEAD) == head:
                    return copy  # another process of the service has saved it already
        raise FileExistsError(f"{self._path}{SAVED}")

    def tell(self, copy: Path | None, *, copied: bool) -> None:
        """Logs the outcome of the saved log, writes it to a file beside `kept`, and sets `settled`. Raises OSError."""
        name, file = f"{self._path.name}-wal", self._path.name
        if copied:
            outcome = f"All that it held is in {file}: start Gatepost again"
        else:
            outcome = (f"What it held is not in {file}, since another process has begun a new {name}: "
                    "see docs/running/failures.md, *The log was deleted*")
        if copy is not None:
            outcome += f". {copy.name} is a copy of it"
            note = Path(f"{copy}.txt")
            if not note.exists():
                when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
                sentence = f"{when}: {name} was deleted or replaced while Gatepost ran. {outcome}.\n"
                with new_file(note, self._path) as to:
                    to.write(sentence.encode())
        with self._mutex:
            self.lost, self.settled = f"{self._deleted()}. {outcome}", True
        logger.error("%s", self.lost)

    def loss(self) -> str | None:
        """Returns the note on a lost log, until the operator has moved its files away."""
        for copy in sorted(self._path.parent.glob(f"{self._path.name}{SAVED}*")):
            if copy.suffix == ".txt" or copy.suffix == ".new":
                continue
            outcome = f"{self._path.name}-wal was deleted while Gatepost ran; what it held is in the copy alone."
            with suppress(OSError):
                outcome = Path(f"{copy}.txt").read_text(encoding="utf-8").strip()
            return f"{outcome} When that is settled, move {copy.name} and {copy.name}.txt away"
        return None

    def forget(self) -> None:
        """Forgets the log, after the last connection of this process has closed it."""
        with self._mutex:
            self._forget()
            self.lost, self.settled = None, False

    def _forget(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor, self._identity, self._index = -1, None, None

    def _judge(self) -> None:
        with self._mutex:
            if self.lost is None and identity(self._name) == self._identity:
                return
            if self.lost is None and not self._in_use():
                self._forget()
                return
            raise self._lose(self._deleted())

    def _deleted(self, suffix: str = "-wal") -> str:
        file = f"{self._path.name}{suffix}"
        return f"{file} was deleted or replaced while Gatepost had it open, and nothing is written any more"

    def _lose(self, why: str) -> LostLog:
        if self.lost is None:
            self.lost = why
            logger.error("%s", why)
        return LostLog(self.lost)

    def _in_use(self) -> bool:
        """True if a connection of this process has the noted log open, besides this object's own descriptor."""
        if self._identity is None:
            return False
        for name in os.listdir("/dev/fd"):
            with suppress(OSError, ValueError):
                status = os.fstat(int(name))
                if (status.st_dev, status.st_ino) == self._identity and int(name) != self._descriptor:
                    return True
        return False

    def _copy_to(self, target: Path) -> None:
        spot = 0
        with fresh_file(target, owner=self._path, path=Path(f"{target}.new")) as fresh:
            while block := os.pread(self._descriptor, _BLOCK, spot):
                fresh.file.write(block)
                spot += len(block)
            fresh.replace()
