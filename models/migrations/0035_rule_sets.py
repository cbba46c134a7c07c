"""Column for the rule set that an instance began with; null: the full set, which older instances have."""

from models import ddl

ROLLING = True


def up(migrator, db):
    ddl.run(db, "ALTER TABLE instance ADD COLUMN rules {key}")
