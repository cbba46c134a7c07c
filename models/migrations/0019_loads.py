"""Loads: an import stores its rows in short transactions, and hides them by its number until the last one (SQLite)."""

from models import ddl

TABLES = ("articles", "categories", "comments", "jobs", "pages", "products", "users")


def up(migrator, db):
    if db.dialect != "sqlite":
        return
    ddl.run(
        db,
        """
        CREATE TABLE loads (
            number INTEGER NOT NULL PRIMARY KEY,
            tenant_id {id} NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
            name {key} NOT NULL,
            tables TEXT NOT NULL,
            state {key} NOT NULL CONSTRAINT loads_state CHECK (state IN ('open', 'closed')),
            created_at {time} NOT NULL
        ) {strict}
        """,
    )
    for table in TABLES:
        ddl.loadable(db, table)
