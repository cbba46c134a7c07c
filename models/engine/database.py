"""The database of one instance: its connections, write transactions, and which one is current.

The tables (`models.records.table.Record`) are bound to `current`, and `current` points to whatever database the
running thread or task has entered with `connected()` or `entered()`. So several apps, each with its own database, live
in one process.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from random import uniform
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, Self, TypeVar

import peewee as pw

from models.engine.entered import Entering, entered_database
from models.engine.errors import Contended, Damaged, RowError
from models.engine.observer import Observer
from models.engine.sealer import Sealer

T = TypeVar("T")
Parameters = Sequence[Any]
REMEMBERED = 60.0  # seconds for which a database that was found damaged counts as such; also between two looks at it

_NOT_ENTERED = "enter a database with Database.connected()"
logger = logging.getLogger(__name__)


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
    """Where a database has its connections from."""

    def take(self) -> Any:
        """A connection. Raises `Unavailable`, and what the driver raises when there is none to be had."""

    def give_back(self, conn: Any) -> None: ...

    def close(self) -> None: ...


class Database(pw.Database):
    """What both dialects share. Made by `open_database`, never directly."""

    dialect: str
    read_only = False  # whether this is a copy (SQLite) that cannot be written to, opened for reading
    proof: str  # a statement that cannot succeed without the server or the file
    sealer: Sealer | None = None  # while migrations run
    # Is told how many rows of a table a long migration has done, and of how many.
    report: Callable[[int, int], object] | None = None
    ignored: frozenset[str] = frozenset()  # tables whose rows count for nothing where it is decided who may do what
    beside: Database | None = None  # a database of its own for files of exports
    _state: Any  # peewee's note of this thread's connection
    _pool: Pool
    _damage: Damaged | None = None
    _noted = _looked = float("-inf")

    if TYPE_CHECKING:  # peewee has them, but its type stubs do not say how they are called
        def __init__(self, database: str, **options: Any) -> None: ...
        def execute_sql(self, sql: str, params: Parameters = ()) -> Any: ...
        def cursor(self, named_cursor: Any = None) -> Any: ...
        def rows_affected(self, cursor: Any) -> int: ...

    def connected(self) -> Entering[Self]:
        """Make this the current database and hold one of its connections; re-entrant.

        Raises `Unavailable` when there is no connection to be had.
        """
        return Entering(self)

    def entered(self) -> Entering[Self]:
        """Make this the current database without holding a connection: for a caller that waits for one.

        Errors of the driver are translated as in `connected`.
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
        """Run `work()` in one write transaction and return its result; inside another, join it.

        `work` must be repeatable: after a serialisation failure or a deadlock it is run once more.
        `grouped`: it is short, and may share a transaction with what other threads write at the same time, where
        that saves time (`models.engine.sqlite.group_commit`), unless the operator has ruled that out.
        On SQLite, a caller that holds no connection holds none while it waits for its turn, either.
        Raises what `work` raises (everything it did undone), `Unavailable`, `TimedOut`.
        """
        if self.in_transaction():
            return work()
        try:
            return self._transact(work, grouped)
        except Contended:
            logger.info("transaction repeated after a serialisation failure")
            # The transaction that won must finish first, or both meet again.
            sleep(uniform(0.02, 0.1))
            return self._transact(work, grouped)

    def attempt(self, work: Callable[[], T]) -> T:
        """Run `work()` within a transaction so that, if it raises, only what it did itself is undone.

        Without this a failed statement leaves nothing else to do on Postgres but to give up the transaction.
        """
        with self.savepoint():
            return work()

    def _transact(self, work: Callable[[], T], grouped: bool) -> T:
        with self.entered(), self.writing(), self.atomic():
            return work()

    def create(self) -> None:
        """Make the empty database where that is ours to do (a file); otherwise it must be there."""

    @property
    def files(self) -> Database:
        """The database that holds files of exports: on SQLite another one, which no backup has. A transaction of this
        one may be made in a transaction of that one, never the other way round."""
        return self if self.beside is None else self.beside

    def with_files(self) -> tuple[Database, ...]:
        """This database, and that of files where it is another one and is there."""
        files = self.files
        return (self,) if files is self or not files.exists() else (self, files)

    def exists(self) -> bool:
        """Whether it is there; that of files is made when the first is stored."""
        return True

    def make(self, *statements: str) -> None:
        """Make it with these statements, unless it is there, where that is done when it is first needed. Raises
        `Unavailable`."""

    def writing(self) -> AbstractContextManager[Any]:
        """Hold what a writer must hold before its transaction begins: a connection; on SQLite its turn, too."""
        return self.connected()

    def migrating(self) -> AbstractContextManager[Any]:
        """Hold what a migration must hold: no other process migrates, and statements may take their time."""
        raise NotImplementedError

    def close_all(self) -> None:
        """Let go of every connection that is idle, and of this thread's; on Postgres of those in use, too; on SQLite
        wait for the copy of the log that is being made."""
        raise NotImplementedError

    def copied(self, target: str) -> AbstractContextManager[Database]:
        """Write a consistent copy to the new file `target` while other connections read and write. In the block, the
        database that it gives, which is the current one there, holds what the copy holds.

        Raises `Unavailable`, `Damaged`, FileExistsError.
        """
        raise NotImplementedError

    def scratch(self, copy: str) -> AbstractContextManager[Database]:
        """A database of its own that holds what the file `copy` holds (`copied`), until the block ends: on Postgres
        beside this one, on SQLite that file itself.

        Raises `Unavailable`.
        """
        raise NotImplementedError

    def take_over(self, staged: Database, aside: Path, *, keep: bool = False) -> None:
        """Put what a `scratch` database holds in the place of what this one holds, all or nothing.

        Files that cannot be read any more are moved into the folder `aside`; with `keep`, copied there in any case
        (SQLite). Nothing of this database may be in use by the caller. Raises `InUse`, `Unavailable`.
        """
        raise NotImplementedError

    def confirm(self) -> None:
        """Wait until what can be read now is as safe as a commit that was answered; outside of a transaction.

        On Postgres rows can be read that no standby has (a wait that was cancelled). Raises `Unavailable`.
        """

    def observe(self, observer: Observer) -> None:
        """Tell `observer` from now on what takes long."""
        raise NotImplementedError

    def spare(self) -> int:
        """Bytes that `compact` would give back; 0 where the server knows. The database is connected."""
        return 0

    def compact(self) -> None:
        """Give back what rows that are gone have left. On SQLite writers wait meanwhile, and readers do not."""
        raise NotImplementedError

    def rewrite(self, tables: Sequence[str]) -> None:
        """Leave nothing of rows that are gone in the files of these tables; writers, on Postgres also readers, wait.
        Raises `InUse` where others still see such rows, `TimedOut`: it can be repeated."""
        self.compact()

    def analyze(self) -> None:
        """Let the query planner know how many rows there are and how they are spread; after many came at once.

        Without that it may walk a million rows in order for a caller who sees five of them. On SQLite nothing happens
        where other writers keep the database busy.
        """
        raise NotImplementedError

    def refresh_statistics(self) -> bool:
        """Do as `analyze` does, for those tables alone that have grown or shrunk tenfold since the last time.

        Whether there were any and all of them were done; not where other writers keep the database busy.
        """
        raise NotImplementedError

    def query(self, sql: str, params: Parameters = ()) -> list[tuple[Any, ...]]:
        """Run one read and return all its rows; the dialect's own placeholders. For prepared statements."""
        raise NotImplementedError

    def recall(self, sql: str, params: Parameters) -> list[tuple[Any, ...]]:
        """Like `query`, for the few rows that every request asks for: read again only when something was committed.

        A caller that holds a connection sees what was committed meanwhile after a transaction of its own, or on the
        next connection that it takes.
        """
        return self.query(sql, params)

    def write(self, sql: str, params: Parameters = ()) -> int:
        """Run one INSERT, UPDATE or DELETE; the number of its rows. For prepared statements."""
        raise NotImplementedError

    def ping(self) -> None:
        """Prove that the database answers. Raises `Unavailable` or `TimedOut`."""
        with self.connected():
            self.query(self.proof)

    @property
    def damage(self) -> Damaged | None:
        """What was found damaged within the last `REMEMBERED` seconds."""
        return self._damage if monotonic() - self._noted < REMEMBERED else None

    def note(self, damage: Damaged) -> None:
        """Remember that a read found damage, and log it unless that is known."""
        if self.damage is None:
            logger.error("%s", damage)
        self._damage, self._noted = damage, monotonic()

    def suspect(self) -> Damaged | None:
        """Look whether stored values are what their columns can hold, after an error that nothing else explains.

        At most once in `REMEMBERED` seconds; in between, what is known.
        """
        if monotonic() - self._looked >= REMEMBERED:
            self._looked = monotonic()
            if (found := self.examine()) is not None:
                self.note(found)
        return self.damage

    def examine(self, seconds: float = 1.0) -> Damaged | None:
        """The first damage that is found in so many seconds; SQLite alone is asked, Postgres looks by itself."""
        return None

    def watch(self) -> None:
        """Notice, once a second, what was done to the files of the database, and save what can be; SQLite alone."""

    def fault(self) -> str | None:
        """Why the database must not be used as it lies there, and what to do about it; SQLite alone is asked."""
        return None

    def loss(self) -> str | None:
        """What the database has lost and the operator has not yet seen to, and what to do; SQLite alone is asked."""
        return None

    def locale_fault(self) -> str | None:
        """What filters with `contains` miss because of the locale of the database, and what to do about it; Postgres
        alone has one. The database is connected."""
        return None

    def moved(self) -> str | None:
        """Where the rows were moved to (`models.moving`), None where they were not; SQLite alone is asked, connected.
        """
        return None

    def translate(self, error: BaseException, sql: str = "") -> RowError | None:
        """What this driver error means to us, or None when it means nothing (a bug, not ours to hide)."""
        raise NotImplementedError

    def _execute_cursor(self, sql: str, params: Any, **options: Any) -> Any:
        try:
            return super()._execute_cursor(sql, params, **options)  # type: ignore[misc]
        except Exception as error:
            self.fail(error, sql)

    def fail(self, error: Exception, sql: str) -> NoReturn:
        """Raise what an error of the driver means to us; when it means nothing, the error."""
        problem = self.translate(error, sql)
        if problem is None:
            raise error
        raise problem from error


# A proxy of the current database, so it has the type of one.
current: Database = _Current()  # type: ignore[assignment]


def driver_error(error: BaseException) -> BaseException:
    """The driver's own exception, when peewee wrapped it in one of its own."""
    if isinstance(error, pw.PeeweeException):
        return getattr(error, "orig", None) or error
    return error
