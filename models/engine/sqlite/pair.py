"""Checks that a database file and the write-ahead log beside it belong together.

SQLite does not check this: it replays a log into whatever file has the name. So the file holds a token (`PRAGMA
user_version`, 31 random bits). A sidecar beside it, `….pair`, holds the salts of the latest log and the marks that its
file may have. (A log has two salts, see sqlite.org/walformat.html: the first grows by one when the log restarts, and
both are random when the log is made.) Before a log is copied into the file, the token changes: first in the sidecar,
then in the log, and with the copy in the file. A file that was put in place from elsewhere has a token that the present
log does not know. A file made by `VACUUM INTO` has the token, but its pages lie elsewhere; it has another schema
cookie.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import randbelow
from threading import Lock
from time import sleep
from typing import Any, NamedTuple, NoReturn

import apsw
import orjson

from models.engine.errors import ForeignLog, Unavailable
from models.engine.sqlite.open_log import OpenLog
from models.engine.sqlite.recovery import written
from system.files import fresh_file

SUFFIX = ".pair"
LOOKS = 5  # times to read file and sidecar while another process is changing them
PAUSE = 0.01  # seconds between two reads: that process waits for its disk
RESTARTS = 64  # restarts of a log without a note, at most: a foreign log begins at random in 2**32
_COOKIE, _TOKEN = 40, 60  # offsets of the schema cookie and the user version in the file header, 4 bytes each
_HEAD = 32 + 24  # bytes of the log's header and of its first frame's header
_MOST = 1 << 16  # bytes of a sidecar

Salts = tuple[int, int]
logger = logging.getLogger(__name__)


class Mark(NamedTuple):
    """Token and schema cookie that identify a file. A cookie of None matches any."""

    token: int
    cookie: int | None


@dataclass(frozen=True, slots=True)
class Known:
    """Content of the sidecar: `salts` of the log, and `marks` that the file may have, the oldest first."""

    salts: Salts
    marks: tuple[Mark, ...]

    def covers(self, salts: Salts) -> bool:
        """True if these are the salts of the noted log, also after restarts without a note.

        Its writer may have been killed just then, or have missed that the log became shorter.
        """
        return salts == self.salts or 0 < (salts[0] - self.salts[0]) % 2**32 <= RESTARTS


def new_token() -> int:
    """Returns a random token that no other file should have: 1 to 2**31 - 1."""
    return 1 + randbelow(2**31 - 1)


def freshen(conn: apsw.Connection) -> int:
    """Gives a file that nobody else uses, such as a copy, a new token, and returns it. Raises what apsw raises."""
    token = new_token()
    conn.execute(f"PRAGMA user_version = {token}")
    return token


class Pair:
    """File at `path` and its log, as one process sees them.

    Methods that write the sidecar need the writer lock of the database: `begun`, `renew`, `settle`, `adopting`.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._sidecar, self._log = path, Path(f"{path}{SUFFIX}"), Path(f"{path}-wal")
        self.log = OpenLog(path)
        self._mutex = Lock()
        self._file: apsw.VFSFile | None = None
        self._identity: tuple[int, int] | None = None
        self._header: bytes | None = None  # part of the file's header at the last check
        self.foreign: ForeignLog | None = None
        self.noted = False  # True if this process has checked the origin of the open file's log

    def check(self) -> None:
        """Checks the pair before a connection reads from it. Raises `ForeignLog`, `LostLog`, `Unavailable`, OSError."""
        status = os.stat(self._path)
        if (status.st_dev, status.st_ino) != self._identity:
            self.close()
            self._identity = status.st_dev, status.st_ino
        self.log.confirm()
        for _ in range(LOOKS):
            header, sidecar, salts = self._look(), self._read(), self._salts()
            if self._header is not None:
                # Other connections of this process have read from the file: it must still be the same.
                fine = header == self._header or (sidecar is not None and self._is_of(header, sidecar))
            else:
                fine = salts is None or sidecar is None or not sidecar.covers(salts) or self._is_of(header, sidecar)
            if fine:
                if self._header is not None:
                    self._header = header
                self.foreign = None
                return
            sleep(PAUSE)
        self._refuse()

    def opened(self) -> None:
        """Checks the pair again after the first connection has read from it. Raises as `check` does.

        Before that, another process may have closed the last connection, and so have copied the log.
        """
        if self._header is None:
            self.check()
            self._header = self._look()

    def confirm(self) -> None:
        """Checks before a commit that the log still has its name, with one `stat`.

        The name of the file was checked when the connection was taken. Changes to the file's content since the last
        `look` go unnoticed. Raises `ForeignLog`, `LostLog`, `Unavailable`.
        """
        if self.foreign is not None:
            self._confirm_token()
        if not self.log.noted:
            self.log.note()
        self.log.confirm()

    def look(self) -> None:
        """Checks that file and log are the ones that were opened. Runs before a copy of the log and once a second.

        `cp` can put another content into an open file. Raises as `confirm` does, OSError.
        """
        status = os.stat(self._path)
        if (status.st_dev, status.st_ino) != self._identity:
            raise Unavailable(f"{self._path.name} was moved or replaced while it was open")
        self.confirm()
        self.log.confirm_index()
        self._confirm_token()

    def _confirm_token(self) -> None:
        if self._look() != self._header:
            self._follow()

    def fault(self) -> str | None:
        """Returns None if file and log belong together, else a sentence with what to do. For the health check and
        `doctor`."""
        try:
            self.check()
        except (Unavailable, OSError) as error:
            return str(error)
        return None

    def belongs(self) -> bool:
        """True if the log may be copied into the file. Not for a connection that has read nothing yet."""
        try:
            self.look()
        except (Unavailable, OSError):
            return False
        return True

    def log_has_frames(self) -> bool:
        """True if SQLite would replay something into the file."""
        return self._salts() is not None

    def begun(self) -> bool:
        """Notes the salts of a log that has begun. Returns True for a log made from nothing: then the token must
        change.

        The file may have been copied while it had no log.
        """
        sidecar, salts = self._read(), self._salts()
        self.noted = True
        if salts is None or (sidecar is not None and sidecar.salts == salts):
            return False
        self._write(self._noted(sidecar, salts))
        return sidecar is None or not sidecar.covers(salts)

    def renew(self, conn: apsw.Connection, *, lost: bool = False) -> None:
        """Changes the token in the sidecar and in the log, before a copy of the log. `lost`: the log's name was
        deleted.

        Raises `ForeignLog`, `LostLog`, and what apsw raises.
        """
        if not lost:
            self.log.confirm()
        self._confirm_token()
        token = new_token()
        self._add(Mark(token, int(conn.pragma("schema_version"))))
        conn.execute(f"PRAGMA user_version = {token}")

    def settle(self) -> None:
        """Forgets all marks but the last, after the whole log was copied in the same turn as `renew`."""
        sidecar, header = self._read(), self._look()
        mark = _mark_of(header)
        if sidecar is not None and mark is not None and mark.token == sidecar.marks[-1].token:
            self._header = header
            self._write(Known(sidecar.salts, (mark,)))

    @contextmanager
    def adopting(self, token: int) -> Iterator[None]:
        """Accepts a file with this `token` (`freshen`) while a transaction of SQLite (its backup) replaces this file's
        content. A process that is killed at any moment leaves a valid pair.

        The caller has the turn to write. Raises OSError.
        """
        # SQLite chooses the schema cookie.
        self._add(Mark(token, None))
        yield

    def close(self) -> None:
        """Forgets what was seen. No connection of this process has the file open."""
        with self._mutex:
            if self._file is not None:
                self._file.xClose()
            self._file = self._identity = self._header = self.foreign = None
            self.noted = False
        self.log.forget()

    def _add(self, mark: Mark) -> None:
        sidecar = self._noted(self._read(), self._salts())
        self._write(Known(sidecar.salts, (*sidecar.marks, mark)))

    def _noted(self, sidecar: Known | None, salts: Salts | None) -> Known:
        """Returns what the sidecar should say of the present log."""
        if sidecar is not None and salts in (None, sidecar.salts):
            return sidecar
        mark, marks = _mark_of(self._look()) or Mark(0, None), sidecar.marks if sidecar else ()
        # The log before was copied whole, or deleted. A token after that of the file is in the new log.
        place = next((place for place, each in enumerate(marks) if each.token == mark.token), len(marks))
        return Known(salts or (0, 0), (mark, *marks[place + 1:]))

    def _is_of(self, header: bytes | None, sidecar: Known) -> bool:
        """True if a file with that header is the one that the sidecar describes."""
        mark = _mark_of(header)
        cookies = {each.cookie for each in sidecar.marks if mark is not None and each.token == mark.token}
        if mark is None or not cookies:
            return False
        if None in cookies or mark.cookie in cookies:
            return True
        if self._salts() not in (None, sidecar.salts):
            # The log has restarted and is not noted yet. Nobody can say now what was copied before.
            return True
        # A change of the schema may have been copied under this token: then the log contains it.
        log = written(self._log)
        return log is not None and mark.cookie in log.cookies

    def _follow(self) -> None:
        if self._header is None:
            # A pair that was refused before may be valid by now.
            return self.check()
        for _ in range(LOOKS):
            header, sidecar = self._look(), self._read()
            if header == self._header or (sidecar is not None and self._is_of(header, sidecar)):
                self._header, self.foreign = header, None
                return None
            sleep(PAUSE)
        self._refuse()

    def _refuse(self) -> NoReturn:
        error = ForeignLog(self._path.name)
        if self.foreign is None:
            logger.error("%s", error)
        self.foreign = error
        raise error

    def _look(self) -> bytes | None:
        """Returns the file's own header from the cookie to the token, whatever the log says; None for a shorter file.
        """
        with self._mutex:
            try:
                if self._file is None:
                    # Opened through SQLite: closing any other descriptor of the file would end the locks of all
                    # connections.
                    flags = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY
                    self._file = apsw.VFSFile("", str(self._path), [flags, 0])
                header = self._file.xRead(_TOKEN + 4 - _COOKIE, _COOKIE)
            except apsw.Error as error:
                raise Unavailable(str(error)) from error
        return header if len(header) == _TOKEN + 4 - _COOKIE else None

    def _salts(self) -> Salts | None:
        """Returns the salts of the log. None if it is missing or has no frame, so that nothing would be replayed."""
        try:
            with self._log.open("rb", buffering=0) as log:  # SQLite holds no lock on it
                head = log.read(_HEAD) or b""
        except FileNotFoundError:
            return None
        if len(head) < _HEAD or head[16:24] != head[40:48]:
            return None
        return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")

    def _read(self) -> Known | None:
        try:
            with self._sidecar.open("rb") as file:
                first, *marks = orjson.loads(file.read(_MOST))
            return Known((int(first[0]), int(first[1])), tuple(map(_marked, marks)))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Unavailable(str(error)) from error
        except (ValueError, TypeError, IndexError, KeyError) as error:
            name = self._path.name
            raise Unavailable(f"{name}{SUFFIX} is damaged: move it away if {name} and {name}-wal belong together") \
                from error

    def _write(self, sidecar: Known) -> None:
        with fresh_file(self._sidecar, owner=self._path, path=Path(f"{self._sidecar}.new")) as fresh:
            fresh.file.write(orjson.dumps([sidecar.salts, *map(tuple, sidecar.marks)]))
            fresh.replace()


def _mark_of(header: bytes | None) -> Mark | None:
    return None if header is None else Mark(int.from_bytes(header[-4:], "big"), int.from_bytes(header[:4], "big"))


def _marked(entry: Any) -> Mark:
    token, cookie = (entry, None) if isinstance(entry, int) else entry  # only a token: from before cookies were noted
    return Mark(int(token), None if cookie is None else int(cookie))
