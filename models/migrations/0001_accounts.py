"""Tenants, users and their credentials: sessions, service tokens, shares, kept responses.

Every list is served by an index that starts with the tenant and ends in the id. References include the tenant, so that
not even a bug can connect rows of two tenants. Sessions and tokens are deleted with their user; all other references
restrict the deletion.
"""

from models import ddl

TABLES = (
    """
    CREATE TABLE tenants (
        id {id} NOT NULL PRIMARY KEY,
        name {key} NOT NULL CONSTRAINT tenants_name UNIQUE,
        created_at {time} NOT NULL
    ) {strict}
    """,
    """
    CREATE TABLE users (
        id {id} NOT NULL PRIMARY KEY,
        tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
        version INTEGER NOT NULL,
        created_at {time} NOT NULL,
        updated_at {time} NOT NULL,
        owner_id {id} NOT NULL,
        department {key},
        name {key} NOT NULL,
        email {key} NOT NULL CONSTRAINT users_email UNIQUE,
        password_hash TEXT NOT NULL,
        role {key} NOT NULL,
        groups TEXT NOT NULL,
        active {bool} NOT NULL,
        token_version INTEGER NOT NULL,
        CHECK (owner_id = id),
        UNIQUE (tenant_id, id)
    ) {strict}
    """,
    """
    CREATE TABLE sessions (
        id {id} NOT NULL PRIMARY KEY,
        tenant_id {id} NOT NULL,
        version INTEGER NOT NULL,
        created_at {time} NOT NULL,
        updated_at {time} NOT NULL,
        user_id {id} NOT NULL,
        family {id} NOT NULL,
        token_hash {key} NOT NULL CONSTRAINT sessions_token UNIQUE,
        previous_hash {key},
        used_at {time},
        expires_at {time} NOT NULL,
        absolute_expires_at {time} NOT NULL,
        revoked_at {time},
        FOREIGN KEY (tenant_id, user_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
    ) {strict}
    """,
    """
    CREATE TABLE service_tokens (
        id {id} NOT NULL PRIMARY KEY,
        tenant_id {id} NOT NULL,
        version INTEGER NOT NULL,
        created_at {time} NOT NULL,
        updated_at {time} NOT NULL,
        owner_id {id} NOT NULL,
        department {key},
        name {key} NOT NULL,
        token_hash {key} NOT NULL,
        scopes TEXT NOT NULL,
        expires_at {time},
        last_used_at {time},
        FOREIGN KEY (tenant_id, owner_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
    ) {strict}
    """,
    """
    CREATE TABLE shares (
        id {id} NOT NULL PRIMARY KEY,
        tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
        version INTEGER NOT NULL,
        created_at {time} NOT NULL,
        updated_at {time} NOT NULL,
        resource {key} NOT NULL,
        object_id {id} NOT NULL,
        grantee {key} NOT NULL,
        "right" {key} NOT NULL,
        UNIQUE (tenant_id, resource, object_id, grantee)
    ) {strict}
    """,
    """
    CREATE TABLE idempotency_keys (
        id {id} NOT NULL PRIMARY KEY,
        tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
        version INTEGER NOT NULL,
        created_at {time} NOT NULL,
        updated_at {time} NOT NULL,
        principal {key} NOT NULL,
        method {key} NOT NULL,
        path {key} NOT NULL,
        "key" {key} NOT NULL,
        fingerprint {key} NOT NULL,
        status INTEGER,
        headers TEXT,
        body {blob},
        expires_at {time} NOT NULL,
        UNIQUE (tenant_id, principal, method, path, "key")
    ) {strict}
    """,
)

INDEXES = (
    "CREATE INDEX users_created ON users (tenant_id, created_at, id)",
    "CREATE INDEX users_updated ON users (tenant_id, updated_at, id)",
    "CREATE INDEX users_name ON users (tenant_id, name, id)",
    "CREATE INDEX users_tenant_email ON users (tenant_id, email, id)",
    "CREATE INDEX users_owner ON users (tenant_id, owner_id, created_at, id)",
    "CREATE INDEX users_role ON users (tenant_id, role, created_at DESC, id DESC)",
    "CREATE INDEX users_department ON users (tenant_id, department, created_at, id)",
    "CREATE INDEX sessions_user ON sessions (tenant_id, user_id, created_at, id)",
    "CREATE INDEX sessions_family ON sessions (tenant_id, family)",
    "CREATE INDEX sessions_previous ON sessions (previous_hash)",
    "CREATE INDEX sessions_end ON sessions (absolute_expires_at)",
    "CREATE INDEX service_tokens_created ON service_tokens (tenant_id, created_at, id)",
    "CREATE INDEX service_tokens_owner ON service_tokens (tenant_id, owner_id, created_at, id)",
    """CREATE INDEX shares_grantee ON shares (tenant_id, resource, grantee, "right", object_id)""",
    "CREATE INDEX idempotency_keys_end ON idempotency_keys (expires_at)",
)


def up(migrator, db):
    ddl.run(db, *TABLES, *INDEXES)
