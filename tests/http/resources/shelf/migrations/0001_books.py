"""The table of books, made by the words for plugins alone."""

from gatepost import ddl


def up(migrator, db):
    ddl.table(db, "books", "title {key} NOT NULL", "tags {key} NOT NULL", "secrets {key}", "stars INTEGER",
              "status {key} NOT NULL", "UNIQUE (tenant_id, title)")
    ddl.index(db, "books", "status,-created_at")
    ddl.index(db, "books", "stars")
    ddl.searchable(db, "books", ("title",))
