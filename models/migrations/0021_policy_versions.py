"""The policy history: every policy that was in force, with its files, protected from changes by the database.

Rows may be added, and their changes filled in once. A row may be deleted when its policy was replaced before the
retention of the audit log begins.
"""

from models import ddl

TABLE = (
    """
    CREATE TABLE policy_versions (
        seq {serial},
        id {id} NOT NULL UNIQUE,
        version {key} NOT NULL,
        applied_at {time} NOT NULL,
        cause {key} NOT NULL,
        author {key} NOT NULL,
        note TEXT,
        late {bool} NOT NULL,
        files TEXT NOT NULL,
        packaged TEXT NOT NULL,
        changes TEXT
    ) {strict}
    """,
    "CREATE INDEX policy_versions_time ON policy_versions (applied_at, seq)",
    "CREATE INDEX policy_versions_version ON policy_versions (version)",
    # All tenants share one history. This view shows it as pages of a tenant.
    """
    CREATE VIEW policy_history AS
    SELECT tenants.id AS tenant_id, one.id AS id, one.version AS version, one.applied_at AS applied_at,
           one.cause AS cause, one.author AS "by", one.note AS note, one.late AS late, one.changes AS changes
    FROM policy_versions AS one CROSS JOIN tenants
    """,
)
SQLITE = (
    """
    CREATE TRIGGER policy_versions_keep_rows BEFORE UPDATE ON policy_versions
    WHEN NOT (
        OLD.changes IS NULL
        AND (NEW.seq, NEW.id, NEW.version, NEW.applied_at, NEW.cause, NEW.author, NEW.late, NEW.files, NEW.packaged)
            IS (OLD.seq, OLD.id, OLD.version, OLD.applied_at, OLD.cause, OLD.author, OLD.late, OLD.files, OLD.packaged)
        AND NEW.note IS OLD.note
    )
    BEGIN SELECT RAISE(ABORT, 'policy versions are never changed'); END
    """,
    """
    CREATE TRIGGER policy_versions_outlive_retention BEFORE DELETE ON policy_versions
    WHEN NOT EXISTS (
        SELECT 1 FROM policy_versions AS later
        WHERE later.applied_at > OLD.applied_at AND later.applied_at < (SELECT before FROM audit_retention))
    BEGIN SELECT RAISE(ABORT, 'policy versions within retention are never deleted'); END
    """,
)
POSTGRES = (
    """
    CREATE FUNCTION policy_versions_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'DELETE' THEN
            IF EXISTS (SELECT 1 FROM policy_versions AS later WHERE later.applied_at > OLD.applied_at
                       AND later.applied_at < (SELECT before FROM audit_retention)) THEN
                RETURN OLD;
            END IF;
        ELSIF TG_OP = 'UPDATE' THEN
            IF OLD.changes IS NULL AND (NEW.seq, NEW.id, NEW.version, NEW.applied_at, NEW.cause, NEW.author, NEW.late,
                                        NEW.files, NEW.packaged, NEW.note) IS NOT DISTINCT FROM
                (OLD.seq, OLD.id, OLD.version, OLD.applied_at, OLD.cause, OLD.author, OLD.late, OLD.files, OLD.packaged,
                 OLD.note) THEN
                RETURN NEW;
            END IF;
        END IF;
        RAISE EXCEPTION '% on % is refused: the ledger is append-only', TG_OP, TG_TABLE_NAME;
    END $$
    """,
    """
    CREATE TRIGGER policy_versions_keep_rows BEFORE UPDATE OR DELETE ON policy_versions
    FOR EACH ROW EXECUTE FUNCTION policy_versions_refuse()
    """,
    """
    CREATE TRIGGER policy_versions_stay BEFORE TRUNCATE ON policy_versions
    EXECUTE FUNCTION policy_versions_refuse()
    """,
)


def up(migrator, db):
    ddl.run(db, *TABLE, *(SQLITE if db.dialect == "sqlite" else POSTGRES))
