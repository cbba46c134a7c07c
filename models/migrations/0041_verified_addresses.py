"""Verified e-mail addresses of users, and links with which a user verifies one.

A user can have a mailed password link beside one that an administrator passes on, which has its maker. Older code would
leave the time of the verification when it changes an address. So it may not serve beside this.
"""

from models import ddl


def up(migrator, db):
    ddl.run(
        db,
        "ALTER TABLE users ADD COLUMN email_verified_at {time}",
        """
        CREATE TABLE email_verifications (
            id {id} NOT NULL PRIMARY KEY,
            tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
            version INTEGER NOT NULL,
            created_at {time} NOT NULL,
            updated_at {time} NOT NULL,
            owner_id {id} NOT NULL,
            email {key} NOT NULL,
            token_hash {key} NOT NULL CONSTRAINT email_verifications_token UNIQUE,
            expires_at {time} NOT NULL,
            CONSTRAINT email_verifications_owner UNIQUE (tenant_id, owner_id),
            FOREIGN KEY (tenant_id, owner_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
        ) {strict}
        """,
        "CREATE INDEX email_verifications_expiry ON email_verifications (expires_at)",
        # SQLite cannot change a constraint. Both databases take this way.
        """
        CREATE TABLE links_of_passwords (
            id {id} NOT NULL PRIMARY KEY,
            tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
            version INTEGER NOT NULL,
            created_at {time} NOT NULL,
            updated_at {time} NOT NULL,
            owner_id {id} NOT NULL,
            token_hash {key} NOT NULL CONSTRAINT password_links_hash UNIQUE,
            user_version INTEGER NOT NULL,
            expires_at {time} NOT NULL,
            mailed {bool} NOT NULL,
            maker_id {id},
            CONSTRAINT password_links_each UNIQUE (tenant_id, owner_id, mailed),
            FOREIGN KEY (tenant_id, owner_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
        ) {strict}
        """,
        """
        INSERT INTO links_of_passwords
        SELECT id, tenant_id, version, created_at, updated_at, owner_id, token_hash, user_version, expires_at, {false},
               NULL
        FROM password_links
        """,
        "DROP TABLE password_links",
        "ALTER TABLE links_of_passwords RENAME TO password_links",
        "CREATE INDEX password_links_expiry ON password_links (expires_at)")
