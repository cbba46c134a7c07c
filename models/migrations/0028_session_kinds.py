"""Column for the kind of a session: API or console."""

from models import ddl

ROLLING = True


def up(migrator, db):
    ddl.run(db, "ALTER TABLE sessions ADD COLUMN kind {key} NOT NULL DEFAULT 'api'")
