"""Content of a database, for comparison with a copy: rows by table, migrations, the newest seal."""

from __future__ import annotations

from typing import NamedTuple

from models.engine.database import Database

_TABLES = {
    "sqlite": "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' "
              "AND name NOT GLOB 'sqlite_*' ORDER BY name",
    "postgres": "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema() "
                'ORDER BY tablename COLLATE "C"',
}
_HISTORY = "migrations_"


class Contents(NamedTuple):
    """Content of a database.

    rows        table → number of rows
    migrations  history → applied migrations, in order
    head        of the newest seal of the audit log; None without one
    """

    rows: dict[str, int]
    migrations: dict[str, list[str]]
    head: str | None


def contents(database: Database) -> Contents:
    """Reads the whole connected database, from any version of Gatepost. Raises what a query raises."""
    tables = [name for name, in database.query(_TABLES[database.dialect])]
    main = "main." if database.dialect == "sqlite" else ""  # also rows that a load still hides
    rows = {name: int(database.query(f'SELECT count(*) FROM {main}"{name}"')[0][0]) for name in tables}
    histories = {name.removeprefix(_HISTORY): [str(migration) for migration, in database.query(
        f'SELECT name FROM "{name}" ORDER BY name')] for name in tables if name.startswith(_HISTORY)}
    newest = "SELECT head FROM audit_seals ORDER BY last_seq DESC LIMIT 1"
    seals = database.query(newest) if "audit_seals" in rows else []
    return Contents(rows, histories, seals[0][0] if seals else None)
