"""Full-text search: finds rows that contain all words of a query, by an index of tokens.

On SQLite the index of `articles` is the FTS5 table `articles_search`; triggers follow later changes. On Postgres it is
the column `search` with a GIN index, and no class of the application has that column. A migration makes both
(`ddl.searchable`). `Rows` and `bulk.load` index the rows that they store through this module. Both databases get the
tokens of `models.engine.words` and change none of them, so that they find the same rows.
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
FEW = 500  # rows whose lookup and sorting takes about as long as a walk over a hundred thousand
AT_ONCE = 1000  # rows whose words are compared, or indexed again, in one statement
MERGE_STEP = 500  # pages of an index that one transaction writes; other writers may come in between


def words(text: str, tenant_id: str, dialect: str) -> str:
    """Turns the client's text into a query that the database never refuses, for the rows of a tenant.

    All words must occur; `"words in quotes"` must stand side by side. Other syntax of the database counts as a space.
    Without any word the query finds nothing.
    """
    parts = text.split('"')
    # An unclosed last quote opens no phrase.
    outside, inside = (parts[::2], parts[1::2]) if len(parts) % 2 else ([*parts[::2], parts[-1]], parts[1:-1:2])
    lists = [*([word] for part in outside for word in split(part)), *map(split, inside)]
    prefix = mark(tenant_id)
    phrases = [[prefix + word for word in phrase] for phrase in lists if phrase]
    if dialect == "postgres":
        return " & ".join(" <-> ".join(phrase) for phrase in phrases)
    # Inside quotes, `or` and `not` are ordinary words.
    return " ".join(f'"{" ".join(phrase)}"' for phrase in phrases) or '""'


def matching(model: type[Table], dialect: str, query: pw.Node) -> pw.ColumnBase:
    """Returns the condition that a row matches `query`, a Bind for a result of `words`."""
    if dialect == "postgres":
        # Avoids the text parser of Postgres, which splits words by its locale.
        return pw.NodeList((pw.Column(model._meta.table, "search"), pw.SQL("@@ CAST("), query, pw.SQL("AS tsquery)")))
    index = index_of(model)
    rows = pw.NodeList((pw.SQL(f'(SELECT rowid FROM "{index}" WHERE "{index}" MATCH'), query, pw.SQL(")")))
    return pw.Column(model._meta.table, "rowid").in_(rows)


def is_rare(database: Database, model: type[Table], query: str) -> bool:
    """True if few rows match `query`, so that looking them up and sorting them is faster than walking all rows in
    order.

    The planners cannot tell. SQLite takes every search for a rare one. Postgres estimates by the rows of all tenants,
    and so reads a whole index of a tenant beside the few rows with the word.
    """
    if database.dialect == "postgres":
        # MATERIALIZED makes Postgres plan for all matches. Otherwise it might scan the table until it has enough.
        counting = (f'WITH found AS MATERIALIZED (SELECT 1 FROM "{model._meta.table_name}" WHERE search @@ '
                    "CAST(%s AS tsquery)) SELECT count(*) FROM (SELECT 1 FROM found LIMIT %s) AS few")
    else:
        index = index_of(model)
        counting = f'SELECT count(*) FROM (SELECT 1 FROM "{index}" WHERE "{index}" MATCH ? LIMIT ?)'
    return bool(database.query(counting, [query, FEW + 1])[0][0] <= FEW)


def index_of(model: type[Table]) -> str:
    """Returns the name of a table's index on SQLite."""
    return f"{model._meta.table_name}_search"


def is_current(database: Database, model: type[Table]) -> bool:
    """True if the table has an index of the present tokens, as `ddl.searchable` makes it.

    On SQLite its columns must be the searched ones. On Postgres the index does not name its columns.
    """
    if database.dialect == "sqlite":
        index = database.query("SELECT sql, (SELECT group_concat(name) FROM pragma_table_info(made.name)) "
                               "FROM sqlite_schema AS made WHERE name = ?", [index_of(model)])
        content = f"content='{model._meta.table_name}_words'"
        return any(content in sql and 'tokenize="ascii"' in sql and set(columns.split(",")) == set(model.searched)
                   for sql, columns in index)
    return bool(database.query(
        "SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attname = 'search' "
        "AND atttypid = 'tsvector'::regtype AND attgenerated = ''", [f'"{model._meta.table_name}"']))


