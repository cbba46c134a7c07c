"""Column for what is known of a login that waits for a code."""

from models import ddl

ROLLING = True


def up(migrator, db):
    ddl.run(db, "ALTER TABLE login_challenges ADD COLUMN login TEXT")
