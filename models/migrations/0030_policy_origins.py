"""Add the column for the request that applied a policy, until the audit log has it: then it is null again."""

from models import ddl

ROLLING = True


def up(migrator, db):
    ddl.run(db, "ALTER TABLE policy_versions ADD COLUMN origin TEXT")
