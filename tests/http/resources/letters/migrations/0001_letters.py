"""The table of letters."""

from models import ddl


def up(migrator, db):
    ddl.table(db, "letters", "text {key} NOT NULL", "code {key} NOT NULL", "stars INTEGER NOT NULL", "remark {key}",
              "place {key} NOT NULL", owned=False)
    ddl.index(db, "letters", "code")
