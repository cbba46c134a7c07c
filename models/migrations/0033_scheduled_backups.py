"""Tell backups of the schedule from those that somebody made by a command. What is there counts as the schedule's."""

from models import ddl

ROLLING = True


def up(migrator, db):
    ddl.run(db, "ALTER TABLE backups ADD COLUMN scheduled {bool} NOT NULL DEFAULT {true}")
