"""An attacker with write access to the database, who removes the triggers of the audit log for a moment."""

from __future__ import annotations

from typing import Any

from models.engine.database import Database

_TABLES = ("audit", "audit_seals")
_TRIGGERS = "FROM sqlite_schema WHERE type = 'trigger' AND tbl_name IN ('audit', 'audit_seals')"


def query(database: Database, statement: str) -> list[tuple[Any, ...]]:
    with database.connected():
        return database.query(statement)


def disarmed(database: Database, *statements: str) -> None:
    """Runs statements in one transaction while no trigger guards the audit log."""
    if database.dialect == "sqlite":
        before = [f"DROP TRIGGER {name}" for name, in query(database, f"SELECT name {_TRIGGERS}")]
        after = [sql for sql, in query(database, f"SELECT sql {_TRIGGERS}")]
    else:
        before = [f"ALTER TABLE {table} DISABLE TRIGGER USER" for table in _TABLES]
        after = [f"ALTER TABLE {table} ENABLE TRIGGER USER" for table in _TABLES]

    def work() -> None:
        for statement in (*before, *statements, *after):
            database.execute_sql(statement)

    database.transact(work)
