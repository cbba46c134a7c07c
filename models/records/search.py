"""Full-text search: rows that hold all the words of a query, found by an index of the words.

The index of `articles` is called `articles_search` on SQLite, an FTS5 table beside it; triggers follow later changes.
On Postgres it is a column `search` with a GIN index, which no class of the application names. A migration makes both
(`ddl.searchable`). `Rows` and `bulk.load` have the words of what they store indexed here. Both databases are given the
tokens that `models.engine.words` makes, and change none of them, so that they find the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any

import peewee as pw

from models.engine.errors import Damaged, TimedOut
from models.engine.prepared import Bind
from models.engine.words import mark, marked, split, vector

if TYPE_CHECKING:
    from models.engine.database import Database
    from models.records.table import Table

WORDS = ".words"  # the name of a Bind
FEW = 500  # rows that are looked up and sorted in about the time that a walk over a hundred thousand takes
AT_ONCE = 1000  # rows whose words are compared, or made anew, in one statement
MERGE_STEP = 500  # pages of an index that are written in one transaction, so that other writers may come in between


def words(text: str, tenant_id: str, dialect: str) -> str:
    """The client's text as a query that the database never refuses, for the rows of a tenant.

    All words must be there; `"words in quotes"` beside each other. Everything else that a database would take for
    syntax is taken for a space. Without any word nothing is found.
    """
    parts = text.split('"')
    # A last quote that is not closed opens no phrase.
    outside, inside = (parts[::2], parts[1::2]) if len(parts) % 2 else ([*parts[::2], parts[-1]], parts[1:-1:2])
    found = [*([word] for part in outside for word in split(part)), *map(split, inside)]
    before = mark(tenant_id)
    phrases = [[before + word for word in phrase] for phrase in found if phrase]
    if dialect == "postgres":
        return " & ".join(" <-> ".join(phrase) for phrase in phrases)
    # In quotes, `or` and `not` are words like any other.
    return " ".join(f'"{" ".join(phrase)}"' for phrase in phrases) or '""'


def matching(model: type[Table], dialect: str, query: pw.Node) -> pw.ColumnBase:
    """The condition that a row holds `query`, a Bind for what `words` gives."""
    if dialect == "postgres":
        # The parser of Postgres, whose locale decides what a word is, is not asked.
        return pw.NodeList((pw.Column(model._meta.table, "search"), pw.SQL("@@ CAST("), query, pw.SQL("AS tsquery)")))
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
                    "CAST(%s AS tsquery)) SELECT count(*) FROM (SELECT 1 FROM found LIMIT %s) AS few")
    else:
        index = index_of(model)
        counting = f'SELECT count(*) FROM (SELECT 1 FROM "{index}" WHERE "{index}" MATCH ? LIMIT ?)'
    return bool(database.query(counting, [query, FEW + 1])[0][0] <= FEW)


def index_of(model: type[Table]) -> str:
    """The name of a table's index on SQLite."""
    return f"{model._meta.table_name}_search"


def is_current(database: Database, model: type[Table]) -> bool:
    """Whether the table has an index of the tokens that this code makes, as `ddl.searchable` makes it.

    On SQLite it is of the columns that are searched. On Postgres no index says of which it is.
    """
    if database.dialect == "sqlite":
        made = database.query("SELECT sql, (SELECT group_concat(name) FROM pragma_table_info(made.name)) "
                              "FROM sqlite_schema AS made WHERE name = ?", [index_of(model)])
        content = f"content='{model._meta.table_name}_words'"
        return any(content in sql and 'tokenize="ascii"' in sql and set(columns.split(",")) == set(model.searched)
                   for sql, columns in made)
    return bool(database.query(
        "SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attname = 'search' "
        "AND atttypid = 'tsvector'::regtype AND attgenerated = ''", [f'"{model._meta.table_name}"']))


