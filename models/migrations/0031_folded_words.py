"""Index the words of all tables again, also those of plugins: Gatepost now folds their case instead of the database.

No older node may serve beside it: on SQLite it would index words without folding, and on Postgres none.
"""

from models import ddl


def up(migrator, db):
    for table, columns in ddl.outdated_search(db):
        ddl.searchable(db, table, columns)
