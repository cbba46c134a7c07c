"""The table of letters."""

from models import ddl


def up(migrator, db):
    ddl.run(db, """
        CREATE TABLE letters (
            id {id} NOT NULL PRIMARY KEY,
            tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
            version INTEGER NOT NULL,
            created_at {time} NOT NULL,
            updated_at {time} NOT NULL,
            text {key} NOT NULL,
            code {key} NOT NULL,
            stars INTEGER NOT NULL,
            remark {key},
            place {key} NOT NULL
        ) {strict}
        """)
