"""Whether a database file and the write-ahead log beside it belong together.

Nothing in SQLite says so: a log is replayed into whatever file has the name. So the file holds a token (`PRAGMA
user_version`, 31 random bits), and a sidecar beside it, `….pair`, names the salts of the log that was written last and
the tokens that the file of this log may have (sqlite.org/walformat.html: a log has two salts; the first grows by one
when the log begins anew, and both are random when the log is made). Before a log is copied into the file, the token
changes: first in the sidecar, then in the log, and with the copy in the file. A file that was put in from elsewhere has
a token that no log of now knows.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import randbelow
from threading import Lock
from typing import NoReturn

import apsw
import orjson

from models.engine.errors import ForeignLog, Unavailable

SUFFIX = ".pair"
LOOKS = 5  # times that file and sidecar are read, as long as another process is just changing them
ANEW = 64  # times that a log begins anew without a note, at most: others begin at random in 2**32
_TOKEN = 60  # where the file header holds the user version, 4 bytes
_HEAD = 32 + 24  # bytes of the log's header and of its first frame's
_MOST = 1 << 16  # bytes of a sidecar

Salts = tuple[int, int]
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Known:
    """What the sidecar says. `salts` of the log, `tokens` that the file may have, the oldest first."""

    salts: Salts
    tokens: tuple[int, ...]

    def covers(self, salts: Salts) -> bool:
        """Whether the log is the noted one, or that one begun anew since: its writer may have been killed just then, or
        have seen no shorter log than the last that it saw."""
        return salts == self.salts or 0 < (salts[0] - self.salts[0]) % 2**32 <= ANEW


def new_token() -> int:
    """A token that no other file has: 1 to 2**31 - 1."""
    return 1 + randbelow(2**31 - 1)


def freshen(conn: apsw.Connection) -> int:
    """Give a file that nobody else uses, such as a copy, a token of its own; the token. Raises what apsw raises."""
    token = new_token()
    conn.execute(f"PRAGMA user_version = {token}")
    return token


class Pair:
    """The file at `path` and its log, as one process sees them.

    Whatever writes the sidecar holds the writer lock of the database: `begun`, `renew`, `settle`, `adopting`.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._sidecar, self._log = path, Path(f"{path}{SUFFIX}"), Path(f"{path}-wal")
        self._mutex = Lock()
        self._file: apsw.VFSFile | None = None
        self._identity: tuple[int, int] | None = None
        self._token: int | None = None  # of the file when it was looked at last
        self.foreign: ForeignLog | None = None

    def check(self) -> None:
        """Judge the pair before a connection reads from it. Raises `ForeignLog`, `Unavailable`, OSError."""
        found = os.stat(self._path)
        if (found.st_dev, found.st_ino) != self._identity:
            self.close()
            self._identity = found.st_dev, found.st_ino
        for _ in range(LOOKS):
            token, known, salts = self._read_token(), self._read(), self._salts()
            if self._token is not None:
                # Other connections of this process have read from the file: it must be the same still.
                fine = token == self._token or (known is not None and token in known.tokens)
            else:
                fine = salts is None or known is None or not known.covers(salts) or token in known.tokens
            if fine:
                self._token, self.foreign = token, None
                return
        self._refuse()

    def confirm(self) -> None:
        """Look, before a commit and before a copy of the log, whether the file is the one that was opened: `cp` puts
        another content into a file that stays open. Raises `ForeignLog`, `Unavailable`."""
        if self._read_token() != self._token:
            self._follow()

    def fault(self) -> str | None:
        """None where file and log belong together; otherwise the sentence that says what to do. For health and
        doctor."""
        try:
            self.check()
        except (Unavailable, OSError) as error:
            return str(error)
        return None

    def belongs(self) -> bool:
        """Whether the log may be copied into the file: not asked of a connection that has read nothing."""
        try:
            self.confirm()
        except (Unavailable, OSError):
            return False
        return True

    def log_has_frames(self) -> bool:
        """Whether SQLite would replay anything into the file."""
        return self._salts() is not None

    def begun(self) -> bool:
        """Note the salts of a log that has begun. Whether it is one made from nothing: the token is to be changed, as
        copies may have been made of the file while there was none."""
        known, salts = self._read(), self._salts()
        if salts is None or (known is not None and known.salts == salts):
            return False
        self._write(self._noted(known, salts))
        return known is None or not known.covers(salts)

    def renew(self, conn: apsw.Connection) -> None:
        """Change the token, in the sidecar and in the log: a copy of the log is to follow. Raises `ForeignLog`, and
        what apsw raises."""
        self.confirm()
        token = new_token()
        self._add(token)
        conn.execute(f"PRAGMA user_version = {token}")

    def settle(self) -> None:
        """Forget the tokens before the last: under the same turn as `renew`, the whole log was copied."""
        known, token = self._read(), self._read_token()
        if known is not None and token == known.tokens[-1]:
            self._token = token
            self._write(Known(known.salts, (token,)))

    @contextmanager
    def adopting(self, token: int) -> Iterator[None]:
        """While the content of a file with this `token` (`freshen`) is put in the place of this one's by a transaction
        of SQLite (its backup). A process that is killed at whatever moment leaves a pair.

        The caller has the turn to write. Raises OSError.
        """
        self._add(token)
        yield

    def close(self) -> None:
        """Forget what was seen: no connection of this process has the file open."""
        with self._mutex:
            if self._file is not None:
                self._file.xClose()
            self._file = self._identity = self._token = self.foreign = None

    def _add(self, token: int) -> None:
        known = self._noted(self._read(), self._salts())
        self._write(Known(known.salts, (*known.tokens, token)))

    def _noted(self, known: Known | None, salts: Salts | None) -> Known:
        """What is known of the log that is there now."""
        if known is not None and salts in (None, known.salts):
            return known
        token, tokens = self._read_token() or 0, known.tokens if known else ()
        # The log before was copied whole, or is gone. A token behind that of the file is in the new log: its commit may
        # have begun it.
        later = tokens[tokens.index(token) + 1:] if token in tokens else ()
        return Known(salts or (0, 0), (token, *later))

    def _follow(self) -> None:
        if self._token is None:
            # What was refused before may be in order by now.
            return self.check()
        for _ in range(LOOKS):
            token, known = self._read_token(), self._read()
            if token == self._token or (known is not None and token in known.tokens):
                self._token = token
                return None
        self._refuse()

    def _refuse(self) -> NoReturn:
        error = ForeignLog(self._path.name)
        if self.foreign is None:
            logger.error("%s", error)
        self.foreign = error
        raise error

    def _read_token(self) -> int | None:
        """What the file itself holds, whatever the log says; None where it is shorter than a header."""
        with self._mutex:
            try:
                if self._file is None:
                    # SQLite's own: to close any other descriptor of the file would end the locks of all connections.
                    flags = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE
                    self._file = apsw.VFSFile("", str(self._path), [flags, 0])
                found = self._file.xRead(4, _TOKEN)
            except apsw.Error as error:
                raise Unavailable(str(error)) from error
        return int.from_bytes(found, "big") if len(found) == 4 else None

    def _salts(self) -> Salts | None:
        """Of the log; None where it is not there or has no frame, so that nothing would be replayed."""
        try:
            with self._log.open("rb", buffering=0) as log:  # SQLite has no lock on it
                head = log.read(_HEAD) or b""
        except FileNotFoundError:
            return None
        if len(head) < _HEAD or head[16:24] != head[40:48]:
            return None
        return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")

    def _read(self) -> Known | None:
        try:
            with self._sidecar.open("rb") as file:
                first, *tokens = orjson.loads(file.read(_MOST))
            return Known((int(first[0]), int(first[1])), tuple(map(int, tokens)))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Unavailable(str(error)) from error
        except (ValueError, TypeError, IndexError, KeyError) as error:
            name = self._path.name
            raise Unavailable(f"{name}{SUFFIX} is damaged: move it away if {name} and {name}-wal belong together") \
                from error

    def _write(self, known: Known) -> None:
        fresh = Path(f"{self._sidecar}.new")
        with suppress(FileNotFoundError):
            fresh.unlink()  # of a process that was killed
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            if os.geteuid() == 0:
                owner = os.stat(self._path)
                os.fchown(descriptor, owner.st_uid, owner.st_gid)
            file.write(orjson.dumps([known.salts, *known.tokens]))
            file.flush()
            os.fsync(descriptor)
        fresh.rename(self._sidecar)
        folder = os.open(self._sidecar.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
