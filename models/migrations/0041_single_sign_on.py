"""Tables of single sign-on: identities of users, and messages of a provider that count once."""

from models import ddl

ROLLING = True


def up(migrator, db):
    ddl.run(
        db,
        """
        CREATE TABLE identities (
            id {id} NOT NULL PRIMARY KEY,
            tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
            version INTEGER NOT NULL,
            created_at {time} NOT NULL,
            updated_at {time} NOT NULL,
            owner_id {id} NOT NULL,
            issuer {key} NOT NULL,
            subject {key} NOT NULL,
            last_used_at {time},
            CONSTRAINT identities_subject UNIQUE (issuer, subject),
            FOREIGN KEY (tenant_id, owner_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
        ) {strict}
        """,
        "CREATE INDEX identities_owner ON identities (tenant_id, owner_id)",
        """
        CREATE TABLE provider_messages (
            id {id} NOT NULL PRIMARY KEY,
            tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
            version INTEGER NOT NULL,
            created_at {time} NOT NULL,
            updated_at {time} NOT NULL,
            owner_id {id},
            issuer {key} NOT NULL,
            hash {key} NOT NULL CONSTRAINT provider_messages_hash UNIQUE,
            flow_hash {key} CONSTRAINT provider_messages_flow UNIQUE,
            sid {key},
            reused {bool} NOT NULL,
            expires_at {time} NOT NULL
        ) {strict}
        """,
        "CREATE INDEX provider_messages_sid ON provider_messages (issuer, sid)",
        "CREATE INDEX provider_messages_owner ON provider_messages (owner_id)",
        "CREATE INDEX provider_messages_expiry ON provider_messages (expires_at)")
