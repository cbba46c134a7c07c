"""The table of records."""

from typing import Any

from gatepost import Database, ddl


def up(migrator: Any, db: Database) -> None:
    ddl.run(db, """
        CREATE TABLE records (
            id {id} NOT NULL PRIMARY KEY,
            tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
            version INTEGER NOT NULL,
            created_at {time} NOT NULL,
            updated_at {time} NOT NULL,
            owner_id {id} REFERENCES users (id) ON DELETE RESTRICT,
            department {key},
            status {key} NOT NULL
        ) {strict}
        """,
        "CREATE INDEX records_created ON records (tenant_id, created_at, id)",
        "CREATE INDEX records_owner ON records (tenant_id, owner_id, created_at, id)")
