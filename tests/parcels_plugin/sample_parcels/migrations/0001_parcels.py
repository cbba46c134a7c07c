"""The table of parcels."""

from typing import Any

from gatepost import Database, ddl


def up(migrator: Any, db: Database) -> None:
    ddl.run(db, """
        CREATE TABLE parcels (
            id {id} NOT NULL PRIMARY KEY,
            tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
            version INTEGER NOT NULL,
            created_at {time} NOT NULL,
            updated_at {time} NOT NULL,
            owner_id {id} REFERENCES users (id) ON DELETE RESTRICT,
            department {key},
            order_id {id},
            grams INTEGER NOT NULL,
            carrier {key} NOT NULL,
            status {key} NOT NULL
        ) {strict}
        """,
        "CREATE INDEX parcels_created ON parcels (tenant_id, created_at, id)",
        "CREATE INDEX parcels_owner ON parcels (tenant_id, owner_id, created_at, id)")