def has_lost_words(database: Database, model: type[Table], seconds: float = inf) -> bool:
    """True if the index differs from the words of the rows, for example after writes of a program without the index.

    On SQLite other writers wait meanwhile. Raises `TimedOut` if it takes longer than `seconds`, and on SQLite also if
    it takes longer than a statement may.
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
            # This INSERT is a command that changes nothing (sqlite.org/fts5.html#the_integrity_check_command).
            database.write(f'INSERT INTO "{index}" ("{index}", rank) VALUES (\'integrity-check\', 1)')
        except Damaged:  # FTS5 reports a difference this way, though no page is damaged
            return True
        return False

    return database.transact(look)


def index_anew(database: Database, model: type[Table]) -> None:
    """Indexes the words of all rows again: on SQLite in one transaction, on Postgres only rows with other words."""
    if _indexes(database, model):
        index = index_of(model)
        database.transact(lambda: database.write(f'INSERT INTO "{index}" ("{index}") VALUES (\'rebuild\')'))
    elif model.searched:
        for rows in _walk(database, model):
            if ids := _differ(database, model, rows):
                database.transact(partial(index_again, database, model, ids))


def in_row(database: Database, model: type[Table]) -> bool:
    """True if the words of a row are a column of it. Code that stores the row fills this column with `vector_of`."""
    return bool(model.searched) and database.dialect == "postgres"


@cache
def column(model: type[Table]) -> pw.Field:
    """Returns the column of words. It is not part of the class, so reads of rows leave it out."""
    field = pw.TextField(null=True)
    field.bind(model, "search", False)
    return field


def words_column(database: Database, model: type[Table]) -> dict[pw.Field, Bind]:
    """Returns the column of words with the Bind `WORDS`, for an INSERT or an UPDATE; empty if there is none."""
    return {column(model): Bind(WORDS)} if in_row(database, model) else {}


def vector_of(model: type[Table], row: Mapping[str, Any]) -> str:
    """Returns the value for the column of words. `row` is by column name, with its tenant and all searched columns."""
    return vector([row.get(name) for name in model.searched], mark(row["tenant_id"]))


def index_changed(database: Database, model: type[Table], names: Iterable[str], ids: Collection[str]) -> None:
    """Indexes the words of rows after an UPDATE of these columns, in the same transaction. On SQLite triggers do this.
    """
    if in_row(database, model) and not set(names).isdisjoint(model.searched):
        index_again(database, model, ids)


def index_again(database: Database, model: type[Table], ids: Collection[str]) -> None:
    """Fills the column of words of these rows, in the same transaction."""
    table, names = model._meta.table_name, _names(model)
    rows = database.query(f'SELECT id, tenant_id, {names} FROM "{table}" WHERE id = ANY(%s::uuid[]) '
                          "FOR UPDATE", [list(ids)])
    database.write(f'UPDATE "{table}" SET search = CAST(made.words AS tsvector) '
                   f'FROM unnest(%s::uuid[], %s::text[]) AS made (id, words) WHERE "{table}".id = made.id',
                   [[row[0] for row in rows], [_vector(row[1], row[2:]) for row in rows]])


def _vector(tenant_id: str, texts: Sequence[str | None]) -> str:
    return vector(texts, mark(tenant_id))


def _walk(database: Database, model: type[Table]) -> Iterator[list[tuple[Any, ...]]]:
    """Yields all rows with id, version, tenant and the searched columns, in batches."""
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
    """Returns the ids of the rows with other indexed words, unless a row was changed since it was read."""
    with database.connected():
        return [id for id, in database.query(
            f'SELECT made.id FROM unnest(%s::uuid[], %s::int[], %s::text[]) AS made (id, version, words) '
            f'JOIN "{model._meta.table_name}" AS row USING (id, version) '
            "WHERE row.search IS DISTINCT FROM CAST(made.words AS tsvector)",
            [[row[0] for row in rows], [row[1] for row in rows], [_vector(row[2], row[3:]) for row in rows]])]


def index_new(database: Database, model: type[Table], row: Mapping[str, Any]) -> None:
    """Indexes the words of the last stored row, on SQLite, in the same transaction; `row` by column name.

    A trigger would cost more: SQLite sets a savepoint for every INSERT with a trigger, and at a savepoint FTS5 flushes
    its pending words. That took a sixth of the time of writers that share a transaction, and a twentieth of a single
    writer's.
    """
    prefix = mark(row["tenant_id"])
    database.write(_index_statement(model), [marked(row[name], prefix) for name in model.searched])


def index_together(database: Database, model: type[Table], insert: Callable[[], object]) -> None:
    """Runs `insert`, which stores rows, and then indexes the words of all of them at once, in the same transaction."""
    if not _indexes(database, model):
        insert()
        return
    table, names = model._meta.table_name, _names(model)
    last, = database.query(f'SELECT coalesce(max(rowid), 0) FROM main."{table}"')[0]
    insert()
    database.query(f'INSERT INTO "{index_of(model)}" (rowid, {names}) SELECT number, {names} FROM "{table}_words" '
                   "WHERE number > ?", [last])


def merge(database: Database, model: type[Table]) -> None:
    """Merges the index segments that a load has added, in short transactions.

    FTS5 merges the small segments of writers, sixteen of a kind at a time. Larger segments of a load would be rewritten
    in the transaction of some later writer, while all other writers wait. Raises `Busy`, `TimedOut`, `Unavailable`; the
    index stays valid.
    """
    if not _indexes(database, model):
        return
    index = index_of(model)
    database.transact(partial(_begin_merge, database, index))
    while database.transact(partial(_merge_some, database, index, MERGE_STEP)):
        pass


def _begin_merge(database: Database, index: str) -> None:
    # The default leaves three segments.
    database.write(f'INSERT INTO "{index}" ("{index}", rank) VALUES (\'usermerge\', 2)')
    # A negative number merges only the segments of now. Otherwise new segments of other writers keep it busy without
    # end.
    _merge_some(database, index, -MERGE_STEP)


def _merge_some(database: Database, index: str, pages: int) -> bool:
    """Merges up to that many pages. Returns True if it used them all, so that there may be more to merge."""
    start = database.query("SELECT total_changes()")[0][0]
    database.write(f'INSERT INTO "{index}" ("{index}", rank) VALUES (\'merge\', ?)', [pages])
    return bool(database.query("SELECT total_changes()")[0][0] - start >= abs(pages))


def _indexes(database: Database, model: type[Table]) -> bool:
    return bool(model.searched) and database.dialect == "sqlite"


@cache  # called for every new row
def _index_statement(model: type[Table]) -> str:
    marks = ", ?" * len(model.searched)
    return f'INSERT INTO "{index_of(model)}" (rowid, {_names(model)}) VALUES (last_insert_rowid(){marks})'


def _names(model: type[Table]) -> str:
    return ", ".join(f'"{name}"' for name in model.searched)
