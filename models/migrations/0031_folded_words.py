"""Index the words of all tables anew, those of plugins, too: Gatepost folds their case, and no database does.

No older node may serve beside: it would index words that are not folded, and on Postgres none.
"""

from models import ddl


def up(migrator, db):
    for table, columns in ddl.outdated_search(db):
        ddl.searchable(db, table, columns)
