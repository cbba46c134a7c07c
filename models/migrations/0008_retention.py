"""What is thrown away after its time is found by an index: sessions by when they end, messages by when they came.

`expires_at` tells when a session ends also where it was revoked.
"""

from models import ddl


def up(migrator, db):
    ddl.run(
        db,
        "UPDATE sessions SET expires_at = revoked_at WHERE revoked_at < expires_at",
        "DROP INDEX sessions_end",
        # Nobody looks for a session by the hashes of its past.
        "DROP INDEX sessions_previous",
        "CREATE INDEX sessions_end ON sessions (expires_at)",
        "CREATE INDEX sessions_live ON sessions (tenant_id, user_id, expires_at, id)",
        "CREATE INDEX contact_messages_age ON contact_messages (created_at)",
    )
