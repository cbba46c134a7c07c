"""Messages from visitors, and counts of clients that still use deprecated endpoints."""

from models import ddl

TABLES = (
    """
    CREATE TABLE contact_messages (
        id {id} NOT NULL PRIMARY KEY,
        tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
        version INTEGER NOT NULL,
        created_at {time} NOT NULL,
        updated_at {time} NOT NULL,
        name {key} NOT NULL,
        email {key} NOT NULL,
        subject {key} NOT NULL,
        body TEXT NOT NULL
    ) {strict}
    """,
    """
    CREATE TABLE deprecated_use (
        id {id} NOT NULL PRIMARY KEY,
        tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
        version INTEGER NOT NULL,
        created_at {time} NOT NULL,
        updated_at {time} NOT NULL,
        endpoint {key} NOT NULL,
        client {key} NOT NULL,
        count {money} NOT NULL,
        last_used_at {time} NOT NULL,
        UNIQUE (tenant_id, endpoint, client)
    ) {strict}
    """,
)

INDEXES = (
    "CREATE INDEX contact_messages_created ON contact_messages (tenant_id, created_at, id)",
    "CREATE INDEX contact_messages_updated ON contact_messages (tenant_id, updated_at, id)",
)


def up(migrator, db):
    ddl.run(db, *TABLES, *INDEXES)
