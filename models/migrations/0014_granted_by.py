"""Column for the user who granted a share, and an index that pages the shares of one object.

Older shares count as granted by the owner: the grantor was not recorded. SQLite can add a reference of two columns only
with a new table.
"""

from models import ddl

SQLITE = (
    """
    CREATE TABLE new_shares (
        id {id} NOT NULL PRIMARY KEY,
        tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
        version INTEGER NOT NULL,
        created_at {time} NOT NULL,
        updated_at {time} NOT NULL,
        resource {key} NOT NULL,
        object_id {id} NOT NULL,
        grantee {key} NOT NULL,
        "right" {key} NOT NULL,
        granted_by {id},
        UNIQUE (tenant_id, resource, object_id, grantee),
        FOREIGN KEY (tenant_id, granted_by) REFERENCES users (tenant_id, id) ON DELETE RESTRICT
    ) {strict}
    """,
    """
    INSERT INTO new_shares (id, tenant_id, version, created_at, updated_at, resource, object_id, grantee, "right")
    SELECT id, tenant_id, version, created_at, updated_at, resource, object_id, grantee, "right"
    FROM shares ORDER BY rowid
    """,
    "DROP TABLE shares",
    "ALTER TABLE new_shares RENAME TO shares",
    """CREATE INDEX shares_grantee ON shares (tenant_id, resource, grantee, "right", object_id)""",
)

POSTGRES = (
    "ALTER TABLE shares ADD COLUMN granted_by {id}",
    """
    ALTER TABLE shares ADD FOREIGN KEY (tenant_id, granted_by)
    REFERENCES users (tenant_id, id) ON DELETE RESTRICT
    """,
)

INDEXES = (
    "CREATE INDEX shares_object ON shares (tenant_id, resource, object_id, created_at, id)",
    "CREATE INDEX shares_granter ON shares (tenant_id, granted_by, resource, object_id) WHERE granted_by IS NOT NULL",
)


def up(migrator, db):
    ddl.run(db, *(SQLITE if db.dialect == "sqlite" else POSTGRES), *INDEXES)
