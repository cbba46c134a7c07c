"""Service tokens that a restore holds until an operator confirms them: the hash stands here meanwhile."""

from models import ddl


def up(migrator, db):
    ddl.run(db, "ALTER TABLE service_tokens ADD COLUMN held_hash TEXT")
