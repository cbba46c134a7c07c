"""The database of one instance: its connections, write transactions, and which one is current.

The tables (`models.records.table.Record`) are bound to `current`, and `current` points to whatever database the
running thread or task has entered with `connected()` or `entered()`. So several apps, each with its own database, live
in one process.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from pathlib import Path
from random import uniform
from time import monotonic, sleep
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Protocol, Self, TypeVar

import peewee as pw

from models.engine.errors import Contended, Damaged, RowError, Unavailable
from models.engine.observer import Observer
from models.engine.sealer import Sealer

T = TypeVar("T")
D = TypeVar("D", bound="Database")
Parameters = Sequence[Any]
REMEMBERED = 60.0  # seconds for which a database that was found damaged counts as such; also between two looks at it

_NOT_ENTERED = "enter a database with Database.connected()"
logger = logging.getLogger(__name__)
entered_database: ContextVar[Any] = ContextVar("gatepost_database", default=None)


class _Current(pw.DatabaseProxy):
    """A proxy whose target belongs to the running context instead of to the process."""

    @property
    def obj(self) -> Database | None:
        return entered_database.get()

    @obj.setter
    def obj(self, value: object) -> None:
        # peewee's constructor assigns None; nothing else may choose a database for the whole process.
        if value is not None:
            raise AttributeError(_NOT_ENTERED)

    # Every statement comes this way, and peewee's own reads `obj` twice.
    def __getattr__(self, name: str) -> Any:
        database = entered_database.get()
        if database is None:
            raise AttributeError(_NOT_ENTERED)
        return getattr(database, name)


class Pool(Protocol):
    """Source of a database's connections."""

    def take(self) -> Any:
        """Returns a connection. Raises `Unavailable`, and what the driver raises when it can give none."""

    def give_back(self, conn: Any) -> None: ...

    def close(self) -> None: ...


