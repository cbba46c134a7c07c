"""Removal of data that deleted rows leave in the files of a database: free pages, words of an index, the log,
statistics of columns, old versions of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import inf
from time import monotonic, sleep
from typing import Any

from models.engine.database import Database
from models.engine.errors import InUse
from models.records.search import index_anew
from models.records.table import Table
from models.tables.sizes import lengths

PATIENCE = 20.0  # seconds to wait for readers of the old data
_PAUSE = 1.0  # seconds between two attempts


def overwrite(database: Database, changed: Sequence[type[Table]], patience: float = PATIENCE) -> None:
    """Removes everything that deleted rows of these tables have left in the files of the database.

    On SQLite it indexes the words of these tables again, rewrites the file and cuts its log, and does the same to the
    file of exports. On Postgres it rewrites the tables. Raises `InUse` if readers of the old data do not end in time,
    `TimedOut`, `Unavailable`: then it can be repeated.
    """
    with _unhurried(database):
        for model in changed if database.dialect == "sqlite" else ():
            index_anew(database, model)
        for place in database.with_files():
            _insist(place, [model._meta.table_name for model in changed], monotonic() + patience)


def _insist(database: Database, tables: Sequence[str], until: float) -> None:
    while True:
        try:
            _rewrite(database, tables)
            return
        except InUse:
            if monotonic() > until:
                raise
        sleep(_PAUSE)


def _rewrite(database: Database, tables: Sequence[str]) -> None:
    database.rewrite(tables)
    with database.connected():
        size, log = lengths(database)
    # The whole file went through the log. A log that was cut is shorter, even after writes of others.
    if log is not None and log >= size:
        raise InUse("a reader keeps the log of the database from being cut")


@contextmanager
def _unhurried(database: Any) -> Iterator[None]:
    """Lifts the time limit of statements on SQLite; on Postgres `rewrite` does."""
    if database.dialect != "sqlite":
        yield
        return
    limit, database.statement_timeout = database.statement_timeout, inf
    try:
        yield
    finally:
        database.statement_timeout = limit
