"""Migrations that allow older code to serve beside them, and the prepared next signing key of a node."""

from models import ddl


def up(migrator, db):
    ddl.run(
        db,
        """
        CREATE TABLE rolling_migrations (
            history {key} NOT NULL,
            migration {key} NOT NULL,
            PRIMARY KEY (history, migration)
        ) {strict}
        """,
        "ALTER TABLE nodes ADD COLUMN prepared_fingerprint {key}",
    )
