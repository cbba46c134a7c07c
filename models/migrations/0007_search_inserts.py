"""No trigger indexes the words of a new row on SQLite any more: `models/search.py` does, and says why."""

from models import ddl


def up(migrator, db):
    if db.dialect == "sqlite":
        ddl.run(db, *(f"DROP TRIGGER {table}_search_insert" for table in ("articles", "comments", "pages", "products")))
