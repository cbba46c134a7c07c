"""The table of notes."""

from typing import Any

from gatepost import Database, ddl


def up(migrator: Any, db: Database) -> None:
    ddl.run(db, """
        CREATE TABLE notes (
            id {id} NOT NULL PRIMARY KEY,
            tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
            version INTEGER NOT NULL,
            created_at {time} NOT NULL,
            updated_at {time} NOT NULL,
            owner_id {id} REFERENCES users (id) ON DELETE RESTRICT,
            department {key},
            text {key} NOT NULL,
            pinned {bool} NOT NULL,
            status {key} NOT NULL
        ) {strict}
        """,
        "CREATE INDEX notes_created ON notes (tenant_id, created_at, id)",
        "CREATE INDEX notes_updated ON notes (tenant_id, updated_at, id)",
        "CREATE INDEX notes_owner ON notes (tenant_id, owner_id, created_at, id)")
