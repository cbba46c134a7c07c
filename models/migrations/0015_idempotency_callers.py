"""Columns that bind a kept response to a session or token with its scopes, and name its row.

Older kept responses have neither, and expire within a day: they are deleted. So a retry after the upgrade of a request
from before it is a new request.
"""

from models import ddl


def up(migrator, db):
    ddl.run(
        db,
        "DROP TABLE idempotency_keys",
        """
        CREATE TABLE idempotency_keys (
            id {id} NOT NULL PRIMARY KEY,
            tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
            version INTEGER NOT NULL,
            created_at {time} NOT NULL,
            updated_at {time} NOT NULL,
            principal {key} NOT NULL,
            credential {key} NOT NULL,
            method {key} NOT NULL,
            path {key} NOT NULL,
            "key" {key} NOT NULL,
            fingerprint {key} NOT NULL,
            status INTEGER,
            headers TEXT,
            body {blob},
            collection {key},
            row_id {id},
            guarded TEXT NOT NULL,
            expires_at {time} NOT NULL,
            UNIQUE (tenant_id, principal, credential, method, path, "key")
        ) {strict}
        """,
        "CREATE INDEX idempotency_keys_end ON idempotency_keys (expires_at)",
    )
