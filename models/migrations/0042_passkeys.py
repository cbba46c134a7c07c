"""Tables of passkeys, and of challenges that were used."""

from models import ddl

ROLLING = True


def up(migrator, db):
    ddl.run(
        db,
        """
        CREATE TABLE passkeys (
            id {id} NOT NULL PRIMARY KEY,
            tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
            version INTEGER NOT NULL,
            created_at {time} NOT NULL,
            updated_at {time} NOT NULL,
            owner_id {id} NOT NULL,
            name {key} NOT NULL,
            rp_id {key} NOT NULL,
            credential_id {key} NOT NULL CONSTRAINT passkeys_credential UNIQUE,
            public_key {key} NOT NULL,
            sign_count {money} NOT NULL,
            last_used_at {time},
            FOREIGN KEY (tenant_id, owner_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
        ) {strict}
        """,
        "CREATE INDEX passkeys_owner ON passkeys (tenant_id, owner_id, created_at)",
        """
        CREATE TABLE used_challenges (
            id {id} NOT NULL PRIMARY KEY,
            tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
            version INTEGER NOT NULL,
            created_at {time} NOT NULL,
            updated_at {time} NOT NULL,
            hash {key} NOT NULL CONSTRAINT used_challenges_hash UNIQUE,
            expires_at {time} NOT NULL
        ) {strict}
        """,
        "CREATE INDEX used_challenges_expiry ON used_challenges (expires_at)")
