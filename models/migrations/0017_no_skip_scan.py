"""The statistics of SQLite's tables are made anew, and let no index be skipped through (`SqliteDatabase.analyze`)."""

from models import ddl


def up(migrator, db):
    if db.dialect == "sqlite":
        # A connection that has read them keeps them: servers start afresh after a migration.
        ddl.run(db, "DROP TABLE IF EXISTS sqlite_stat1")
