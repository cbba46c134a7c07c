"""Column for what features know of the login of a session, as JSON."""

from models import ddl

ROLLING = True


def up(migrator, db):
    ddl.run(db, "ALTER TABLE sessions ADD COLUMN login TEXT")
