"""Indexes of the tables, as the migrations make them. They show how expensive a condition of a policy is."""

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
    """Returns a mapping from table names to the columns of each index, in order. Empty if no temporary file can be
    written.

    Runs the migrations on an empty database and reads its indexes, so it needs no instance. If a plugin's migration
    fails there, only the indexes of the shipped tables are returned.
    """
    try:
        with _reading:
            return _made_by(tuple(directories.items()))
    except (OSError, RowError) as error:
        log.warning("conditions are not compared with indexes: no temporary database can be made: %s", error)
        return {}


@cache
def leading(model: type[Record]) -> frozenset[str]:
    """Returns the first column after the tenant of each index of the table. Lists ordered or filtered by them are
    cheap."""
    orders = (index.columns for index in model._meta.database.get_indexes(model._meta.table_name))
    return frozenset(next((name for name in columns if name != "tenant_id"), "") for columns in orders)


@cache
def unique(model: type[Record]) -> frozenset[str]:
    """Returns the first column after the tenant of each unique index, without `id`."""
    orders = (index.columns for index in model._meta.database.get_indexes(model._meta.table_name) if index.unique)
    return frozenset(next((name for name in columns if name != "tenant_id"), "") for columns in orders) - {"", "id"}


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
        except Exception as error:  # any error of a plugin's code
            if directories == ours:
                raise
            log.warning("conditions of plugins are not compared with indexes: a migration fails on an empty database: "
                        "%s", error)
        finally:
            database.close_all()
    return _made_by(ours)
