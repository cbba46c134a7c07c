"""Loads: many rows stored in short transactions, and hidden from all others until the last one closes the load.

Only for SQLite, where one long transaction would keep all other writers waiting. On Postgres it keeps nobody waiting,
and hides its rows until it is committed. Each row has the number of its load in the column `load` (`ddl.loadable`);
`models.engine.sqlite.loads` hides the rows of open loads. A file lock beside the database shows that the process of a
load is alive. Any other process undoes the loads of one that has ended.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import TypeVar

import orjson

from models.engine.database import Database
from models.engine.errors import Busy, RowError, StillReferenced, Unavailable
from models.engine.sqlite.loads import of_load
from models.engine.waiting import uncounted
from models.records.table import Record
from models.records.times import now

T = TypeVar("T")

PATIENCE = 5.0  # seconds for which a load waits for another one of its table: as long as a writer waits for its turn
GLANCE = 0.05  # seconds between two checks of that other load
AT_ONCE = 200  # rows of an undone load that one transaction deletes
TOGETHER = ("jobs",)  # tables that a load's transactions fill besides its own


def can_load(database: Database, model: type[Record]) -> bool:
    """True if a load can store rows of this table: on SQLite, if the table has the column."""
    return database.dialect == "sqlite" and _has_column(database, model._meta.table_name)


class Load:
    """An open load of one table in one tenant. `opened` makes it.

    tables  the tables that it fills → the first row number that may be one of its rows
    held    seconds for which the last transaction of `store` kept other writers waiting, without its commit
    """

    def __init__(self, database: Database, number: int, tables: dict[str, int]) -> None:
        self.number, self.tables = number, tables
        self._database = database
        self._tops = tables
        self.held = 0.0

    def store(self, work: Callable[[], T]) -> T:
        """Runs `work` in its own transaction. New rows in the tables of the load are hidden after the commit.

        Raises what `work` raises after undoing all that it did, and what `Database.transact` raises.
        """
        def stored() -> T:
            began = monotonic()
            self._tops = {table: _top(self._database, table) for table in self.tables}
            self._note_first()
            result = work()
            for table, top in self._tops.items():
                self._database.write(f'UPDATE main."{table}" SET "load" = ? WHERE rowid > ?', [self.number, top])
            self.held = monotonic() - began
            return result

        # The thread answers no request meanwhile, and must not be refused half way.
        with uncounted():
            result = self._database.transact(stored)
        self.tables = self._firsts()
        return result

    def _firsts(self) -> dict[str, int]:
        return {table: min(first, self._tops[table] + 1) for table, first in self.tables.items()}

    def _note_first(self) -> None:
        # If the newest row was deleted meanwhile, SQLite gives its number to the next row.
        if (firsts := self._firsts()) != self.tables:
            self._database.write("UPDATE loads SET tables = ? WHERE number = ? AND state = 'open'",
                                 [orjson.dumps(firsts).decode(), self.number])

    def own(self, model: type[Record], ids: list[str]) -> set[str]:
        """Returns those of `ids` whose rows this load has made. Call it within `store`."""
        table = model._meta.table_name
        rows = self._database.query(
            f'SELECT id FROM main."{table}" WHERE id IN (SELECT value FROM json_each(?)) AND ("load" = ? OR rowid > ?)',
            [orjson.dumps(ids).decode(), self.number, self._tops[table]])
        return {id for id, in rows}

    def close(self) -> None:
        """Makes all of its rows visible after the commit of this transaction. Raises `Unavailable` if the load was
        undone."""
        if not self._database.write("UPDATE loads SET state = 'closed' WHERE number = ? AND state = 'open'",
                                    [self.number]):
            raise Unavailable("the load was undone")

    def undo(self) -> None:
        """Deletes its rows in short transactions, unless it is closed; then closes it."""
        with self._database.connected():
            states = self._database.query("SELECT state FROM loads WHERE number = ?", [self.number])
        if states != [("open",)]:
            return
        with of_load(self.number), uncounted():
            last = -1
            # Rows that other rows of the load refer to are deleted in a later round.
            while referenced := sum(_delete(self._database, self.number, table, first)
                                    for table, first in self.tables.items()):
                if referenced == last:
                    raise StillReferenced()
                last = referenced
            self._database.transact(self.close)


@contextmanager
def opened(database: Database, tenant_id: str, model: type[Record]) -> Iterator[Load]:
    """Opens a load: transactions of this thread see its rows. At the end of the block it is undone, unless it was
    closed.

    Raises `Busy` if another load of the table stays open for longer than a writer waits.
    """
    load, lock = _open(database, tenant_id, model._meta.table_name)
    try:
        with of_load(load.number):
            try:
                yield load
            finally:
                # If it cannot be undone now, `undo_left` does it after the lock is released.
                with suppress(RowError):
                    load.undo()
    finally:
        _let_go(database, load.number, lock)


def open_loads(database: Database) -> int:
    """Returns the number of open loads. The database is connected."""
    if database.dialect != "sqlite":
        return 0
    return int(database.query("SELECT count(*) FROM loads WHERE state = 'open'")[0][0])


def undo_left(database: Database) -> int:
    """Undoes the loads of processes that have ended. Returns their number."""
    if database.dialect != "sqlite":
        return 0
    with database.connected():
        loads = database.query("SELECT number, tables FROM loads WHERE state = 'open'")
    undone = 0
    for number, tables in loads:
        lock = _lock(database, number)
        if lock is not None:
            try:
                Load(database, number, orjson.loads(tables)).undo()
                undone += 1
            finally:
                _let_go(database, number, lock)
    return undone


def _open(database: Database, tenant_id: str, table: str) -> tuple[Load, int]:
    until = monotonic() + PATIENCE
    while (result := _try_to_open(database, tenant_id, table)) is None:
        if monotonic() > until:
            raise Busy("another import of the same rows has not ended")
        sleep(GLANCE)
    return result


def _try_to_open(database: Database, tenant_id: str, table: str) -> tuple[Load, int] | None:
    """Returns the new load and its lock; None while another load of the table is open."""
    locks: dict[int, int] = {}
    undo_left(database)
    try:
        with of_load(0):
            load = database.transact(lambda: _opening(database, tenant_id, table, locks))
    except BaseException:
        for number, lock in locks.items():
            _let_go(database, number, lock)
        raise
    return None if load is None else (load, locks[load.number])


def _opening(database: Database, tenant_id: str, table: str, locks: dict[int, int]) -> Load | None:
    """Opens a load inside a transaction, and adds its lock to `locks`."""
    if database.query("SELECT 1 FROM loads WHERE state = 'open' AND tenant_id = ? AND name = ?", [tenant_id, table]):
        return None
    tables = {name: _top(database, name) + 1 for name in (table, *TOGETHER)}
    number, = database.query("SELECT coalesce(max(number), 0) + 1 FROM loads")[0]
    lock = _lock(database, number)
    if lock is None:
        return None  # the lock of a load in an earlier file of this name
    locks[number] = lock
    database.write("INSERT INTO loads (number, tenant_id, name, tables, state, created_at) "
                   "VALUES (?, ?, ?, ?, 'open', ?)", [number, tenant_id, table, orjson.dumps(tables).decode(), now()])
    # The newest row stays: it shows connections that there was a load.
    database.write("DELETE FROM loads WHERE state = 'closed'")
    return Load(database, number, tables)


def _delete(database: Database, number: int, table: str, first: int) -> int:
    """Deletes the rows of a load from one table, the newest first. Returns the number of rows that others refer to,
    which stay."""
    below, referenced = _end(database, table), 0
    while True:
        with database.connected():
            rows = [row for row, in database.query(
                f'SELECT rowid FROM main."{table}" WHERE rowid >= ? AND rowid < ? AND "load" = ? '
                "ORDER BY rowid DESC LIMIT ?", [first, below, number, AT_ONCE])]
        if not rows:
            return referenced
        referenced += database.transact(lambda rows=rows: _delete_some(database, table, rows))  # type: ignore[misc]
        below = rows[-1]


def _delete_some(database: Database, table: str, rows: list[int]) -> int:
    deleting, referenced = f'DELETE FROM main."{table}" WHERE rowid = ?', 0
    for row in rows:
        try:
            database.write(deleting, [row])
        except StillReferenced:
            referenced += 1  # an older row of the load refers to it
    return referenced


def _top(database: Database, table: str) -> int:
    return int(database.query(f'SELECT coalesce(max(rowid), 0) FROM main."{table}"')[0][0])


def _end(database: Database, table: str) -> int:
    with database.connected():
        return _top(database, table) + 1


def _has_column(database: Database, table: str) -> bool:
    with database.connected():
        return bool(database.query("SELECT 1 FROM pragma_table_info(?, 'main') WHERE name = 'load'", [table]))


def _lock(database: Database, number: int) -> int | None:
    """Returns an open descriptor that holds the lock of a load; None if another one holds it."""
    try:
        descriptor = os.open(_file(database, number), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Unavailable(str(error)) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _let_go(database: Database, number: int, lock: int) -> None:
    # Deleted before the unlock: otherwise it could delete a file that another process has just opened and locked.
    with suppress(FileNotFoundError):
        _file(database, number).unlink()
    os.close(lock)


def _file(database: Database, number: int) -> Path:
    return Path(f"{database.database}.load-{number}")
