"""Statistics for SQLite's query planner: numbers of rows and distribution of values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Protocol, TypeVar

from models.engine.database import Parameters

T = TypeVar("T")

ANALYSED = 1000  # entries of an index whose values are compared; ANALYZE always counts an index to its end


class Analysed(Protocol):
    """Methods of a database that statistics need. `loading`: True while a load is open."""

    @property
    def loading(self) -> bool: ...
    def query(self, sql: str, params: Parameters = ()) -> list[tuple[Any, ...]]: ...
    def transact(self, work: Callable[[], T], *, grouped: bool = False) -> T: ...


def analyze(database: Analysed) -> None:
    """Rebuilds the statistics of all tables. Raises `Busy` if other writers leave no pause."""
    database.transact(lambda: _analyze(database, map(_statement, _tables(database)), dropping="sqlite_stat1"))


def refresh(database: Analysed) -> bool:
    """Rebuilds the statistics only of tables that have grown or shrunk tenfold. Returns True if there were any. Raises
    `Busy`."""
    due = database.transact(lambda: _grown(database))
    # One index at a time, since each is counted to its end: other writers come in between.
    for statement in due:
        database.transact(partial(_analyze, database, [statement]))
    if due:
        database.transact(partial(_analyze, database, [], dropping="sqlite_stat4"))
    return bool(due)


def _grown(database: Analysed) -> list[str]:
    if database.loading:
        return []  # Tables of an open load are counted after it is closed.
    # This mode changes nothing and lists the statements that it would run. But it takes the lock for them.
    due = {statement for statement, in database.query("PRAGMA optimize = 0x10003")}
    tables = [name for name in _tables(database) if _statement(name) in due]
    return [_statement(index) for table in tables for index, in database.query(
        "SELECT name FROM pragma_index_list(?, 'main')", [table])]


def _tables(database: Analysed) -> list[str]:
    """Returns all tables, except the shadow tables of FTS5's full-text indexes.

    FTS5 finds their rows by key. With statistics from when they were empty, the planner would read all rows instead.
    """
    return [name for name, in database.query("SELECT name FROM pragma_table_list WHERE schema = 'main' "
                                             "AND type = 'table' AND name NOT GLOB 'sqlite_*'")]


def _analyze(database: Analysed, statements: Iterable[str], *, dropping: str | None = None) -> None:
    database.query(f"PRAGMA analysis_limit = {ANALYSED}")
    # Other connections read new statistics only after a change of the schema. Dropping a table that ANALYZE makes again
    # is such a change. With a limit, sqlite_stat4 stays empty, so it can be dropped without loss.
    if dropping is not None:
        database.query(f"DROP TABLE IF EXISTS {dropping}")
    for statement in statements:
        database.query(statement)
    # Each index begins with the tenant. Each query names the tenant, unless it looks rows up by id. A skip-scan
    # (sqlite.org/optoverview.html#skipscan) would instead walk the rows of all tenants.
    database.query("UPDATE sqlite_stat1 SET stat = stat || ' noskipscan' WHERE stat NOT LIKE '%noskipscan'")


def _statement(name: str) -> str:
    """Returns the statement that makes the statistics of a table or of an index."""
    return f'ANALYZE "main"."{name}"'