class Database(pw.Database):
    """Base class of both dialects. Call `open_database` to make one."""

    dialect: str
    read_only = False  # whether this is a copy (SQLite) that cannot be written to, opened for reading
    proof: str  # a statement that cannot succeed without the server or the file
    sealer: Sealer | None = None  # while migrations run
    # Called by a long migration with the number of rows that are done, and the number of all rows of the table.
    report: Callable[[int, int], object] | None = None
    ignored: frozenset[str] = frozenset()  # tables whose rows never count in a decision about access
    beside: Database | None = None  # a separate database for files of exports
    _state: Any  # peewee's note of this thread's connection
    _pool: Pool
    _damage: Damaged | None = None
    _noted = _looked = float("-inf")

    if TYPE_CHECKING:  # peewee has these methods, and its type stubs do not declare their parameters
        def __init__(self, database: str, **options: Any) -> None: ...
        def execute_sql(self, sql: str, params: Parameters = ()) -> Any: ...
        def cursor(self, named_cursor: Any = None) -> Any: ...
        def rows_affected(self, cursor: Any) -> int: ...

    def connected(self) -> Entering[Self]:
        """Makes this the current database and holds one of its connections; re-entrant.

        Raises `Unavailable` when there is no free connection.
        """
        return Entering(self)

    def entered(self) -> Entering[Self]:
        """Makes this the current database without a connection, for a caller that waits for one.

        Translates errors of the driver as `connected` does.
        """
        return Entering(self, connects=False)

    def connect(self, reuse_if_open: bool = False) -> bool:
        if not self._state.closed:
            raise pw.OperationalError("this thread holds a connection already")
        self._state.set_connection(self._pool.take())
        return True

    def close(self) -> bool:
        conn = self._state.conn
        self._state.reset()
        if conn is None:
            return False
        self._pool.give_back(conn)
        return True

    def transact(self, work: Callable[[], T], *, grouped: bool = False) -> T:
        """Runs `work()` in one write transaction and returns its result. Joins a transaction that is open already.

        `work` must be repeatable: after a serialisation failure or a deadlock it runs once more.
        `grouped`: `work` is short, and may share a transaction with writes of other threads where that saves time
        (`models.engine.sqlite.group_commit`). The operator can switch this off. On SQLite, a caller without a
        connection holds none while it waits for its turn either.
        Raises what `work` raises after undoing all that it did, `Unavailable`, `TimedOut`.
        """
        if self.in_transaction():
            return work()
        try:
            return self._transact(work, grouped)
        except Contended:
            logger.info("transaction repeated after a serialisation failure")
            # The transaction that won must finish first. Otherwise both meet again.
            sleep(uniform(0.02, 0.1))
            return self._transact(work, grouped)

    def attempt(self, work: Callable[[], T]) -> T:
        """Runs `work()` inside a transaction. If it raises, only its own changes are undone.

        Without this, Postgres aborts the whole transaction after a failed statement.
        """
        with self.savepoint():
            return work()

    def _transact(self, work: Callable[[], T], grouped: bool) -> T:
        with self.entered(), self.writing(), self.atomic():
            return work()

    def create(self) -> None:
        """Makes the empty database where Gatepost does that (a file). A Postgres database must exist already."""

    @property
    def files(self) -> Database:
        """Database for files of exports. On SQLite it is a separate file that no backup contains.

        Open a transaction of this database inside one of that database, never the reverse.
        """
        return self if self.beside is None else self.beside

    def with_files(self) -> tuple[Database, ...]:
        """Returns this database, and the one for files if it is separate and exists."""
        files = self.files
        return (self,) if files is self or not files.exists() else (self, files)

    def exists(self) -> bool:
        """True if the database exists. The one for files is made when the first file is stored."""
        return True

    def make(self, *statements: str) -> None:
        """Makes a missing database with these statements, if it is one that is made at its first use. Raises
        `Unavailable`."""

    def writing(self) -> AbstractContextManager[Any]:
        """Holds what a writer needs before its transaction begins: a connection, and on SQLite also its turn."""
        return self.connected()

    def migrating(self) -> AbstractContextManager[Any]:
        """Keeps other processes from migrating, and lifts the time limit of statements."""
        raise NotImplementedError

    def close_all(self) -> None:
        """Closes every idle connection and this thread's. Postgres also closes those in use. SQLite waits for a running
        checkpoint of the log."""
        raise NotImplementedError

    def copied(self, target: str) -> AbstractContextManager[Database]:
        """Writes a consistent copy to the new file `target` while other connections read and write.

        Gives a database with the content of the copy, and makes it the current one in the block. Raises `Unavailable`,
        `Damaged`, FileExistsError.
        """
        raise NotImplementedError

    def scratch(self, copy: str) -> AbstractContextManager[Database]:
        """Gives a separate database with the content of the file `copy` (see `copied`), until the block ends. On
        Postgres it is beside this one, on SQLite it is that file itself.

        Raises `Unavailable`.
        """
        raise NotImplementedError

    def take_over(self, staged: Database, aside: Path, *, keep: bool = False) -> None:
        """Replaces the content of this database by that of a `scratch` database, all or nothing.

        On SQLite, moves unreadable files into the folder `aside`; with `keep`, always copies them there. The caller
        must not use this database meanwhile. Raises `InUse`, `Unavailable`.
        """
        raise NotImplementedError

    def confirm(self) -> None:
        """Waits until all readable rows are as safe as a commit that was answered. Call it outside of a transaction.

        On Postgres, rows can be readable that no standby has (after a cancelled wait). Raises `Unavailable`.
        """

    def observe(self, observer: Observer) -> None:
        """Reports slow operations to `observer` from now on."""
        raise NotImplementedError

    def spare(self) -> int:
        """Returns the number of bytes that `compact` would free; 0 where the server manages that. The database is
        connected."""
        return 0

    def compact(self) -> None:
        """Frees the space of deleted rows. On SQLite writers wait meanwhile, and readers do not."""
        raise NotImplementedError

    def rewrite(self, tables: Sequence[str]) -> None:
        """Removes deleted rows from the files of these tables. Writers wait, and on Postgres also readers.

        Raises `InUse` where other transactions still see such rows, and `TimedOut`. A repeated call is safe.
        """
        self.compact()

    def analyze(self) -> None:
        """Updates the statistics of the query planner. Call it after many rows were stored at once.

        Otherwise the planner may walk a million rows in order for a caller who sees five of them. On SQLite it does
        nothing while other writers keep the database busy.
        """
        raise NotImplementedError

    def refresh_statistics(self) -> bool:
        """Updates statistics like `analyze`, only for tables that have grown or shrunk tenfold since the last time.

        Returns True if there were such tables and all are done; False also while other writers keep the database busy.
        """
        raise NotImplementedError

    def query(self, sql: str, params: Parameters = ()) -> list[tuple[Any, ...]]:
        """Runs one read and returns all its rows. For prepared statements, with the placeholders of the dialect."""
        raise NotImplementedError

    def recall(self, sql: str, params: Parameters) -> list[tuple[Any, ...]]:
        """Runs a `query` with a small result that many requests need. SQLite runs it again only after a commit.

        A caller that holds a connection sees a new commit after its own transaction, or on its next connection.
        """
        return self.query(sql, params)

    def write(self, sql: str, params: Parameters = ()) -> int:
        """Runs one INSERT, UPDATE or DELETE and returns the number of its rows. For prepared statements."""
        raise NotImplementedError

    def ping(self) -> None:
        """Checks that the database answers. Raises `Unavailable` or `TimedOut`."""
        with self.connected():
            self.query(self.proof)

    @property
    def damage(self) -> Damaged | None:
        """Damage that was noted within the last `REMEMBERED` seconds."""
        return self._damage if monotonic() - self._noted < REMEMBERED else None

    def note(self, damage: Damaged) -> None:
        """Remembers damage that a read met, and logs it unless it is remembered already."""
        if self.damage is None:
            logger.error("%s", damage)
        self._damage, self._noted = damage, monotonic()

    def suspect(self) -> Damaged | None:
        """Checks whether stored values fit their columns, after an error without another explanation.

        Runs at most once in `REMEMBERED` seconds; in between it returns the last result.
        """
        if monotonic() - self._looked >= REMEMBERED:
            self._looked = monotonic()
            if (damage := self.examine()) is not None:
                self.note(damage)
        return self.damage

    def examine(self, seconds: float = 1.0) -> Damaged | None:
        """Returns the first damage met within that many seconds. Only SQLite does this; Postgres checks by itself."""
        return None

    def watch(self) -> None:
        """Checks once a second whether the database's files were moved or deleted, and saves what it can. SQLite only.
        """

    def fault(self) -> str | None:
        """Returns why the database must not be used in its present state, and what to do about it. SQLite only."""
        return None

    def loss(self) -> str | None:
        """Describes data that the database has lost, with what to do, until the operator has dealt with it. SQLite
        only."""
        return None

    def locale_fault(self) -> str | None:
        """Describes which rows a filter with `contains` misses because of the database's locale, with what to do.
        Postgres only. The database is connected."""
        return None

    def moved(self) -> str | None:
        """Returns the place that the rows were moved to (`models.moving`), or None. SQLite only. The database is
        connected."""
        return None

    def translate(self, error: BaseException, sql: str = "") -> RowError | None:
        """Translates a driver error into a `RowError`. Returns None for others: they are bugs and must stay visible."""
        raise NotImplementedError

    def _execute_cursor(self, sql: str, params: Any, **options: Any) -> Any:
        try:
            return super()._execute_cursor(sql, params, **options)  # type: ignore[misc]
        except Exception as error:
            self.fail(error, sql)

    def fail(self, error: Exception, sql: str) -> NoReturn:
        """Raises the translation of a driver error, or the error itself if it has none."""
        problem = self.translate(error, sql)
        if problem is None:
            raise error
        raise problem from error


