"""Full-text search: rows that hold all the words of a query, found by an index of the words.

The index of `articles` is called `articles_search` on SQLite, an FTS5 table beside it: `Rows.insert` and `bulk.load`
have the words of new rows indexed here, and triggers follow later changes. On Postgres it is a generated column
`search` with a GIN index. A migration makes both (`ddl.searchable`). Both hold what `models.engine.words` takes for a
word, marked with its tenant, whatever its case, and reduce no word to its stem, so that they find the same rows.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import peewee as pw

from models.engine.errors import Damaged
from models.engine.words import mark, marked, split

if TYPE_CHECKING:
    from models.engine.database import Database
    from models.records.table import Table

FEW = 500  # rows that are looked up and sorted in about the time that a walk over a hundred thousand takes
MERGE_STEP = 500  # pages of an index that are written in one transaction, so that other writers may come in between


def words(text: str, tenant_id: str) -> str:
    """The client's text as a query that both databases read alike and never refuse, for the rows of a tenant.

    All words must be there; `"words in quotes"` beside each other. Everything else that a database would take for
    syntax is taken for a space. Without any word nothing is found.
    """
    parts = unicodedata.normalize("NFC", text).split('"')
    # A last quote that is not closed opens no phrase.
    outside, inside = (parts[::2], parts[1::2]) if len(parts) % 2 else ([*parts[::2], parts[-1]], parts[1:-1:2])
    found = [*([word] for part in outside for word in split(part)), *map(split, inside)]
    before = mark(tenant_id)
    # In quotes, `or` and `not` are words like any other.
    return " ".join(f'"{" ".join(before + word for word in phrase)}"' for phrase in found if phrase) or '""'


def matching(model: type[Table], dialect: str, query: pw.Node) -> pw.ColumnBase:
    """The condition that a row holds `query`, a Bind for what `words` gives."""
    if dialect == "postgres":
        return pw.NodeList((pw.Column(model._meta.table, "search"),
                            pw.SQL("@@ websearch_to_tsquery('simple',"), query, pw.SQL(")")))
    index = index_of(model)
    found = pw.NodeList((pw.SQL(f'(SELECT rowid FROM "{index}" WHERE "{index}" MATCH'), query, pw.SQL(")")))
    return pw.Column(model._meta.table, "rowid").in_(found)


def is_rare(database: Database, model: type[Table], query: str) -> bool:
    """Whether the rows that hold `query` had better be looked up and sorted than the rows be walked in order.

    SQLite cannot tell: it takes every search for a rare one. Postgres guesses by how many rows all tenants have
    together, and so reads a whole index of a tenant beside the few rows that hold the word.
    """
    if database.dialect == "postgres":
        # As if all of it were wanted: else Postgres might read the table until it has found so many.
        counting = (f'WITH found AS MATERIALIZED (SELECT 1 FROM "{model._meta.table_name}" WHERE search @@ '
                    "websearch_to_tsquery('simple', %s)) SELECT count(*) FROM (SELECT 1 FROM found LIMIT %s) AS few")
    else:
        index = index_of(model)
        counting = f'SELECT count(*) FROM (SELECT 1 FROM "{index}" WHERE "{index}" MATCH ? LIMIT ?)'
    return bool(database.query(counting, [query, FEW + 1])[0][0] <= FEW)


def index_of(model: type[Table]) -> str:
    """The name of a table's index on SQLite."""
    return f"{model._meta.table_name}_search"


def is_current(database: Database, model: type[Table]) -> bool:
    """Whether the table has an index that holds each tenant's words apart, as `ddl.searchable` makes it."""
    if database.dialect == "sqlite":
        made, with_tenant = "SELECT sql FROM sqlite_schema WHERE name = ?", f"content='{model._meta.table_name}_words'"
        name = index_of(model)
    else:
        made = ("SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef JOIN pg_attribute ON attrelid = adrelid "
                "AND attnum = adnum WHERE adrelid = to_regclass(%s) AND attname = 'search'")
        with_tenant, name = "tenant_id", f'"{model._meta.table_name}"'
    return any(with_tenant in definition for definition, in database.query(made, [name]))


