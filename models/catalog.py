"""Columns, whole-table indexes, and foreign keys without a unique target, read from a database's catalog."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from models.engine.database import Database

Order = tuple[str, ...]  # columns of an index in order; a `-` prefix means descending

# `main`: a connection may have a view of the same name that hides the rows of a load.
_COLUMNS_SQLITE = ('SELECT found.name, one.name, one."notnull", one.dflt_value IS NULL AND one.pk = 0 '
                   "FROM main.sqlite_schema AS found "
                   "JOIN pragma_table_info(found.name, 'main') AS one WHERE found.type = 'table'")
_INDEXES_SQLITE = ('SELECT found.name, made.name, one.name, one."desc" FROM main.sqlite_schema AS found '
                   "JOIN pragma_index_list(found.name, 'main') AS made "
                   "JOIN pragma_index_xinfo(made.name, 'main') AS one "
                   "WHERE found.type = 'table' AND NOT made.partial AND one.key ORDER BY made.name, one.seqno")
_COLUMNS_POSTGRES = ("SELECT relname, attname, attnotnull, NOT atthasdef AND attidentity = '' "
                     "FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid "
                     "WHERE relkind IN ('r', 'p') AND attnum > 0 AND NOT attisdropped "
                     "AND pg_table_is_visible(pg_class.oid)")
_INDEXES_POSTGRES = ("SELECT relname, indexrelid::text, attname, indoption[place - 1] & 1 FROM pg_index "
                     "JOIN pg_class ON pg_class.oid = indrelid "
                     "CROSS JOIN LATERAL unnest(indkey) WITH ORDINALITY AS part (number, place) "
                     "LEFT JOIN pg_attribute ON attrelid = indrelid AND attnum = part.number "
                     "WHERE indpred IS NULL AND indisvalid AND place <= indnkeyatts "
                     "AND pg_table_is_visible(pg_class.oid) ORDER BY indexrelid, place")


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `strict`: it refuses NULL. `demanded`: it also has no default, so each new row must set it."""

    strict: bool
    demanded: bool


# SQLite checks the target of a foreign key when rows are written, Postgres when the key is made. A key that names no
# column refers to the primary key, which may be the rowid and have no index.
_REFERENCES_SQLITE = ('SELECT found.name, one.id, one."table", one."to" FROM main.sqlite_schema AS found '
                      "JOIN pragma_foreign_key_list(found.name, 'main') AS one WHERE found.type = 'table' "
                      "ORDER BY found.name, one.id, one.seq")
_UNIQUE_SQLITE = ('SELECT found.name, made.name, one.name FROM main.sqlite_schema AS found '
                  "JOIN pragma_index_list(found.name, 'main') AS made "
                  "JOIN pragma_index_xinfo(made.name, 'main') AS one "
                  "WHERE found.type = 'table' AND made.\"unique\" AND NOT made.partial AND one.key "
                  "UNION ALL SELECT found.name, '', one.name FROM main.sqlite_schema AS found "
                  "JOIN pragma_table_info(found.name, 'main') AS one WHERE found.type = 'table' AND one.pk")


@dataclass(frozen=True)
class Loose:
    """A foreign key of `table` to columns of `parent` without a unique index on exactly these. Every write fails."""

    table: str
    parent: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Catalog:
    """Columns of tables, by table and name, and the orders that their indexes provide.

    Partial indexes and indexes on expressions provide no order. `loose` are foreign keys of these tables, or to them,
    without a unique target.
    """

    columns: Mapping[str, Mapping[str, Column]]
    indexes: Mapping[str, frozenset[Order]]
    loose: tuple[Loose, ...] = ()

    def serves(self, table: str, order: Order) -> bool:
        """True if an index begins with the tenant and continues with this order, forward or backward."""
        backward = tuple(key[1:] if key.startswith("-") else f"-{key}" for key in order)
        return any(index[:1] == ("tenant_id",) and index[1:len(order) + 1] in (order, backward)
                   for index in self.indexes.get(table, ()))


def look(database: Database, tables: Iterable[str]) -> Catalog:
    """Reads the catalog of these tables from the connected database. Missing tables are left out."""
    names, sqlite = frozenset(tables), database.dialect == "sqlite"
    columns: dict[str, dict[str, Column]] = {}
    for table, column, strict, bare in database.query(_COLUMNS_SQLITE if sqlite else _COLUMNS_POSTGRES):
        if table in names:
            columns.setdefault(table, {})[column] = Column(bool(strict), bool(strict and bare))
    keys_of_index: dict[tuple[str, str], list[str]] = {}
    for table, index, column, descending in database.query(_INDEXES_SQLITE if sqlite else _INDEXES_POSTGRES):
        if table in names:
            # An expression has no name, so nothing is ordered by it.
            keys_of_index.setdefault((table, index), []).append(f"{'-' if descending else ''}{column or ''}")
    indexes: dict[str, set[Order]] = {}
    for (table, _), keys in keys_of_index.items():
        indexes.setdefault(table, set()).add(tuple(keys))
    loose = tuple(key for key in _loose(database) if key.table in names or key.parent in names) if sqlite else ()
    return Catalog(columns, {table: frozenset(orders) for table, orders in indexes.items()}, loose)


def _loose(database: Database) -> Iterator[Loose]:
    unique: dict[tuple[str, str], set[str]] = {}
    for table, index, column in database.query(_UNIQUE_SQLITE):
        unique.setdefault((table.lower(), index), set()).add((column or "").lower())
    together = {(table, frozenset(columns)) for (table, _), columns in unique.items()}
    leads: dict[tuple[str, int], tuple[str, list[str | None]]] = {}
    for table, number, parent, column in database.query(_REFERENCES_SQLITE):
        leads.setdefault((table, number), (parent, []))[1].append(column)
    for (table, _), (parent, names) in leads.items():
        columns = [column for column in names if column is not None]
        if columns and (parent.lower(), frozenset(map(str.lower, columns))) not in together:
            yield Loose(table, parent, tuple(columns))
