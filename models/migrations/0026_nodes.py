"""Nodes that are running, and the test cases that a policy in the database has passed."""

from models import ddl

SQLITE = (
    "DROP TRIGGER policy_versions_keep_rows",
    """
    CREATE TRIGGER policy_versions_keep_rows BEFORE UPDATE ON policy_versions
    WHEN NOT (
        OLD.changes IS NULL
        AND (NEW.seq, NEW.id, NEW.version, NEW.applied_at, NEW.cause, NEW.author, NEW.late, NEW.files, NEW.packaged)
            IS (OLD.seq, OLD.id, OLD.version, OLD.applied_at, OLD.cause, OLD.author, OLD.late, OLD.files, OLD.packaged)
        AND (NEW.note, NEW.cases) IS (OLD.note, OLD.cases)
    )
    BEGIN SELECT RAISE(ABORT, 'policy versions are never changed'); END
    """,
)
POSTGRES = (
    """
    CREATE OR REPLACE FUNCTION policy_versions_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'DELETE' THEN
            IF EXISTS (SELECT 1 FROM policy_versions AS later WHERE later.applied_at > OLD.applied_at
                       AND later.applied_at < (SELECT before FROM audit_retention)) THEN
                RETURN OLD;
            END IF;
        ELSIF TG_OP = 'UPDATE' THEN
            IF OLD.changes IS NULL AND (NEW.seq, NEW.id, NEW.version, NEW.applied_at, NEW.cause, NEW.author, NEW.late,
                                        NEW.files, NEW.packaged, NEW.note, NEW.cases) IS NOT DISTINCT FROM
                (OLD.seq, OLD.id, OLD.version, OLD.applied_at, OLD.cause, OLD.author, OLD.late, OLD.files, OLD.packaged,
                 OLD.note, OLD.cases) THEN
                RETURN NEW;
            END IF;
        END IF;
        RAISE EXCEPTION '% on % is refused: the ledger is append-only', TG_OP, TG_TABLE_NAME;
    END $$
    """,
)


def up(migrator, db):
    ddl.run(
        db,
        "ALTER TABLE policy_versions ADD COLUMN cases TEXT",
        "ALTER TABLE instance ADD COLUMN policy_in_database {bool} NOT NULL DEFAULT {false}",
        *(SQLITE if db.dialect == "sqlite" else POSTGRES),
        """
        CREATE TABLE nodes (
            id {id} NOT NULL PRIMARY KEY,
            host {key} NOT NULL,
            folder {key} NOT NULL,
            pid INTEGER NOT NULL,
            version {key} NOT NULL,
            policy_version {key} NOT NULL,
            policy_error TEXT,
            key_fingerprint {key} NOT NULL,
            clock_ahead {real},
            started_at {time} NOT NULL,
            epoch {key} NOT NULL,
            seen {real} NOT NULL
        ) {strict}
        """,
    )
