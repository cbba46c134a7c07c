"""What SQLite's query planner knows of tables: how many rows there are, and how they are spread."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Protocol, TypeVar

from models.engine.database import Parameters

T = TypeVar("T")

ANALYSED = 1000  # entries of an index whose values are compared for statistics; it is always counted to the end


class Analysed(Protocol):
    """What is needed of a database. `loading`: whether a load is open."""

    @property
    def loading(self) -> bool: ...
    def query(self, sql: str, params: Parameters = ()) -> list[tuple[Any, ...]]: ...
    def transact(self, work: Callable[[], T], *, grouped: bool = False) -> T: ...


def analyze(database: Analysed) -> None:
    """Make the statistics of all tables anew. Raises `Busy` where other writers leave no pause."""
    database.transact(lambda: _analyze(database, map(_statement, _tables(database)), dropping="sqlite_stat1"))


def refresh(database: Analysed) -> bool:
    """The same for those tables alone that have grown or shrunk tenfold; whether there were any. Raises `Busy`."""
    due = database.transact(lambda: _grown(database))
    # Index by index, since each is counted to its end: other writers come in between.
    for statement in due:
        database.transact(partial(_analyze, database, [statement]))
    if due:
        database.transact(partial(_analyze, database, [], dropping="sqlite_stat4"))
    return bool(due)


def _grown(database: Analysed) -> list[str]:
    if database.loading:
        return []  # What a load fills is counted once it is whole.
    # Says what it would do to any table, and does nothing; but takes the lock for it.
    due = {statement for statement, in database.query("PRAGMA optimize = 0x10003")}
    tables = [name for name in _tables(database) if _statement(name) in due]
    return [_statement(index) for table in tables for index, in database.query(
        "SELECT name FROM pragma_index_list(?, 'main')", [table])]


def _tables(database: Analysed) -> list[str]:
    """Each table, but for those of which FTS5 makes an index of words (`shadow`): it finds their rows by key, unless
    statistics from when they were empty say that all of them are read as fast."""
    return [name for name, in database.query("SELECT name FROM pragma_table_list WHERE schema = 'main' "
                                             "AND type = 'table' AND name NOT GLOB 'sqlite_*'")]


def _analyze(database: Analysed, statements: Iterable[str], *, dropping: str | None = None) -> None:
    database.query(f"PRAGMA analysis_limit = {ANALYSED}")
    # Other connections look at new statistics only when the schema has changed: dropping a table that ANALYZE makes
    # anew changes it. With a limit nothing is ever stored in sqlite_stat4, so that one can go without loss.
    if dropping is not None:
        database.query(f"DROP TABLE IF EXISTS {dropping}")
    for statement in statements:
        database.query(statement)
    # Each index begins with the tenant, whom each query names, unless its rows are looked up by id. Skipping over the
    # tenants (sqlite.org/optoverview.html#skipscan) would walk those of all of them instead.
    database.query("UPDATE sqlite_stat1 SET stat = stat || ' noskipscan' WHERE stat NOT LIKE '%noskipscan'")


def _statement(name: str) -> str:
    """The statement that makes the statistics of a table or of an index."""
    return f'ANALYZE "main"."{name}"'