def has_lost_words(database: Database, model: type[Table]) -> bool:
    """Whether the index does not hold the words of the rows, as after writes of a program that does not know it. On
    Postgres the server keeps them alike.

    Other writers wait meanwhile. Raises `TimedOut` where it takes longer than a statement may.
    """
    if database.dialect == "postgres" or not _indexes(database, model):
        return False
    index = index_of(model)

    def look() -> bool:
        try:
            # A command in the form of an INSERT changes nothing (sqlite.org/fts5.html#the_integrity_check_command).
            database.write(f'INSERT INTO "{index}" ("{index}", rank) VALUES (\'integrity-check\', 1)')
        except Damaged:  # so FTS5 says it, though no page is
            return True
        return False

    return database.transact(look)


def index_anew(database: Database, model: type[Table]) -> None:
    """Index the words of all rows once more, in one transaction; nothing on Postgres."""
    if database.dialect == "sqlite" and _indexes(database, model):
        index = index_of(model)
        database.transact(lambda: database.write(f'INSERT INTO "{index}" ("{index}") VALUES (\'rebuild\')'))


def index_new(database: Database, model: type[Table], row: Mapping[str, Any]) -> None:
    """Index the words of the row that was stored last, in the same transaction; `row` by column name.

    A trigger would do, but SQLite sets a savepoint for every INSERT that pulls one, and at a savepoint FTS5 writes down
    what it has gathered so far: a sixth of the time of writers who share a transaction, a twentieth of one alone.
    """
    if _indexes(database, model):
        before = mark(row["tenant_id"])
        database.write(_index_statement(model), [marked(row[name], before) for name in model.searched])


def index_together(database: Database, model: type[Table], insert: Callable[[], object]) -> None:
    """Run `insert`, which stores rows, and index the words of all of them at once, in the same transaction."""
    if not _indexes(database, model):
        insert()
        return
    table, names = model._meta.table_name, _names(model)
    last, = database.query(f'SELECT coalesce(max(rowid), 0) FROM main."{table}"')[0]
    insert()
    database.query(f'INSERT INTO "{index_of(model)}" (rowid, {names}) SELECT number, {names} FROM "{table}_words" '
                   "WHERE number > ?", [last])


def merge(database: Database, model: type[Table]) -> None:
    """Bring what a load has left in the index into one piece, in short transactions.

    FTS5 merges the small pieces that writers add, sixteen of a kind at a time. Where a load has left pieces that are
    not small, it would rewrite all of them in the transaction of some later writer, while all other writers wait.
    Raises `Busy`, `TimedOut`, `Unavailable`; the index is whole all the same.
    """
    if not _indexes(database, model):
        return
    index = index_of(model)
    database.transact(partial(_begin_merge, database, index))
    while database.transact(partial(_merge_some, database, index, MERGE_STEP)):
        pass


def _begin_merge(database: Database, index: str) -> None:
    # By default it stops with three pieces left.
    database.write(f'INSERT INTO "{index}" ("{index}", rank) VALUES (\'usermerge\', 2)')
    # Negative: of all pieces there are now. Else it would take in what other writers add, and begin anew without end.
    _merge_some(database, index, -MERGE_STEP)


def _merge_some(database: Database, index: str, pages: int) -> bool:
    """Whether there is more to merge than writers have just added: it has written as many pages as it may."""
    before = database.query("SELECT total_changes()")[0][0]
    database.write(f'INSERT INTO "{index}" ("{index}", rank) VALUES (\'merge\', ?)', [pages])
    return bool(database.query("SELECT total_changes()")[0][0] - before >= abs(pages))


def _indexes(database: Database, model: type[Table]) -> bool:
    return bool(model.searched) and database.dialect == "sqlite"


@cache  # it runs for every new row
def _index_statement(model: type[Table]) -> str:
    marks = ", ?" * len(model.searched)
    return f'INSERT INTO "{index_of(model)}" (rowid, {_names(model)}) VALUES (last_insert_rowid(){marks})'


def _names(model: type[Table]) -> str:
    return ", ".join(f'"{name}"' for name in model.searched)
