"""SQLite through apsw: reused connections, one writer at a time, statements with a time limit."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from shutil import disk_usage
from threading import Thread
from time import monotonic, sleep
from typing import Any, TypeVar, cast

import apsw
from playhouse.apsw_ext import APSWDatabase

from models.engine.database import Database, Parameters, driver_error
from models.engine.errors import Busy, Damaged, LostLog, NoRoom, RowError, TimedOut, Unavailable
from models.engine.observer import Observer
from models.engine.sqlite import copies, moved, statistics
from models.engine.sqlite.checkpoints import Checkpoints
from models.engine.sqlite.connection import (
    BUSY_TIMEOUT,
    Connection,
    Cursor,
    Fetched,
    Pool,
    check_version,
    refuse_unwritable,
)
from models.engine.sqlite.errors import busy, meaning
from models.engine.sqlite.group_commit import GroupCommit
from models.engine.sqlite.loads import reads
from models.engine.sqlite.pair import LOOKS, PAUSE, Pair
from models.engine.sqlite.recovery import Recovery
from models.engine.sqlite.writer_lock import WriterLock
from models.engine.waiting import Places, Wait
from system.files import new_file

T = TypeVar("T")

logger = logging.getLogger(__name__)

ROOM = 1 << 20  # free bytes of a disk below which its error means that it is full
MIGRATION_WAIT = 600.0  # seconds
RESTORE_WAIT = 60.0  # seconds that a restore waits for its turn
# Seconds that any number of writers may wait: for a shared commit, a checkpoint, the statistics of a table.
MOMENT = 0.5


class SqliteDatabase(Database, APSWDatabase):
    """One database file. Call `open_database` to make one."""

    dialect = "sqlite"
    proof = "SELECT count(*) FROM sqlite_schema"

    def __init__(self, path: str, *, synchronous: str, group_commit: bool, statement_timeout: float,
                 waiting: int | None, reads_copies: bool = False) -> None:
        check_version(apsw.sqlitelibversion())
        self.path = Path(path).absolute()  # the path must not depend on the working directory
        self.statement_timeout = statement_timeout
        self.writer_lock = WriterLock(self.path)
        self.places = Places(waiting, moment=MOMENT, timeout=BUSY_TIMEOUT, late=busy)
        self.group = GroupCommit(self)
        self.group_commit = group_commit
        self._reads_copies = reads_copies
        self.read_only = False  # True if this is a copy that cannot be written to
        self._pool: Pool = Pool(self._connect)
        # Writers of all threads share one connection, so that the most changed pages stay in its cache.
        self._writers = Pool(self._connect)
        self.pair, self._recovery = Pair(self.path), Recovery(self.path)
        self._checkpoints = Checkpoints(self._pool.lent, self.pair)
        super().__init__(
            str(self.path), autoconnect=False, field_types={"TIMESTAMPTZ": "TEXT"},
            pragmas={"journal_mode": "wal", "synchronous": synchronous.lower(), "foreign_keys": 1,
                     "recursive_triggers": 1, "temp_store": "memory",
                     # Space that the log takes beyond this during a long read is freed again.
                     "journal_size_limit": 64 << 20})

    def create(self) -> None:
        """Makes the empty file, readable only by its owner, unless it exists."""
        with suppress(FileExistsError):
            new_file(self.path).close()

    def connect(self, reuse_if_open: bool = False) -> bool:
        if self.pair.foreign is not None:
            self.pair.check()
        return super().connect(reuse_if_open)

    @contextmanager
    def writing(self, wait: Wait | None = None) -> Iterator[None]:
        """Holds the turn to write, and the writers' connection in place of this thread's own.

        Raises `Busy`, `Overloaded`, `Unavailable`.
        """
        if self.read_only:
            refuse_unwritable(self.database)
        wait = wait or Wait(self.places)
        try:
            self.writer_lock.acquire(wait)
        finally:
            wait.end()
        self.places.progress()
        try:
            with self._writers.lent() as conn:
                # SQLite itself waits for programs that do not use this lock.
                conn.setbusytimeout(int(wait.left() * 1000))
                own = self._state.conn
                self._state.set_connection(conn)
                try:
                    yield
                finally:
                    if own is None:
                        self._state.reset()
                    else:
                        self._state.set_connection(own)
        finally:
            self.writer_lock.release()

    def written(self) -> int:
        """Returns the number of rows written by this connection, or -1 if no transaction is open: SQLite ends it after
        some errors."""
        conn = self._state.conn
        return -1 if conn.getautocommit() else int(conn.total_changes())

    # A transaction begins and ends with plain statements: peewee's way adds a third to the time of every write.
    def begin(self, lock_type: str = "IMMEDIATE") -> None:
        if self.pair.log.lost is not None:
            self.pair.log.confirm()
        conn = self._state.conn
        try:
            conn.deadline = monotonic() + self.statement_timeout
            conn.begin(lock_type)
        except Exception as error:
            self.fail(error, "BEGIN")

    def commit(self) -> None:
        # SQLite ends a transaction itself after some errors.
        conn = self._state.conn
        if conn.getautocommit():
            raise Unavailable("the transaction was given up")
        # A commit to a log without a name would be lost. A commit to the log of another file would damage both.
        try:
            self.pair.confirm()
        except LostLog:
            self._rescue_soon()
            raise
        try:
            conn.deadline = monotonic() + self.statement_timeout
            conn.commit()
        except Exception as error:
            self.fail(error, "COMMIT")

    def _transact(self, work: Callable[[], T], grouped: bool) -> T:
        if self.read_only:
            return self._only_read(work)
        if not self.is_closed():
            self._state.conn.compared = False  # another connection does the work
        wait = Wait(self.places)
        try:
            with self.entered():
                if grouped and self.group_commit:
                    return self.group.run(work, wait)
                with self.writing(wait), self.atomic():
                    return work()
        finally:
            wait.end()

    def _only_read(self, work: Callable[[], T]) -> T:
        """Runs work on a copy that cannot be written to. Raises `Unavailable` if the work writes."""
        with self.connected():
            try:
                return work()
            except Unavailable:
                refuse_unwritable(self.database)
                raise

    @contextmanager
    def migrating(self) -> Iterator[None]:
        # A second process must outwait the migrations of the first, not just the statements of another writer.
        wait = Wait(Places(None, moment=MOMENT, timeout=MIGRATION_WAIT, late=busy))
        with self.connected(), WriterLock(self.path).held(wait):
            limit, self.statement_timeout = self.statement_timeout, inf
            conn = self._state.conn
            try:
                conn.heedless = True
                conn.follow()
                yield
            finally:
                conn.heedless = False
                self.statement_timeout = limit

    @contextmanager
    def copied(self, target: str) -> Iterator[Database]:
        with self.connected():
            self._state.conn.deadline = inf
            copies.copy(self._state.conn, target)
        with self.scratch(target) as copy, copy.connected():
            yield copy

    @contextmanager
    def scratch(self, copy: str) -> Iterator[Database]:
        staged = type(self)(copy, synchronous="full", group_commit=False, statement_timeout=inf, waiting=None)
        try:
            yield staged
        finally:
            staged.close_all()

    def take_over(self, staged: Database, aside: Path, *, keep: bool = False) -> None:
        staged.close_all()
        self.close_all()
        source = cast(SqliteDatabase, staged).path
        with self.writer_lock.held(Wait(Places(None, moment=MOMENT, timeout=RESTORE_WAIT, late=busy))):
            copies.take_over(self.path, self.pair, source, aside, keep=keep)

    def observe(self, observer: Observer) -> None:
        self.places.observer = self._checkpoints.observer = observer

    def spare(self) -> int:
        return int(self.query("PRAGMA freelist_count")[0][0]) * int(self.query("PRAGMA page_size")[0][0])

    def compact(self) -> None:
        with self.migrating():
            self.query("VACUUM")
            self._checkpoints.cut(self._state.conn)

    def analyze(self) -> None:
        # If other writers leave no pause, this can wait for the next time.
        with suppress(Busy):
            statistics.analyze(self)

    def refresh_statistics(self) -> bool:
        try:
            return statistics.refresh(self)
        except Busy:
            return False

    @property
    def loading(self) -> bool:
        """True if this thread's connection knows of an open load."""
        return bool(self._state.conn.shadowed)

    def query(self, sql: str, params: Parameters = ()) -> list[tuple[Any, ...]]:
        conn = self._state.conn
        try:
            conn.deadline = monotonic() + self.statement_timeout
            rows = conn.execute(sql, params).fetchall()
            while conn.data_version() != conn.known_version and conn.stale():
                conn.follow()
                rows = conn.execute(sql, params).fetchall()
            return rows
        except Exception as error:
            self.fail(error, sql)

    def write(self, sql: str, params: Parameters = ()) -> int:
        conn = self._state.conn
        try:
            conn.deadline = monotonic() + self.statement_timeout
            conn.execute(conn.aimed(sql) if conn.shadowed else sql, params)
            return int(conn.changes())
        except Exception as error:
            self.fail(error, sql)

    def recall(self, sql: str, params: Parameters) -> Fetched:
        conn = self._state.conn
        try:
            conn.deadline = monotonic() + self.statement_timeout
            return cast(Fetched, conn.recall(sql, params))
        except Exception as error:
            self.fail(error, sql)

    def _execute_cursor(self, sql: str, params: Any, **options: Any) -> Any:
        if not self.is_closed() and self._state.conn.shadowed:
            sql = self._state.conn.aimed(sql)
        cursor = super()._execute_cursor(sql, params, **options)
        conn = self._state.conn
        # The rows are read later, but the snapshot is fixed now.
        while conn.data_version() != conn.known_version and reads(sql) and conn.stale():
            cursor.close()
            conn.follow()
            cursor = super()._execute_cursor(sql, params, **options)
        return cursor

    def cursor(self, named_cursor: Any = None) -> Any:
        # peewee takes a cursor before each statement, so the deadline is set here.
        cursor = Cursor(super().cursor(named_cursor))
        self._state.conn.deadline = monotonic() + self.statement_timeout
        return cursor

    def examine(self, seconds: float = 1.0) -> Damaged | None:
        try:
            with self.connected():
                self._state.conn.deadline = monotonic() + seconds
                verdict = self._state.conn.execute("PRAGMA quick_check(1)").get
        except Damaged as damage:
            return damage
        except (TimedOut, Unavailable):
            return None
        return None if verdict == "ok" else Damaged(verdict)

    def fault(self) -> str | None:
        return self.pair.fault()

    def loss(self) -> str | None:
        return self._recovery.loss() or self.pair.log.loss()

    def moved(self) -> str | None:
        return moved.place(self)

    def watch(self) -> None:
        if self.beside is not None:
            self.beside.watch()
        if self.pair.log.noted:
            with suppress(Unavailable, OSError):
                self.pair.look()
            self._rescue()

    def _rescue_soon(self) -> None:
        """Calls `_rescue` in a thread, because this thread has the turn to write."""
        with suppress(RuntimeError):  # if no thread can start, `watch` does it
            Thread(target=self._rescue, name="saving a log", daemon=True).start()

    def _rescue(self) -> None:
        """Saves a log whose name was deleted, and copies it into the file unless another log has begun meanwhile."""
        log = self.pair.log
        if not log.unsaved:
            return
        wait = Wait(Places(None, moment=MOMENT, timeout=RESTORE_WAIT, late=busy))
        with suppress(Unavailable), self.writer_lock.held(wait):
            try:
                if log.unsaved:
                    copy = log.save()
                    copied = not log.replaced and self._copy_lost()
                    if copied or log.replaced:
                        log.tell(copy, copied=copied)
            except (apsw.Error, OSError) as error:
                logger.error("the log of %s is not saved yet: %s", self.path.name, error)

    def _copy_lost(self) -> bool:
        for pool in (self._writers, self._pool):
            if (conn := pool.spare()) is not None:
                try:
                    return self._checkpoints.rescue(conn)
                finally:
                    pool.give_back(conn)
        return False  # all connections are in use

    def translate(self, error: BaseException, sql: str = "") -> RowError | None:
        cause = driver_error(error)
        if isinstance(cause, apsw.IOError) and self._has_no_room():
            return NoRoom("the disk of the database is full")  # for example, the index of a log cannot grow
        return meaning(cause, sql)

    def _has_no_room(self) -> bool:
        try:
            return disk_usage(self.path.parent).free < ROOM
        except OSError:
            return False

    def close_all(self) -> None:
        if self.beside is not None:
            self.beside.close_all()
        self.close()
        self.watch()
        self._checkpoints.finish()
        self._pool.close()
        self._writers.close()
        self.pair.close()

    def _connect(self) -> Connection:
        try:
            conn = Connection(self.database)
        except OSError as error:
            raise Unavailable(str(error)) from error
        except Unavailable:
            if not (self._reads_copies and self.path.exists()):
                raise
            return self._connect_for_reading()
        try:
            self.pair.check()
            conn.belongs = self.pair.belongs
            self._recovery.begin()
            self._read_first(conn)
            self.pair.opened()
            self._recovery.end(conn)
            self._confirm_log(conn)
            conn.set_wal_hook(self._checkpoints.committed)
        except BaseException:
            conn.close()
            raise
        return conn

    def _connect_for_reading(self) -> Connection:
        has_log = self.pair.log_has_frames()
        try:
            conn = Connection(self.database, read_only=True, has_log=has_log)
            try:
                self.pair.check()
                self._add_conn_hooks(conn)  # type: ignore[no-untyped-call]
                conn.pragma("schema_version")
            except BaseException:
                conn.close()
                raise
        except apsw.CantOpenError as error:
            raise Unavailable(f"{self.path.name}-wal holds what {self.path.name} does not, and cannot be read where "
                              "nothing can be written: copy both to another place") from error
        self.read_only = True
        return conn

    def _read_first(self, conn: Connection) -> None:
        # Where several processes open a new file at once, each switches it to a write-ahead log. SQLite refuses all but
        # one immediately, whatever the busy timeout.
        end = monotonic() + BUSY_TIMEOUT
        while True:
            try:
                return self._open_log(conn)
            except apsw.BusyError:
                if monotonic() > end:
                    raise
                sleep(PAUSE)

    def _open_log(self, conn: Connection) -> None:
        try:
            self._add_conn_hooks(conn)  # type: ignore[no-untyped-call]
            if conn.pragma("journal_mode") != "wal":
                raise Unavailable("the file system of the database cannot hold a write-ahead log")
            conn.pragma("schema_version")  # opens the log, which an empty file has not done yet
        except apsw.IOError as error:
            if getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHORT_READ:
                raise self.pair.log.refuse() from error
            raise

    def _confirm_log(self, conn: Connection) -> None:
        """Refuses a log that other processes do not have open: it is shorter than their index says."""
        self.pair.log.note()
        for _ in range(LOOKS):
            frames, _copied = conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
            if not frames or not self.pair.log.short(frames, int(conn.pragma("page_size"))):
                return
            sleep(PAUSE)  # the log may have restarted
        raise self.pair.log.refuse()
