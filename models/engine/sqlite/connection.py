"""Connections to a SQLite file. Each knows its file, its deadline and its earlier reads; idle ones are kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from time import monotonic
from typing import Any, cast
from urllib.parse import quote

import apsw

from models.engine.database import Parameters
from models.engine.errors import Damaged, Unavailable
from models.engine.sqlite.loads import LoadsHidden
from models.engine.words import of_tenant
from system.files import identity

BUSY_TIMEOUT = 5.0  # seconds
STATEMENTS = 512  # compiled statements to keep; apsw's default of 100 is less than the number of our queries
RECALLED = 1000  # results that `recall` keeps
STEPS = 50_000  # virtual machine steps between two checks of the deadline: about a millisecond

Fetched = list[tuple[Any, ...]]


class Cursor:
    """Cursor that translates errors when peewee reads its rows one by one, after all other translation.

    It wraps a cursor of apsw instead of inheriting from it: when an instance of a subclass is freed while another
    thread uses its connection, apsw 3.54 releases one reference to the class too many.
    """

    __slots__ = ("_cursor",)

    def __init__(self, cursor: apsw.Cursor) -> None:
        self._cursor = cursor

    def fetchone(self) -> Any:
        try:
            return self._cursor.fetchone()
        except (UnicodeDecodeError, apsw.CorruptError) as error:
            raise Damaged(str(error)) from error

    def __iter__(self) -> Iterator[Any]:
        return iter(self._cursor)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)


class Connection(LoadsHidden):
    """Connection to the file at `path`. Raises OSError or apsw.CantOpenError if there is no file.

    With `read_only`, no file beside it is written to either. A log is then read if it has frames and its index exists.

    deadline  latest end of the running statement, by the monotonic clock
    compared  True if the remembered results were compared with the file since this was set to False
    belongs   returns True if the log may be copied into the file when the last connection closes
    """

    def __init__(self, path: str, *, read_only: bool = False, has_log: bool = True) -> None:
        # Without SQLITE_OPEN_CREATE, a missing database is an error instead of an empty new one.
        if read_only:
            super().__init__(f"file:{quote(path)}{'' if has_log else '?immutable=1'}",
                             flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI, statementcachesize=STATEMENTS)
        else:
            refuse_unwritable(path)
            super().__init__(path, flags=apsw.SQLITE_OPEN_READWRITE, statementcachesize=STATEMENTS)
        self.deadline = float("inf")
        self.compared = False
        self.belongs: Callable[[], bool] = lambda: True
        self._path, self._file = path, identity(path)
        self._committed: tuple[int, int] | None = None
        self._recalled: dict[tuple[str, tuple[Any, ...]], Fetched] = {}
        self.setbusytimeout(int(BUSY_TIMEOUT * 1000))
        self.convert_binding = _storable
        # A plan must hold for all values. Otherwise SQLite compiles every join again whenever a value is bound.
        self.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        # Triggers and views call it. A program without it can neither change indexed rows nor harm the index.
        self.create_scalar_function("gatepost_words", cast(Any, of_tenant), 2, deterministic=True)
        self.set_progress_handler(lambda: monotonic() > self.deadline, STEPS)

    @property
    def usable(self) -> bool:
        """True if the connection is open, and its file still has its name. A moved or replaced file is not the database
        any more."""
        try:
            self.getautocommit()
            return self._file is not None and self._file == identity(self._path)
        except (OSError, apsw.ConnectionClosedError):
            return False

    def close(self, force: bool = False) -> None:
        with suppress(apsw.ConnectionClosedError):
            if not self.belongs():
                # SQLite would copy the log into another file, and delete the log.
                self.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        super().close(force)

    def recall(self, sql: str, params: Parameters) -> Fetched:
        """Returns the rows of a read, from memory unless there was a commit since."""
        # Uncommitted changes may be rolled back, and no counter would show it.
        if not self.getautocommit():
            return self.execute(sql, params).fetchall()
        # The first number changes when another connection of any process commits, the second when this one writes.
        last = self._committed
        others = last[0] if self.compared and last else cast(int, self.execute("PRAGMA data_version").get)
        committed = others, self.total_changes()
        if committed != last or len(self._recalled) >= RECALLED:
            self._committed, self._recalled = committed, {}
        self.compared = True
        key = sql, tuple(params)
        rows = self._recalled.get(key)
        if rows is None:
            rows = self.execute(sql, params).fetchall()
            while self.data_version() != self.known_version and self.stale():
                self.follow()
                rows = self.execute(sql, params).fetchall()
            self._recalled[key] = rows
        return rows

    def forget(self) -> None:
        self._committed, self._recalled = None, {}


def check_version(version: str) -> None:
    """Refuses a SQLite version that can lose committed writes in WAL mode (the WAL-reset bug of 3.7.0–3.51.2).

    The fix was also published as 3.44.6 and 3.50.7. Raises RuntimeError.
    """
    number = tuple(int(part) for part in version.split("."))[:3]
    if number >= (3, 51, 3) or (3, 50, 7) <= number < (3, 51) or (3, 44, 6) <= number < (3, 45):
        return
    raise RuntimeError(f"SQLite {version} can lose committed writes: install apsw with 3.51.3 or newer")


def refuse_unwritable(path: str) -> None:
    """Refuses a file, or a folder, that cannot be written to. Raises `Unavailable`.

    SQLite would open such a file for reading, and make a log beside it that nobody can write to.
    """
    folder, name = os.path.split(path)
    if not os.path.exists(path):
        raise Unavailable(f"there is no {name} in {folder}: was it moved, or is its disk not mounted?")
    for each in (folder, path, f"{path}-wal", f"{path}-shm"):
        if os.path.exists(each) and not os.access(each, os.W_OK):
            raise Unavailable(f"{each} cannot be written to: look at its owner, its mode, and how its disk is mounted")


class Pool:
    """Idle connections. The connection used last is used next, because its caches are the warmest.

    The pool keeps as many as were ever needed at once: to open one takes longer than most requests.
    """

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._connect = connect
        self._stack: list[Connection] = []

    def take(self) -> Connection:
        """Returns a connection to the present file. Raises what `connect` raises."""
        try:
            conn = self._stack.pop()
        except IndexError:
            conn = self._connect()
        if not conn.usable:
            conn.close()
            # The other connections are as old. While they are open, a replaced file keeps its space on the disk.
            self.close()
            conn = self._connect()
        conn.compared = False
        return conn

    def spare(self) -> Connection | None:
        """Returns an idle connection, usable or not, or None."""
        try:
            return self._stack.pop()
        except IndexError:
            return None

    def give_back(self, conn: Connection) -> None:
        """Keeps the connection for the next caller. Closes it if a transaction is open."""
        if conn.getautocommit():
            self._stack.append(conn)
        else:
            conn.close()

    @contextmanager
    def lent(self) -> Iterator[Connection]:
        """Takes a connection, and gives it back at the end of the block. Raises what `take` raises."""
        conn = self.take()
        try:
            yield conn
        finally:
            self.give_back(conn)

    def close(self) -> None:
        """Closes the idle connections."""
        with suppress(IndexError):  # other threads take connections meanwhile
            while True:
                self._stack.pop().close()


def _storable(_cursor: apsw.Cursor, _index: int, value: object) -> Any:
    # Only the history table of the migrations needs this: our own times are text already.
    if isinstance(value, datetime):
        return value.isoformat(" ")
    raise TypeError(f"{type(value).__name__} cannot be stored")