# A proxy of the current database has the type of a database.
current: Database = _Current()  # type: ignore[assignment]


def driver_error(error: BaseException) -> BaseException:
    """Returns the driver's own exception where peewee wrapped it, else the error itself."""
    if isinstance(error, pw.PeeweeException):
        return getattr(error, "orig", None) or error
    return error


class Entering(Generic[D]):
    """Context manager of `with database.connected():`. It is a class because every request enters it.

    connects  True to hold a connection, too, unless this thread holds one already
    """

    __slots__ = ("connects", "database", "opened", "previous")

    def __init__(self, database: D, *, connects: bool = True) -> None:
        self.database = database
        self.connects = connects

    def __enter__(self) -> D:
        database = self.database
        self.opened = self.connects and database.is_closed()
        if self.opened:
            try:
                database.connect()
            except RowError:
                raise
            except Exception as error:
                raise (database.translate(error) or Unavailable(str(error))) from error
        self.previous = entered_database.get()
        entered_database.set(database)
        return database

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        # A streamed answer may be closed in another context than the one that opened it, so this is no Token.
        entered_database.set(self.previous)
        if self.opened:
            self.database.close()
        if error is not None:
            # Rows are read lazily, and peewee does not execute COMMIT: both may fail after `_execute_cursor`.
            problem = self.database.translate(error)
            if isinstance(raised := problem or error, Damaged):
                self.database.note(raised)
            if problem is not None:
                raise problem from error
