"""Indexes for deletion by age: of sessions by their end, of messages by their arrival.

`expires_at` is the end of a session, also of a revoked one.
"""

from models import ddl


def up(migrator, db):
    ddl.run(
        db,
        "UPDATE sessions SET expires_at = revoked_at WHERE revoked_at < expires_at",
        "DROP INDEX sessions_end",
        # No query looks up a session by an earlier hash.
        "DROP INDEX sessions_previous",
        "CREATE INDEX sessions_end ON sessions (expires_at)",
        "CREATE INDEX sessions_live ON sessions (tenant_id, user_id, expires_at, id)",
        "CREATE INDEX contact_messages_age ON contact_messages (created_at)",
    )
