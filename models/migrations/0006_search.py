"""Words of articles, comments, pages and products, for full-text search (see models/search.py)."""

from models import ddl

INDEXED = {
    "articles": ("title", "body"),
    "comments": ("body",),
    "pages": ("title", "body"),
    "products": ("name", "description"),
}

# External content: only the words are stored twice, not the texts. Rows are identified by rowid. VACUUM keeps it, since
# each table has further indexes.
SQLITE = (
    """
    CREATE VIRTUAL TABLE {table}_search USING fts5(
        {columns}, content='{table}', columnsize=0, tokenize='unicode61 remove_diacritics 0')
    """,
    # Bytes of words that FTS5 collects before it writes them: loads write longer segments.
    "INSERT INTO {table}_search ({table}_search, rank) VALUES ('hashsize', 8388608)",
    "INSERT INTO {table}_search ({table}_search) VALUES ('rebuild')",
    """
    CREATE TRIGGER {table}_search_insert AFTER INSERT ON {table} BEGIN
        INSERT INTO {table}_search (rowid, {columns}) VALUES (NEW.rowid, {new});
    END
    """,
    """
    CREATE TRIGGER {table}_search_update AFTER UPDATE OF {columns} ON {table} BEGIN
        INSERT INTO {table}_search ({table}_search, rowid, {columns}) VALUES ('delete', OLD.rowid, {old});
        INSERT INTO {table}_search (rowid, {columns}) VALUES (NEW.rowid, {new});
    END
    """,
    """
    CREATE TRIGGER {table}_search_delete AFTER DELETE ON {table} BEGIN
        INSERT INTO {table}_search ({table}_search, rowid, {columns}) VALUES ('delete', OLD.rowid, {old});
    END
    """,
)
# Postgres parses `a/b.html`, `x@example.org` and `-1.5` as one word each. Without these signs it sees the same words as
# SQLite.
POSTGRES = (
    """
    ALTER TABLE {table} ADD COLUMN search tsvector GENERATED ALWAYS AS (to_tsvector('simple', translate(
        {text}, '-+./@_<&~', '         '))) STORED
    """,
    "CREATE INDEX {table}_search ON {table} USING gin (search)",
)


def up(migrator, db):
    for table, columns in INDEXED.items():
        names = {
            "table": table,
            "columns": ", ".join(columns),
            "new": ", ".join(f"NEW.{name}" for name in columns),
            "old": ", ".join(f"OLD.{name}" for name in columns),
            "text": " || ' ' || ".join(f"coalesce({name}, '')" for name in columns),
        }
        for statement in SQLITE if db.dialect == "sqlite" else POSTGRES:
            ddl.run(db, statement.format(**names))
