"""Rebuild SQLite's statistics so that the planner never uses a skip-scan (`SqliteDatabase.analyze`)."""

from models import ddl


def up(migrator, db):
    if db.dialect == "sqlite":
        # A connection keeps the statistics that it has read, but servers restart after a migration.
        ddl.run(db, "DROP TABLE IF EXISTS sqlite_stat1")
