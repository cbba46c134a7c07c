"""Column for the request that applied a policy. It is null again once the audit log has recorded the request."""

from models import ddl

ROLLING = True


def up(migrator, db):
    ddl.run(db, "ALTER TABLE policy_versions ADD COLUMN origin TEXT")
