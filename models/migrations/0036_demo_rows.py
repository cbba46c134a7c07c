"""Marks of demo rows, so that they can be removed later."""

from models import ddl

ROLLING = True


def up(migrator, db):
    ddl.run(
        db,
        """
        CREATE TABLE demo_rows (
            tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
            kind {key} NOT NULL,
            id {id} NOT NULL,
            version INTEGER NOT NULL,
            PRIMARY KEY (tenant_id, kind, id)
        ) {strict}
        """,
    )
