"""Commitments for the personal columns of audit rows, so that they can be erased and the chain stays verifiable.

Each row gets a salt. The old seals stay; each gets a second head, over the same rows with commitments. So the whole
chain is verified first, with the keys of the instance. A batch that differs from its seal stops the migration, unless
the operator accepts it.
"""

import hmac

import orjson
from playhouse.migrations import MigrationError

from models import ddl

PUBLIC = ("seq, id, tenant_id, time, principal, role, action, resource, resource_id, result, reason, rule, "
          "policy_version, count")
PERSONAL = "address, request_id, facts"
# Position of each column of format 1 in PUBLIC and PERSONAL.
IN_THE_CLEAR = (0, 1, 2, 3, 4, 5, 6, 7, 8, 14, 9, 10, 11, 12, 15, 13, 16)

SQLITE = (
    "DROP TRIGGER audit_keeps_rows",
    "UPDATE audit SET salt = randomblob(16)",
    """
    CREATE TRIGGER audit_keeps_rows BEFORE UPDATE ON audit
    WHEN NOT (
        OLD.commitment IS NULL AND NEW.commitment IS NOT NULL AND NEW.salt IS NULL AND NEW.address IS NULL
        AND NEW.request_id IS NULL AND NEW.facts IS NULL
        AND (NEW.seq, NEW.id, NEW.tenant_id, NEW.time, NEW.principal, NEW.role, NEW.action, NEW.resource, NEW.result,
             NEW.count) IS (OLD.seq, OLD.id, OLD.tenant_id, OLD.time, OLD.principal, OLD.role, OLD.action,
                            OLD.resource, OLD.result, OLD.count)
        AND (NEW.resource_id, NEW.reason, NEW.rule, NEW.policy_version)
            IS (OLD.resource_id, OLD.reason, OLD.rule, OLD.policy_version)
    )
    BEGIN SELECT RAISE(ABORT, 'audit rows are never changed'); END
    """,
    "DROP TRIGGER audit_seals_keep_rows",
    "DROP TRIGGER audit_seals_stay",
)
SQLITE_AFTER = (
    """
    CREATE TRIGGER audit_seals_keep_rows BEFORE UPDATE ON audit_seals
    BEGIN SELECT RAISE(ABORT, 'audit seals are never changed'); END
    """,
    """
    CREATE TRIGGER audit_seals_outlive_rows BEFORE DELETE ON audit_seals
    WHEN (OLD.created_at < (SELECT before FROM audit_retention)) IS NOT TRUE
        OR EXISTS (SELECT 1 FROM audit WHERE seq <= OLD.last_seq)
    BEGIN SELECT RAISE(ABORT, 'audit seals within retention are never deleted'); END
    """,
)
POSTGRES = (
    "ALTER TABLE audit DISABLE TRIGGER audit_keeps_rows",
    "UPDATE audit SET salt = uuid_send(gen_random_uuid())",
    # Constraints deferred to the end of the transaction block ALTER TABLE.
    "SET CONSTRAINTS ALL IMMEDIATE",
    "ALTER TABLE audit ENABLE TRIGGER audit_keeps_rows",
    "ALTER TABLE audit_seals DISABLE TRIGGER audit_seals_keep_rows",
)
POSTGRES_AFTER = (
    "SET CONSTRAINTS ALL IMMEDIATE",
    "ALTER TABLE audit_seals ENABLE TRIGGER audit_seals_keep_rows",
    """
    CREATE OR REPLACE FUNCTION audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        -- One condition inside the other: the two tables have other columns.
        IF TG_TABLE_NAME = 'audit' AND TG_OP = 'DELETE' THEN
            IF OLD.time < (SELECT before FROM audit_retention) THEN
                RETURN OLD;
            END IF;
        ELSIF TG_TABLE_NAME = 'audit' THEN
            IF OLD.commitment IS NULL AND NEW.commitment IS NOT NULL AND NEW.salt IS NULL AND NEW.address IS NULL
                AND NEW.request_id IS NULL AND NEW.facts IS NULL
                AND (NEW.seq, NEW.id, NEW.tenant_id, NEW.time, NEW.principal, NEW.role, NEW.action, NEW.resource,
                     NEW.resource_id, NEW.result, NEW.reason, NEW.rule, NEW.policy_version, NEW.count)
                    IS NOT DISTINCT FROM
                    (OLD.seq, OLD.id, OLD.tenant_id, OLD.time, OLD.principal, OLD.role, OLD.action, OLD.resource,
                     OLD.resource_id, OLD.result, OLD.reason, OLD.rule, OLD.policy_version, OLD.count)
            THEN
                RETURN NEW;
            END IF;
        ELSIF TG_OP = 'DELETE' THEN
            IF OLD.created_at < (SELECT before FROM audit_retention)
                AND NOT EXISTS (SELECT 1 FROM audit WHERE seq <= OLD.last_seq) THEN
                RETURN OLD;
            END IF;
        END IF;
        RAISE EXCEPTION '% on % is refused: the audit trail is append-only', TG_OP, TG_TABLE_NAME;
    END $$
    """,
)


def up(migrator, db):
    sqlite = db.dialect == "sqlite"
    ddl.run(
        db,
        "ALTER TABLE audit ADD COLUMN salt {blob}",
        "ALTER TABLE audit ADD COLUMN commitment TEXT",
        "ALTER TABLE audit_seals ADD COLUMN form INTEGER NOT NULL DEFAULT 1",
        "ALTER TABLE audit_seals ADD COLUMN committed TEXT",
        *(SQLITE if sqlite else POSTGRES),
    )
    _commit(db)
    ddl.run(db, *(SQLITE_AFTER if sqlite else POSTGRES_AFTER))


def _commit(db):
    """Verifies each seal that has rows, and signs the same rows with commitments."""
    mark, after = "?" if db.dialect == "sqlite" else "%s", 0
    seals = list(db.execute_sql("SELECT seq, last_seq, rows, previous, head FROM audit_seals ORDER BY seq"))
    if seals and db.sealer is None:
        raise MigrationError("the audit trail has seals, which only the keys of the instance can prove")
    for number, last, count, previous, head in seals:
        rows = list(db.execute_sql(
            f"SELECT {PUBLIC}, {PERSONAL}, salt FROM audit WHERE seq > {mark} AND seq <= {mark} ORDER BY seq",
            (after, last)))
        if rows and len(rows) == count and db.sealer.prove(_content(previous, map(_in_the_clear, rows)), head):
            signed = db.sealer.sign(_content(head, map(_committed, rows)))
            db.execute_sql(f"UPDATE audit_seals SET committed = {mark} WHERE seq = {mark}", (signed, number))
        elif rows and not db.sealer.lenient:
            raise MigrationError(
                f"The audit trail is not what was sealed: rows {after + 1} to {last} (seal {number}). Nothing was "
                "changed. Bring back what was sealed; or, where that is not to be had, or its key was forgotten, leave "
                "such rows unproved: gatepost migrate --leave-unproved")
        after = last


def _content(previous, leaves):
    return b"\n".join((previous.encode(), *(orjson.dumps(leaf, default=str) for leaf in leaves)))


def _in_the_clear(row):
    leaf = [row[place] for place in IN_THE_CLEAR]
    return leaf if leaf[-1] is not None else leaf[:-1]


def _committed(row):
    personal = hmac.digest(bytes(row[17]), orjson.dumps(list(row[14:17]), default=str), "sha256").hex()
    return [*row[:14], personal]
