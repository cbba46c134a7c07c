"""The audit log, which the database protects from changes, and its seals.

Rows may be added. UPDATE is refused. So is DELETE, unless the row is older than `audit_retention` allows.
"""

from models import ddl

TABLES = (
    """
    CREATE TABLE audit (
        seq {serial},
        id {id} NOT NULL UNIQUE,
        tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT,
        time {time} NOT NULL,
        principal {key} NOT NULL,
        role {key} NOT NULL,
        action {key} NOT NULL,
        resource {key} NOT NULL,
        resource_id {id},
        address {key},
        result {key} NOT NULL,
        reason TEXT,
        rule TEXT,
        policy_version {key},
        request_id {key},
        count INTEGER NOT NULL CHECK (count > 0)
    ) {strict}
    """,
    """
    CREATE TABLE audit_seals (
        seq {serial},
        first_seq {money} NOT NULL,
        last_seq {money} NOT NULL UNIQUE,
        rows INTEGER NOT NULL,
        previous TEXT NOT NULL UNIQUE,
        head TEXT NOT NULL,
        created_at {time} NOT NULL
    ) {strict}
    """,
    """
    CREATE TABLE audit_retention (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        before {time} NOT NULL
    ) {strict}
    """,
    "INSERT INTO audit_retention (id, before) VALUES (1, '2000-01-01T00:00:00.000000Z')",
)

INDEXES = (
    "CREATE INDEX audit_time ON audit (tenant_id, time, id)",
    "CREATE INDEX audit_principal ON audit (tenant_id, principal, time, id)",
    "CREATE INDEX audit_action ON audit (tenant_id, action, time, id)",
    "CREATE INDEX audit_result ON audit (tenant_id, result, time, id)",
    "CREATE INDEX audit_object ON audit (tenant_id, resource_id, time, id)",
)

SQLITE_TRIGGERS = (
    """
    CREATE TRIGGER audit_keeps_rows BEFORE UPDATE ON audit
    BEGIN SELECT RAISE(ABORT, 'audit rows are never changed'); END
    """,
    """
    CREATE TRIGGER audit_outlives_retention BEFORE DELETE ON audit
    WHEN (OLD.time < (SELECT before FROM audit_retention)) IS NOT TRUE
    BEGIN SELECT RAISE(ABORT, 'audit rows within retention are never deleted'); END
    """,
    """
    CREATE TRIGGER audit_seals_keep_rows BEFORE UPDATE ON audit_seals
    BEGIN SELECT RAISE(ABORT, 'audit seals are never changed'); END
    """,
    """
    CREATE TRIGGER audit_seals_stay BEFORE DELETE ON audit_seals
    BEGIN SELECT RAISE(ABORT, 'audit seals are never deleted'); END
    """,
)

POSTGRES_TRIGGERS = (
    """
    CREATE FUNCTION audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        -- One condition inside the other: seals have no column "time".
        IF TG_TABLE_NAME = 'audit' AND TG_OP = 'DELETE' THEN
            IF OLD.time < (SELECT before FROM audit_retention) THEN
                RETURN OLD;
            END IF;
        END IF;
        RAISE EXCEPTION '% on % is refused: the audit trail is append-only', TG_OP, TG_TABLE_NAME;
    END $$
    """,
    """
    CREATE TRIGGER audit_keeps_rows BEFORE UPDATE OR DELETE ON audit
    FOR EACH ROW EXECUTE FUNCTION audit_refuse()
    """,
    """
    CREATE TRIGGER audit_seals_keep_rows BEFORE UPDATE OR DELETE ON audit_seals
    FOR EACH ROW EXECUTE FUNCTION audit_refuse()
    """,
    """
    CREATE FUNCTION audit_refuse_all() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'TRUNCATE on % is refused: the audit trail is append-only', TG_TABLE_NAME;
    END $$
    """,
    "CREATE TRIGGER audit_stays BEFORE TRUNCATE ON audit EXECUTE FUNCTION audit_refuse_all()",
    "CREATE TRIGGER audit_seals_stay BEFORE TRUNCATE ON audit_seals EXECUTE FUNCTION audit_refuse_all()",
)


def up(migrator, db):
    ddl.run(db, *TABLES, *INDEXES, *(SQLITE_TRIGGERS if db.dialect == "sqlite" else POSTGRES_TRIGGERS))
