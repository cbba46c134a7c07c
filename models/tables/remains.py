"""What deleted rows leave in the files of a database, and how it goes: pages that are free, words of an index, the log,
statistics of columns, versions of rows that no transaction sees."""

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

PATIENCE = 20.0  # seconds that are waited for readers of what was there before
_PAUSE = 1.0  # seconds between two tries


def overwrite(database: Database, changed: Sequence[type[Table]], patience: float = PATIENCE) -> None:
    """Leave nothing of rows that these tables no longer hold in the files of the database.

    On SQLite the words of these tables are indexed anew, the file is written anew and its log is cut, and so is the
    file of exports; on Postgres the tables are written anew. Raises `InUse` where readers of what was there before do
    not end in time, `TimedOut`, `Unavailable`: then it can be repeated.
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
    # The whole file went through the log: one that was cut is shorter, whatever others have written since.
    if log is not None and log >= size:
        raise InUse("a reader keeps the log of the database from being cut")


@contextmanager
def _unhurried(database: Any) -> Iterator[None]:
    """Let the statements on SQLite take their time; on Postgres `rewrite` does."""
    if database.dialect != "sqlite":
        yield
        return
    limit, database.statement_timeout = database.statement_timeout, inf
    try:
        yield
    finally:
        database.statement_timeout = limit
