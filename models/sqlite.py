"""SQLite through apsw: pooled connections, one writer at a time, statements with a time limit."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

import apsw
from playhouse.apsw_ext import APSWDatabase
from playhouse.pool import _PooledSqliteDatabase

from models.database import Database, Values, driver_error
from models.errors import (
    AlreadyExists,
    Busy,
    InvalidReference,
    InvalidValue,
    RowError,
    StillReferenced,
    TimedOut,
    Unavailable,
)
from models.group_commit import GroupCommit
from models.writer_lock import WriterLock

T = TypeVar("T")

BUSY_TIMEOUT = 5.0  # seconds
MIGRATION_WAIT = 600.0  # seconds
STATEMENTS = 512  # compiled statements kept per connection; apsw's default of 100 is fewer than our shapes
ANALYSED = 1000  # entries of an index looked at for statistics: milliseconds, however long it is
RECALLED = 1000  # answers kept per connection for `recall`
CHECKPOINT = 4000  # pages of the log that are written back together: a page that changed often is written once
STEPS = 50_000  # virtual machine steps between two looks at the clock: about a millisecond
_COLUMN = re.compile(r"[\w]+\.([\w]+)")


def check_version(version: str) -> None:
    """Refuse a SQLite that can lose committed writes in WAL mode (the WAL-reset bug of 3.7.0–3.51.2).

    The fix was also published as 3.44.6 and 3.50.7. Raises RuntimeError.
    """
    number = tuple(int(part) for part in version.split("."))[:3]
    if number >= (3, 51, 3) or (3, 50, 7) <= number < (3, 51) or (3, 44, 6) <= number < (3, 45):
        return
    raise RuntimeError(f"SQLite {version} can lose committed writes: install apsw with 3.51.3 or newer")


class Connection(apsw.Connection):
    """A connection that knows which file it opened and when its running statement must have ended."""

    deadline: float = float("inf")
    file: tuple[int, int] = (0, 0)
    state: tuple[int, int] | None = None  # of the database when `recalled` was read
    compared: bool = False  # whether `state` was, since the connection was taken from the pool

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.recalled: dict[tuple[str, tuple[Any, ...]], list[tuple[Any, ...]]] = {}


def _storable(_cursor: apsw.Cursor, _index: int, value: object) -> Any:
    # Only the history table of the migrations asks for this: our own times are text already.
    if isinstance(value, datetime):
        return value.isoformat(" ")
    raise TypeError(f"{type(value).__name__} cannot be stored")


def _identity(path: str) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino


class _Apsw(APSWDatabase):
    """How one connection is opened; stands below the pool in the order of resolution."""

    statement_timeout: float

    def _connect(self) -> Connection:
        # Without SQLITE_OPEN_CREATE: a database that vanished must not come back empty.
        conn = Connection(self.database, flags=apsw.SQLITE_OPEN_READWRITE, statementcachesize=STATEMENTS)
        try:
            conn.setbusytimeout(int(BUSY_TIMEOUT * 1000))
            conn.convert_binding = _storable
            conn.file = _identity(self.database)
            # A plan holds for all values. Without this, SQLite compiles every join again whenever a value is bound.
            conn.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
            conn.set_progress_handler(lambda: monotonic() > conn.deadline, STEPS)
            self._add_conn_hooks(conn)  # type: ignore[no-untyped-call]
            if conn.pragma("journal_mode") != "wal":
                raise Unavailable("the file system of the database cannot hold a write-ahead log")
        except BaseException:
            conn.close()
            raise
        return conn


class SqliteDatabase(Database, _PooledSqliteDatabase, _Apsw):  # type: ignore[misc]
    """One database file. Made by `open_database`."""

    dialect = "sqlite"
    proof = "SELECT count(*) FROM sqlite_schema"

    def __init__(self, path: str, *, pool_size: int, synchronous: str, statement_timeout: float,
                 pool_wait: float) -> None:
        check_version(apsw.sqlitelibversion())
        if not path or path.startswith(":") or "?" in path:
            raise ValueError("the SQLite URL must name a file: sqlite:///x.db or sqlite:////srv/x.db")
        if synchronous.lower() not in ("full", "normal"):
            raise ValueError("synchronous must be full or normal")
        # Absolute, because what changes the working directory must not change the database.
        self.path = Path(path).absolute()
        self.statement_timeout = statement_timeout
        self.writer_lock = WriterLock(self.path, timeout=BUSY_TIMEOUT)
        self.group = GroupCommit(self, timeout=BUSY_TIMEOUT)
        super().__init__(
            str(self.path), max_connections=pool_size, timeout=pool_wait, autoconnect=False,
            lock_type="IMMEDIATE", field_types={"TIMESTAMPTZ": "TEXT"},
            pragmas={"journal_mode": "wal", "synchronous": synchronous.lower(), "foreign_keys": 1,
                     "recursive_triggers": 1, "temp_store": "memory",
                     "journal_size_limit": 64 << 20, "wal_autocheckpoint": CHECKPOINT})

    def create(self) -> None:
        """Make the empty file, readable by its owner alone, unless it is there."""
        with suppress(FileExistsError):
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))

    def writing(self) -> WriterLock:
        return self.writer_lock

    def written(self) -> int:
        """Rows written by this connection; -1 without a transaction, which SQLite ends itself after some errors."""
        conn = self._state.conn
        return -1 if conn.getautocommit() else int(conn.total_changes())

    def commit(self) -> None:
        # SQLite ends a transaction itself after some errors, and peewee finds nothing wrong with that.
        if not super().commit():  # type: ignore[no-untyped-call]
            raise Unavailable("the transaction was given up")

    def _transact(self, work: Callable[[], T], grouped: bool) -> T:
        if not grouped:
            return super()._transact(work, grouped)
        with self.connected():
            self._state.conn.compared = False  # another connection may do the work
            return self.group.run(work)

    @contextmanager
    def migrating(self) -> Iterator[None]:
        # Whoever comes second must outlast the first one's migrations, not just another writer's statements.
        with self.connected(), WriterLock(self.path, timeout=MIGRATION_WAIT):
            limit, self.statement_timeout = self.statement_timeout, float("inf")
            try:
                yield
            finally:
                self.statement_timeout = limit

    def backup(self, target: str) -> None:
        if Path(target).exists():
            raise FileExistsError(target)
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        copy = apsw.Connection(target)
        try:
            # In one step: it reads one snapshot, and in WAL mode keeps nobody from writing.
            with self.connected(), copy.backup("main", self._state.conn, "main") as progress:
                self._state.conn.deadline = float("inf")
                progress.step(-1)
        finally:
            copy.close()

    @contextmanager
    def without_triggers(self) -> Iterator[None]:
        """Let what this connection writes pull no trigger; checks and foreign keys stay."""
        conn = self._state.conn
        conn.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        try:
            yield
        finally:
            conn.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 1)

    def analyze(self) -> None:
        def renew() -> None:
            # Other connections look at new statistics when the schema changes, and not before.
            self.query("DROP TABLE IF EXISTS sqlite_stat1")
            self.query("ANALYZE")

        with self.connected():
            self.query(f"PRAGMA analysis_limit = {ANALYSED}")
            # Where others write without a pause, this can wait for the next time.
            with suppress(Busy):
                self.transact(renew)

    def refresh_statistics(self) -> bool:
        def renew() -> bool:
            # Says what it would do to any table, and does nothing; but takes the lock for it.
            due = bool(self.query("PRAGMA optimize = 0x10003"))
            if due:
                self.analyze()
            return due

        try:
            return self.transact(renew)
        except Busy:
            return False

    def query(self, sql: str, params: Values = ()) -> list[tuple[Any, ...]]:
        conn = self._state.conn
        try:
            conn.deadline = monotonic() + self.statement_timeout
            return conn.execute(sql, params).fetchall()
        except Exception as error:
            self.fail(error, sql)

    def write(self, sql: str, params: Values = ()) -> int:
        conn = self._state.conn
        try:
            conn.deadline = monotonic() + self.statement_timeout
            conn.execute(sql, params)
            return int(conn.changes())
        except Exception as error:
            self.fail(error, sql)

    def recall(self, sql: str, params: Values) -> list[tuple[Any, ...]]:
        conn = self._state.conn
        # What is not committed yet may be taken back, and nothing would tell.
        if not conn.getautocommit():
            return self.query(sql, params)
        # The first number changes when another connection commits, in whatever process; the second when this one does.
        others = conn.state[0] if conn.compared and conn.state else self.query("PRAGMA data_version")[0][0]
        state = others, conn.total_changes()
        if state != conn.state or len(conn.recalled) >= RECALLED:
            conn.state, conn.recalled = state, {}
        conn.compared = True
        key = sql, tuple(params)
        found = conn.recalled.get(key)
        if found is None:
            found = conn.recalled[key] = self.query(sql, params)
        return found

    def cursor(self, named_cursor: Any = None) -> Any:
        # Every statement of peewee's asks for a cursor first, so its clock starts here.
        found = super().cursor(named_cursor)
        self._state.conn.deadline = monotonic() + self.statement_timeout
        return found

    def translate(self, error: BaseException, sql: str = "") -> RowError | None:
        cause = driver_error(error)
        if isinstance(cause, OverflowError | UnicodeEncodeError | apsw.TooBigError):
            return InvalidValue(str(cause))
        if not isinstance(cause, apsw.Error):
            return None
        if isinstance(cause, apsw.InterruptError):
            return TimedOut("the statement took too long")
        if isinstance(cause, apsw.ConstraintError):
            return _broken_constraint(cause, sql)
        if isinstance(cause, _GONE) or "no such savepoint" in str(cause):  # it went with its transaction
            return Unavailable(str(cause))
        return None

    def _is_closed(self, conn: Connection) -> bool:
        # A connection to a file that was moved or replaced would read and write what nobody sees any more.
        try:
            if conn.file == _identity(self.database):
                conn.compared = False
                return False
        except OSError:
            pass
        conn.close()
        return True

    def _can_reuse(self, conn: Connection) -> bool:
        try:
            if not conn.getautocommit():
                conn.execute("ROLLBACK")
        except apsw.Error:
            return False
        return True


_GONE = (apsw.BusyError, apsw.LockedError, apsw.CantOpenError, apsw.IOError, apsw.FullError,
         apsw.ReadOnlyError, apsw.NotADBError, apsw.CorruptError, apsw.ProtocolError, apsw.NoMemError,
         apsw.ConnectionClosedError)


def _broken_constraint(error: apsw.ConstraintError, sql: str) -> RowError | None:
    kind, text = getattr(error, "extendedresult", 0), str(error)
    if kind in (apsw.SQLITE_CONSTRAINT_UNIQUE, apsw.SQLITE_CONSTRAINT_PRIMARYKEY):
        return AlreadyExists(tuple(name for name in _COLUMN.findall(text) if name != "tenant_id"))
    # ON DELETE RESTRICT is carried out by an inner trigger, so its code differs and only the text tells.
    if kind == apsw.SQLITE_CONSTRAINT_FOREIGNKEY or "FOREIGN KEY" in text:
        return StillReferenced() if sql.startswith("DELETE") else InvalidReference()
    if kind in (apsw.SQLITE_CONSTRAINT_CHECK, apsw.SQLITE_CONSTRAINT_DATATYPE):
        return InvalidValue(text)
    return None
