"""Whether a database file and the write-ahead log beside it belong together.

Nothing in SQLite says so: a log is replayed into whatever file has the name. So the file holds a token (`PRAGMA
user_version`, 31 random bits), and a sidecar beside it, `….pair`, names the salts of the log that was written last and
the marks that the file of this log may have (sqlite.org/walformat.html: a log has two salts; the first grows by one
when the log begins anew, and both are random when the log is made). Before a log is copied into the file, the token
changes: first in the sidecar, then in the log, and with the copy in the file. A file that was put in from elsewhere has
a token that no log of now knows; one that `VACUUM INTO` has made has the token, but its pages lie elsewhere, and so it
has another schema cookie.
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
LOOKS = 5  # times that file and sidecar are read, as long as another process is just changing them
PAUSE = 0.01  # seconds between two looks: that process waits for its disk
ANEW = 64  # times that a log begins anew without a note, at most: others begin at random in 2**32
_COOKIE, _TOKEN = 40, 60  # where the file header holds the schema cookie and the user version, 4 bytes each
_HEAD = 32 + 24  # bytes of the log's header and of its first frame's
_MOST = 1 << 16  # bytes of a sidecar

Salts = tuple[int, int]
logger = logging.getLogger(__name__)


class Mark(NamedTuple):
    """What tells a file from others: its token, and its schema cookie; None where that may be any."""

    token: int
    cookie: int | None


@dataclass(frozen=True, slots=True)
class Known:
    """What the sidecar says. `salts` of the log, `marks` that the file may have, the oldest first."""

    salts: Salts
    marks: tuple[Mark, ...]

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
        self.log = OpenLog(path)
        self._mutex = Lock()
        self._file: apsw.VFSFile | None = None
        self._identity: tuple[int, int] | None = None
        self._seen: bytes | None = None  # of the file's header when it was looked at last
        self.foreign: ForeignLog | None = None
        self.noted = False  # whether this process has looked who began the log of the file that is open

    def check(self) -> None:
        """Judge the pair before a connection reads from it. Raises `ForeignLog`, `LostLog`, `Unavailable`, OSError."""
        found = os.stat(self._path)
        if (found.st_dev, found.st_ino) != self._identity:
            self.close()
            self._identity = found.st_dev, found.st_ino
        self.log.confirm()
        for _ in range(LOOKS):
            seen, known, salts = self._look(), self._read(), self._salts()
            if self._seen is not None:
                # Other connections of this process have read from the file: it must be the same still.
                fine = seen == self._seen or (known is not None and self._is_of(seen, known))
            else:
                fine = salts is None or known is None or not known.covers(salts) or self._is_of(seen, known)
            if fine:
                if self._seen is not None:
                    self._seen = seen
                self.foreign = None
                return
            sleep(PAUSE)
        self._refuse()

    def opened(self) -> None:
        """Judge the pair anew once a first connection has read from it: until then, another process may have been the
        last to close, and have copied the log. Raises as `check` does."""
        if self._seen is None:
            self.check()
            self._seen = self._look()

    def confirm(self) -> None:
        """Look, before a commit, whether the log still has its name: one `stat`; that of the file was asked for when
        the connection was taken. What was put into the file since the last `look` is not noticed. Raises `ForeignLog`,
        `LostLog`, `Unavailable`."""
        if self.foreign is not None:
            self._confirm_token()
        if not self.log.noted:
            self.log.note()
        self.log.confirm()

    def look(self) -> None:
        """Look, before a copy of the log and once a second, whether file and log are those that were opened: `cp` puts
        another content into a file that stays open. Raises as `confirm` does, OSError."""
        found = os.stat(self._path)
        if (found.st_dev, found.st_ino) != self._identity:
            raise Unavailable(f"{self._path.name} was moved or replaced while it was open")
        self.confirm()
        self.log.confirm_index()
        self._confirm_token()

    def _confirm_token(self) -> None:
        if self._look() != self._seen:
            self._follow()

    def fault(self) -> str | None:
        """None where file and log belong together, else the sentence that says what to do: for health and doctor."""
        try:
            self.check()
        except (Unavailable, OSError) as error:
            return str(error)
        return None

    def belongs(self) -> bool:
        """Whether the log may be copied into the file: not asked of a connection that has read nothing."""
        try:
            self.look()
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
        self.noted = True
        if salts is None or (known is not None and known.salts == salts):
            return False
        self._write(self._noted(known, salts))
        return known is None or not known.covers(salts)

    def renew(self, conn: apsw.Connection, *, lost: bool = False) -> None:
        """Change the token, in the sidecar and in the log: a copy of the log is to follow. `lost`: of a log whose name
        is gone. Raises `ForeignLog`, `LostLog`, and what apsw raises."""
        if not lost:
            self.log.confirm()
        self._confirm_token()
        token = new_token()
        self._add(Mark(token, int(conn.pragma("schema_version"))))
        conn.execute(f"PRAGMA user_version = {token}")

    def settle(self) -> None:
        """Forget the marks before the last: under the same turn as `renew`, the whole log was copied."""
        known, seen = self._read(), self._look()
        mark = _mark_of(seen)
        if known is not None and mark is not None and mark.token == known.marks[-1].token:
            self._seen = seen
            self._write(Known(known.salts, (mark,)))

    @contextmanager
    def adopting(self, token: int) -> Iterator[None]:
        """While the content of a file with this `token` (`freshen`) is put in the place of this one's by a transaction
        of SQLite (its backup). A process that is killed at whatever moment leaves a pair.

        The caller has the turn to write. Raises OSError.
        """
        # SQLite gives it a schema cookie of its own choice.
        self._add(Mark(token, None))
        yield

    def close(self) -> None:
        """Forget what was seen: no connection of this process has the file open."""
        with self._mutex:
            if self._file is not None:
                self._file.xClose()
            self._file = self._identity = self._seen = self.foreign = None
            self.noted = False
        self.log.forget()

    def _add(self, mark: Mark) -> None:
        known = self._noted(self._read(), self._salts())
        self._write(Known(known.salts, (*known.marks, mark)))

    def _noted(self, known: Known | None, salts: Salts | None) -> Known:
        """What is known of the log that is there now."""
        if known is not None and salts in (None, known.salts):
            return known
        mark, marks = _mark_of(self._look()) or Mark(0, None), known.marks if known else ()
        # The log before was copied whole, or is gone. A token behind that of the file is in the new log.
        place = next((place for place, each in enumerate(marks) if each.token == mark.token), len(marks))
        return Known(salts or (0, 0), (mark, *marks[place + 1:]))

    def _is_of(self, seen: bytes | None, known: Known) -> bool:
        """Whether a file with that header is the one that is known."""
        mark = _mark_of(seen)
        cookies = {each.cookie for each in known.marks if mark is not None and each.token == mark.token}
        if mark is None or not cookies:
            return False
        if None in cookies or mark.cookie in cookies:
            return True
        if self._salts() not in (None, known.salts):
            # The log has begun anew, and is not noted yet: what was copied before, nobody can say now.
            return True
        # A change of the schema was copied under this token: then it is in the log.
        found = written(self._log)
        return found is not None and mark.cookie in found.cookies

    def _follow(self) -> None:
        if self._seen is None:
            # What was refused before may be in order by now.
            return self.check()
        for _ in range(LOOKS):
            seen, known = self._look(), self._read()
            if seen == self._seen or (known is not None and self._is_of(seen, known)):
                self._seen, self.foreign = seen, None
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
        """The file's own header from the cookie to the token, whatever the log says; None where it is shorter."""
        with self._mutex:
            try:
                if self._file is None:
                    # SQLite's own: to close any other descriptor of the file would end the locks of all connections.
                    flags = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY
                    self._file = apsw.VFSFile("", str(self._path), [flags, 0])
                found = self._file.xRead(_TOKEN + 4 - _COOKIE, _COOKIE)
            except apsw.Error as error:
                raise Unavailable(str(error)) from error
        return found if len(found) == _TOKEN + 4 - _COOKIE else None

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

    def _write(self, known: Known) -> None:
        with fresh_file(self._sidecar, owner=self._path, path=Path(f"{self._sidecar}.new")) as fresh:
            fresh.file.write(orjson.dumps([known.salts, *map(tuple, known.marks)]))
            fresh.replace()


def _mark_of(seen: bytes | None) -> Mark | None:
    return None if seen is None else Mark(int.from_bytes(seen[-4:], "big"), int.from_bytes(seen[:4], "big"))


def _marked(said: Any) -> Mark:
    token, cookie = (said, None) if isinstance(said, int) else said  # a token alone: written before cookies were noted
    return Mark(int(token), None if cookie is None else int(cookie))
