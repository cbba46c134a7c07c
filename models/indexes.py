"""Which indexes the tables have, as the migrations make them; they tell what a condition of a policy will cost."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from models.engine.connect import open_database
from models.migrate import upgrade

Columns = tuple[str, ...]


@cache
def shipped() -> Mapping[str, tuple[Columns, ...]]:
    """Table name → the columns of each of its indexes, in order.

    Read off an empty database that the migrations have just made: so it is true, and needs no instance.
    """
    with TemporaryDirectory() as folder:
        database = open_database(f"sqlite:///{Path(folder) / 'empty.db'}", pool_size=1, synchronous="normal")
        upgrade(database)
        with database.connected():
            found = {table: tuple(tuple(index.columns) for index in database.get_indexes(table))
                     for table in database.get_tables()}
        database.close_all()
    return found
