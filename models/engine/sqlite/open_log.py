"""The write-ahead log that this process has open: whether it still has its name, and how it is saved if not.

A program that deletes `….db-wal` takes away a name. SQLite goes on writing to the file behind it, which nobody finds
after the process has ended. So before each commit the name is compared with the log that was opened. Once it is
another file or none, this process commits nothing more. It copies the log through a descriptor of its own to
`….db-wal.saved`, and says in `….db-wal.saved.txt` what became of it.
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
_HEAD = 32  # bytes of a log's header, which no two logs share: it holds their salts
_MOST = 100  # names that are tried for a saved log
_BLOCK = 1 << 20  # bytes

logger = logging.getLogger(__name__)


class OpenLog:
    """The log of the database at `path`, and its index (`….db-shm`), as one process sees them.

    lost     what is wrong and what becomes of it, once a name is gone; until `forget`
    settled  whether there is nothing more to save
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
        """Remember the log that a connection has just opened. Raises `LostLog`."""
        with self._mutex:
            found = identity(self._name)
            if found != self._identity and self._in_use():
                raise self._lose(self._deleted())
            if found is None:
                raise self.refuse()  # just deleted: it is copied as the connection closes
            if found != self._identity:
                # The last connection of all processes had closed the one before, and SQLite deleted it.
                self._forget()
                self._descriptor = os.open(self._name, os.O_RDONLY | os.O_CLOEXEC)
                self._identity, self._index = found, identity(self._index_name)

    def confirm(self) -> None:
        """Look whether the log still has its name, if one is noted: one `stat`. Raises `LostLog`."""
        if self.lost is not None:
            raise LostLog(self.lost)
        if self._identity is not None and identity(self._name) != self._identity:
            self._judge()

    def confirm_index(self) -> None:
        """Look whether the index of the log still has its name. A process that finds none makes one of its own, and
        then the two do not see what the other writes. Raises `LostLog`."""
        if self._index is not None and identity(self._index_name) != self._index and self._in_use():
            with self._mutex:
                self.settled = True  # the log is where it was
                raise self._lose(f"{self._deleted('-shm')}: stop all processes of Gatepost, and start it again")

    @property
    def noted(self) -> bool:
        return self._identity is not None

    def short(self, frames: int, page: int) -> bool:
        """Whether the file of that name has fewer frames, of `page` bytes each, than the index of the log says: then it
        is not the log that other processes have open."""
        try:
            return os.stat(self._name).st_size < _HEAD + frames * (24 + page)
        except FileNotFoundError:
            return True

    def refuse(self) -> LostLog:
        """The error for a connection that has opened another log than the processes that use the database have."""
        name = f"{self._path.name}-wal"
        return LostLog(f"{name} is not the log that other processes of Gatepost have open: it was deleted or replaced "
                       "while they ran. This one has changed nothing; they save the log. Stop them, and start Gatepost "
                       "again")

    @property
    def unsaved(self) -> bool:
        """Whether the log is lost, and is still to be saved."""
        return self.lost is not None and not self.settled

    @property
    def replaced(self) -> bool:
        """Whether a file with the name of the lost log holds anything, such as what another process has written."""
        with suppress(FileNotFoundError):
            return os.stat(self._name).st_size > 0
        return False

    def save(self) -> Path | None:
        """Copy the log to `….db-wal.saved`, or to a name with a number where another log is there; the copy. None where
        the log is empty. The caller has the turn to write. Raises OSError."""
        if self._descriptor < 0:
            return None
        head = os.pread(self._descriptor, _HEAD, 0)
        if len(head) < _HEAD:
            return None
        for number in range(1, _MOST):
            kept = Path(f"{self._path}{SAVED}{f'.{number}' if number > 1 else ''}")
            if not kept.exists():
                self._copy_to(kept)
                return kept
            with kept.open("rb") as file:
                if file.read(_HEAD) == head:
                    return kept  # another process of the service was first
        raise FileExistsError(f"{self._path}{SAVED}")

    def tell(self, kept: Path | None, *, copied: bool) -> None:
        """Log what became of the log, and write it down beside `kept`. It is `settled` then. Raises OSError."""
        name, file = f"{self._path.name}-wal", self._path.name
        if copied:
            outcome = f"All that it held is in {file}: start Gatepost again"
        else:
            outcome = (f"What it held is not in {file}, since another process has begun a new {name}: "
                    "see docs/running/failures.md, *The log was deleted*")
        if kept is not None:
            outcome += f". {kept.name} is a copy of it"
            note = Path(f"{kept}.txt")
            if not note.exists():
                when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
                sentence = f"{when}: {name} was deleted or replaced while Gatepost ran. {outcome}.\n"
                with new_file(note, self._path) as to:
                    to.write(sentence.encode())
        with self._mutex:
            self.lost, self.settled = f"{self._deleted()}. {outcome}", True
        logger.error("%s", self.lost)

    def loss(self) -> str | None:
        """What was written down of logs that were lost, until the operator has moved them away."""
        for kept in sorted(self._path.parent.glob(f"{self._path.name}{SAVED}*")):
            if kept.suffix == ".txt" or kept.suffix == ".new":
                continue
            outcome = f"{self._path.name}-wal was deleted while Gatepost ran; what it held is in the copy alone."
            with suppress(OSError):
                outcome = Path(f"{kept}.txt").read_text(encoding="utf-8").strip()
            return f"{outcome} When that is settled, move {kept.name} and {kept.name}.txt away"
        return None

    def forget(self) -> None:
        """No connection of this process has the log open any more."""
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
        """Whether a connection of this process has the noted log open, besides the descriptor of this object."""
        if self._identity is None:
            return False
        for name in os.listdir("/dev/fd"):
            with suppress(OSError, ValueError):
                found = os.fstat(int(name))
                if (found.st_dev, found.st_ino) == self._identity and int(name) != self._descriptor:
                    return True
        return False

    def _copy_to(self, kept: Path) -> None:
        spot = 0
        with fresh_file(kept, owner=self._path, path=Path(f"{kept}.new")) as fresh:
            while block := os.pread(self._descriptor, _BLOCK, spot):
                fresh.file.write(block)
                spot += len(block)
            fresh.replace()
