"""Table of one-time links with which a user chooses a password."""

from models import ddl

ROLLING = True


def up(migrator, db):
    ddl.run(
        db,
        """
        CREATE TABLE password_links (
            id {id} NOT NULL PRIMARY KEY,
            tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
            version INTEGER NOT NULL,
            created_at {time} NOT NULL,
            updated_at {time} NOT NULL,
            owner_id {id} NOT NULL,
            token_hash {key} NOT NULL CONSTRAINT password_links_token UNIQUE,
            user_version INTEGER NOT NULL,
            expires_at {time} NOT NULL,
            CONSTRAINT password_links_owner UNIQUE (tenant_id, owner_id),
            FOREIGN KEY (tenant_id, owner_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
        ) {strict}
        """,
        "CREATE INDEX password_links_expiry ON password_links (expires_at)")
