"""Jobs: work that runs after its request has ended."""

from models import ddl

STATEMENTS = (
    """
    CREATE TABLE jobs (
        id {id} NOT NULL PRIMARY KEY,
        tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
        version INTEGER NOT NULL,
        created_at {time} NOT NULL,
        updated_at {time} NOT NULL,
        owner_id {id},
        kind {key} NOT NULL,
        payload TEXT NOT NULL,
        scopes TEXT,
        token_id {id},
        state {key} NOT NULL CONSTRAINT jobs_state
            CHECK (state IN ('waiting', 'running', 'done', 'failed', 'cancelled')),
        progress INTEGER NOT NULL,
        attempts INTEGER NOT NULL,
        max_attempts INTEGER NOT NULL,
        run_at {time} NOT NULL,
        tick {key},
        stopping {bool} NOT NULL,
        steps TEXT NOT NULL,
        lease {key},
        leased_until {real},
        result TEXT,
        last_error TEXT,
        expires_at {time},
        done_at {time},
        CONSTRAINT jobs_tick UNIQUE (tenant_id, kind, tick),
        FOREIGN KEY (tenant_id, owner_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
    ) {strict}
    """,
    """
    CREATE TABLE job_chunks (
        id {id} NOT NULL PRIMARY KEY,
        tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
        version INTEGER NOT NULL,
        created_at {time} NOT NULL,
        updated_at {time} NOT NULL,
        job_id {id} NOT NULL,
        owner_id {id} NOT NULL,
        number INTEGER NOT NULL,
        size INTEGER NOT NULL,
        data {blob} NOT NULL,
        CONSTRAINT job_chunks_number UNIQUE (tenant_id, job_id, number),
        FOREIGN KEY (tenant_id, owner_id) REFERENCES users (tenant_id, id) ON DELETE CASCADE
    ) {strict}
    """,
    "CREATE INDEX job_chunks_owner ON job_chunks (tenant_id, owner_id, size)",
    "CREATE INDEX jobs_created ON jobs (tenant_id, created_at, id)",
    "CREATE INDEX jobs_owner ON jobs (tenant_id, owner_id, created_at, id)",
    "CREATE INDEX jobs_due ON jobs (state, run_at, id)",
    "CREATE INDEX jobs_done ON jobs (done_at) WHERE done_at IS NOT NULL",
)


def up(migrator, db):
    ddl.run(db, *STATEMENTS)
