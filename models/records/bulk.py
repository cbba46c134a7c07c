"""Storing of many rows at once, in the fastest way of each database."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from models.engine.database import Database
from models.engine.errors import Busy, TimedOut, Unavailable
from models.records import search
from models.records.table import Record, Table
from models.records.times import now


def load(database: Database, model: type[Table], columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    """Stores `rows`, tuples in the order of `columns`, unchanged: the caller sets ids and times.

    Needs a transaction, some thousand rows each. Raises `AlreadyExists`, `InvalidReference`.
    """
    table = model._meta.table_name
    names = ", ".join(f'"{model._meta.fields[name].column_name}"' for name in columns)
    # The database's own cursor sets the deadline of the statement; the driver's does not.
    cursor = database.cursor()
    try:
        if database.dialect == "sqlite":
            marks = ", ".join("?" * len(columns))
            search.index_together(database, model, lambda: cursor.executemany(
                f'INSERT INTO main."{table}" ({names}) VALUES ({marks})', rows))
        else:
            if search.in_row(database, model):
                names += f', "{search.column(model).column_name}"'
                rows = [(*row, search.vector_of(model, dict(zip(columns, row, strict=True)))) for row in rows]
            with cursor.copy(f'COPY "{table}" ({names}) FROM STDIN') as copy:
                for row in rows:
                    copy.write_row(row)
    except Exception as error:
        problem = database.translate(error)
        if problem is None:
            raise
        raise problem from error


def insert(database: Database, tenant_id: str, rows: Sequence[Record]) -> None:
    """Stores new rows of one table in one statement, as `Rows.insert` does. Raises what `load` raises."""
    at, fields = now(), rows[0]._meta.sorted_fields
    for row in rows:
        row.stamp(tenant_id, at)
    load(database, type(rows[0]), [field.name for field in fields],
         [tuple(field.db_value(row.__data__.get(field.name)) for field in fields) for row in rows])


def optimize(database: Database, model: type[Table]) -> None:
    """Updates the statistics of the query planner, and merges the full-text index of `model`. Call it after a load.

    Opens several transactions, so it cannot run inside one.
    """
    # The load is stored, even if this fails: statistics are updated later anyway, and later writers merge.
    with suppress(Busy, TimedOut, Unavailable):
        database.analyze()
        search.merge(database, model)


def ample_cache(database: Database) -> None:
    """Enlarges the cache of this process's writers: a load touches all pages of a large table's indexes.

    For a command that stores many rows, and then ends.
    """
    if database.dialect == "sqlite":
        database.transact(lambda: database.query("PRAGMA cache_size = -256000"))
