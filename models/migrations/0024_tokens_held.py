"""Column for the hash of a service token that a restore has suspended, until an operator re-enables it."""

from models import ddl


def up(migrator, db):
    ddl.run(db, "ALTER TABLE service_tokens ADD COLUMN held_hash TEXT")
