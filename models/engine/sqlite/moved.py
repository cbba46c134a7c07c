"""Triggers that make a SQLite database read-only after its rows were moved to another database.

They are part of the file, so every process and every program is refused, also one that has the file open. Other
databases have none of them, and their writes cost nothing extra.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from models.engine.errors import Moved

if TYPE_CHECKING:
    from models.engine.database import Database

_MARK = "gatepost_moved_"  # start of the name of each of these triggers
_TABLES = ("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT GLOB 'sqlite_*' "
           "ORDER BY name")
_TRIGGERS = f"SELECT name, sql FROM main.sqlite_schema WHERE type = 'trigger' AND name GLOB '{_MARK}*' ORDER BY name"
_PLACE = re.compile(f"'{Moved.BEGINNING}(.*)'\\)", re.DOTALL)


def close(database: Database, place: str) -> None:
    """Refuses every write from now on. Needs a transaction. `place`: of the moved rows."""
    reopen(database)
    sentence = (Moved.BEGINNING + place).replace("'", "''")
    for table, in database.query(_TABLES):
        for event in ("INSERT", "UPDATE", "DELETE"):
            database.query(f'CREATE TRIGGER "{_MARK}{table}_{event.lower()}" BEFORE {event} ON main."{table}" '
                           f"BEGIN SELECT RAISE(ABORT, '{sentence}'); END")


def reopen(database: Database) -> None:
    """Accepts writes again. Needs a transaction."""
    for name, _ in database.query(_TRIGGERS):
        database.query(f'DROP TRIGGER main."{name}"')


def place(database: Database) -> str | None:
    """Returns the place that the rows were moved to, or None. The database is connected."""
    triggers = database.query(f"{_TRIGGERS} LIMIT 1")
    match = _PLACE.search(triggers[0][1]) if triggers else None
    return match[1].replace("''", "'") if match else None
