"""The table of notes."""

from typing import Any

from gatepost import Database, ddl


def up(migrator: Any, db: Database) -> None:
    ddl.table(db, "notes", "text {key} NOT NULL", "pinned {bool} NOT NULL", "status {key} NOT NULL")
    ddl.index(db, "notes", "updated_at")
