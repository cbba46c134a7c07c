"""Which indexes the tables have, as the migrations make them; they tell what a condition of a policy will cost."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from threading import Lock

from models.base import Record
from models.engine.connect import open_database
from models.engine.errors import RowError
from models.migrate import SHIPPED, upgrade
from models.scratch import scratch

Columns = tuple[str, ...]

log = logging.getLogger("gatepost.indexes")
_reading = Lock()


def made_by(directories: Mapping[str, Path] = SHIPPED) -> Mapping[str, tuple[Columns, ...]]:
    """Table name → the columns of each of its indexes, in order; nothing where no temporary file can be written.

    Read off an empty database that the migrations have just made: so it is true, and needs no instance. Where those of
    a plugin fail there, the indexes of the shipped tables alone are known.
    """
    try:
        with _reading:
            return _made_by(tuple(directories.items()))
    except (OSError, RowError) as error:
        log.warning("conditions are not compared with indexes: no temporary database can be made: %s", error)
        return {}


@cache
def leading(model: type[Record]) -> frozenset[str]:
    """The columns with which an index of the table begins, after the tenant's: by them a list is cheap."""
    found = (index.columns for index in model._meta.database.get_indexes(model._meta.table_name))
    return frozenset(next((name for name in columns if name != "tenant_id"), "") for columns in found)


@cache
def unique(model: type[Record]) -> frozenset[str]:
    """Columns of which a unique index begins with each, after the tenant's; without `id`."""
    found = (index.columns for index in model._meta.database.get_indexes(model._meta.table_name) if index.unique)
    return frozenset(next((name for name in columns if name != "tenant_id"), "") for columns in found) - {"", "id"}


@cache
def _made_by(directories: tuple[tuple[str, Path], ...]) -> Mapping[str, tuple[Columns, ...]]:
    ours = tuple(SHIPPED.items())
    with scratch() as folder:
        database = open_database(f"sqlite:///{folder / 'empty.db'}", pool_size=1, synchronous="normal")
        try:
            upgrade(database, dict(directories))
            with database.connected():
                return {table: tuple(tuple(index.columns) for index in database.get_indexes(table))
                        for table in database.get_tables()}
        except Exception as error:  # whatever code of a plugin raises
            if directories == ours:
                raise
            log.warning("conditions of plugins are not compared with indexes: a migration fails on an empty database: "
                        "%s", error)
        finally:
            database.close_all()
    return _made_by(ours)
