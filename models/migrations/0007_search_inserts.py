"""Remove the triggers that index the words of new rows on SQLite: `models/search.py` does this, and says why."""

from models import ddl


def up(migrator, db):
    if db.dialect == "sqlite":
        ddl.run(db, *(f"DROP TRIGGER {table}_search_insert" for table in ("articles", "comments", "pages", "products")))
