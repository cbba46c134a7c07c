"""Column for scheduled backups, to tell them from those of a command. Existing backups count as scheduled."""

from models import ddl

ROLLING = True


def up(migrator, db):
    ddl.run(db, "ALTER TABLE backups ADD COLUMN scheduled {bool} NOT NULL DEFAULT {true}")