def has_lost_words(database: Database, model: type[Table], seconds: float = inf) -> bool:
    """Whether the index does not hold the words of the rows, as after writes of a program that does not know it.

    On SQLite other writers wait meanwhile. Raises `TimedOut` where it takes longer than `seconds`, and on SQLite than a
    statement may.
    """
    if not model.searched:
        return False
    if database.dialect == "postgres":
        until = monotonic() + seconds
        for rows in _walk(database, model):
            if _differ(database, model, rows):
                return True
            if monotonic() > until:
                raise TimedOut(f"{model._meta.table_name} has too many rows to look through")
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
    """Index the words of all rows once more: on SQLite in one transaction, on Postgres where they are not indexed."""
    if _indexes(database, model):
        index = index_of(model)
        database.transact(lambda: database.write(f'INSERT INTO "{index}" ("{index}") VALUES (\'rebuild\')'))
    elif model.searched:
        for rows in _walk(database, model):
            if ids := _differ(database, model, rows):
                database.transact(partial(index_again, database, model, ids))


def in_row(database: Database, model: type[Table]) -> bool:
    """True if the words of a row are a column of it, which whoever stores the row fills with `vector_of`."""
    return bool(model.searched) and database.dialect == "postgres"


@cache
def column(model: type[Table]) -> pw.Field:
    """That column, which is none of the class: no reader of rows reads it."""
    field = pw.TextField(null=True)
    field.bind(model, "search", False)
    return field


def words_column(database: Database, model: type[Table]) -> dict[pw.Field, Bind]:
    """That column with the Bind `WORDS`, for an INSERT or an UPDATE; nothing where there is none."""
    return {column(model): Bind(WORDS)} if in_row(database, model) else {}


def vector_of(model: type[Table], row: Mapping[str, Any]) -> str:
    """What that column holds; `row` by column name, with its tenant and all that is searched."""
    return vector([row.get(name) for name in model.searched], mark(row["tenant_id"]))


def index_changed(database: Database, model: type[Table], names: Iterable[str], ids: Collection[str]) -> None:
    """Index the words of rows in which an UPDATE has changed these columns, in the same transaction. On SQLite triggers
    have done so."""
    if in_row(database, model) and not set(names).isdisjoint(model.searched):
        index_again(database, model, ids)


def index_again(database: Database, model: type[Table], ids: Collection[str]) -> None:
    """Fill the column of words of these rows, in the same transaction."""
    table, names = model._meta.table_name, _names(model)
    rows = database.query(f'SELECT id, tenant_id, {names} FROM "{table}" WHERE id = ANY(%s::uuid[]) '
                          "FOR UPDATE", [list(ids)])
    database.write(f'UPDATE "{table}" SET search = CAST(made.words AS tsvector) '
                   f'FROM unnest(%s::uuid[], %s::text[]) AS made (id, words) WHERE "{table}".id = made.id',
                   [[row[0] for row in rows], [_vector(row[1], row[2:]) for row in rows]])


def _vector(tenant_id: str, texts: Sequence[str | None]) -> str:
    return vector(texts, mark(tenant_id))


def _walk(database: Database, model: type[Table]) -> Iterator[list[tuple[Any, ...]]]:
    """All rows with their id, version, tenant and what is searched, some at a time."""
    last = "00000000-0000-0000-0000-000000000000"
    while True:
        with database.connected():
            rows = database.query(f'SELECT id, version, tenant_id, {_names(model)} FROM "{model._meta.table_name}" '
                                  "WHERE id > %s ORDER BY id LIMIT %s", [last, AT_ONCE])
        if not rows:
            return
        yield rows
        last = rows[-1][0]


def _differ(database: Database, model: type[Table], rows: Sequence[tuple[Any, ...]]) -> list[str]:
    """The ids of those rows that are stored with other words, and that nobody has changed since they were read."""
    with database.connected():
        return [id for id, in database.query(
            f'SELECT made.id FROM unnest(%s::uuid[], %s::int[], %s::text[]) AS made (id, version, words) '
            f'JOIN "{model._meta.table_name}" AS row USING (id, version) '
            "WHERE row.search IS DISTINCT FROM CAST(made.words AS tsvector)",
            [[row[0] for row in rows], [row[1] for row in rows], [_vector(row[2], row[3:]) for row in rows]])]


def index_new(database: Database, model: type[Table], row: Mapping[str, Any]) -> None:
    """Index the words of the row that was stored last, on SQLite, in the same transaction; `row` by column name.

    A trigger would do, but SQLite sets a savepoint for every INSERT that pulls one, and at a savepoint FTS5 writes down
    what it has gathered so far: a sixth of the time of writers who share a transaction, a twentieth of one alone.
    """
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
