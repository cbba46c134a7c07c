"""Size of a database, measured without reading it whole, for its operator."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from models.engine.database import Database
from models.tables.audit import Audit, of_all

COUNTED = 100_000  # rows to count at most, in a SQLite table without row ids


class TableSize(NamedTuple):
    """A table with its approximate number of rows; `bytes` includes its indexes, None if that is slow to measure."""

    name: str
    rows: int
    bytes: int | None


class Sizes(NamedTuple):
    """Sizes of a database, in bytes.

    log     of the write-ahead log; None on a server
    files   of the database of exported files with its log; None if they are rows of the main one
    tables  the largest first
    since   time of the oldest audit row; None without rows
    """

    database: int
    log: int | None
    files: int | None
    tables: list[TableSize]
    since: str | None


def measure(database: Database) -> Sizes:
    """Measures the connected database in milliseconds, however large it is. Raises what a query raises."""
    oldest = of_all().order_by(Audit.seq).first()
    since = None if oldest is None else oldest.time
    tables = _sqlite_tables if database.dialect == "sqlite" else _postgres_tables
    return Sizes(*lengths(database), length_of_files(database), tables(database), since)


def lengths(database: Database) -> tuple[int, int | None]:
    """Returns the bytes of the connected database, and of its write-ahead log, None on a server."""
    if database.dialect == "sqlite":
        file = Path(str(database.database))
        return _length(file), _length(Path(f"{file}-wal"))
    return int(database.query("SELECT pg_database_size(current_database())")[0][0]), None


def length_of_files(database: Database) -> int | None:
    """Returns the bytes of the database of exported files and of its log; None if they are rows of `database`."""
    if database.files is database:
        return None
    return sum(length or 0 for length in lengths(database.files))


def _sqlite_tables(database: Database) -> list[TableSize]:
    tables = database.query("SELECT name, wr FROM pragma_table_list "
                            "WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'")
    sizes = [TableSize(name, _counted(database, name) if without_rowid else _span(database, name), None)
             for name, without_rowid in tables]
    return sorted(sizes, key=lambda table: -table.rows)


def _span(database: Database, name: str) -> int:
    # A count would read every page of an index, and so would both ends in one SELECT. Deleted rows in between count,
    # too.
    table = f'main."{name}"'
    newest, oldest = database.query(f"SELECT (SELECT max(rowid) FROM {table}), (SELECT min(rowid) FROM {table})")[0]
    return 0 if newest is None else int(newest - oldest + 1)


def _counted(database: Database, name: str) -> int:
    return int(database.query(f'SELECT count(*) FROM (SELECT 1 FROM "{name}" LIMIT {COUNTED})')[0][0])


def _postgres_tables(database: Database) -> list[TableSize]:
    rows = database.query("""
        SELECT relname, greatest(reltuples, 0)::bigint, pg_total_relation_size(oid) FROM pg_class
        WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace ORDER BY 3 DESC""")
    return [TableSize(*row) for row in rows]


def _length(file: Path) -> int:
    with suppress(FileNotFoundError):
        return file.stat().st_size
    return 0
