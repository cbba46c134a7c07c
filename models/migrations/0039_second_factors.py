"""Tables of second factors, and of logins that wait for a code."""

from models import ddl

ROLLING = True


def up(migrator, db):
    ddl.run(
        db,
        """
        CREATE TABLE second_factors (
            id {id} NOT NULL PRIMARY KEY,
            tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
            version INTEGER NOT NULL,
            created_at {time} NOT NULL,
            updated_at {time} NOT NULL,
            owner_id {id} NOT NULL,
            secret TEXT NOT NULL,
            confirmed_at {time},
            last_step INTEGER NOT NULL,
            failures INTEGER NOT NULL,
            recovery_codes TEXT NOT NULL,
            CONSTRAINT second_factors_owner UNIQUE (tenant_id, owner_id),
            FOREIGN KEY (tenant_id, owner_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
        ) {strict}
        """,
        """
        CREATE TABLE login_challenges (
            id {id} NOT NULL PRIMARY KEY,
            tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
            version INTEGER NOT NULL,
            created_at {time} NOT NULL,
            updated_at {time} NOT NULL,
            owner_id {id} NOT NULL,
            token_hash {key} NOT NULL CONSTRAINT login_challenges_token UNIQUE,
            user_version INTEGER NOT NULL,
            tries INTEGER NOT NULL,
            login TEXT,
            expires_at {time} NOT NULL,
            FOREIGN KEY (tenant_id, owner_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
        ) {strict}
        """,
        "CREATE INDEX login_challenges_owner ON login_challenges (tenant_id, owner_id)",
        "CREATE INDEX login_challenges_expiry ON login_challenges (expires_at)")
