"""Index the words of each tenant separately: a search neither reads nor reveals how often others use a word."""

from models import ddl


def up(migrator, db):
    for table, columns in (("articles", ("title", "body")), ("comments", ("body",)), ("pages", ("title", "body")),
                           ("products", ("name", "description"))):
        ddl.searchable(db, table, columns)
