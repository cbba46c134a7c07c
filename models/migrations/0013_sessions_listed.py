"""Columns for the list of sessions: owner, time of the last use, address and device.

Address and device of older sessions are null.
"""

from models import ddl


def up(migrator, db):
    ddl.run(
        db,
        "ALTER TABLE sessions RENAME COLUMN user_id TO owner_id",
        "ALTER TABLE sessions RENAME COLUMN used_at TO last_used_at",
        "ALTER TABLE sessions ADD COLUMN address {key}",
        "ALTER TABLE sessions ADD COLUMN device {key}",
        "UPDATE sessions SET last_used_at = created_at WHERE last_used_at IS NULL",
        "CREATE INDEX sessions_created ON sessions (tenant_id, created_at, id)",
    )
