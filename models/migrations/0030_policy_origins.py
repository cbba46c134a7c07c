"""Who asked for a policy over HTTP, until the audit log tells it: then the column is null again."""

from models import ddl

ROLLING = True


def up(migrator, db):
    ddl.run(db, "ALTER TABLE policy_versions ADD COLUMN origin TEXT")
