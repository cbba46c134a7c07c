"""`Rows`: the only place where queries over the rows of a tenant start."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from typing import Any, Generic, TypeVar

import peewee as pw

from models.engine.database import Database, current
from models.engine.errors import Outdated
from models.engine.prepared import Bind, Prepared, binds, cache_sql, placeholders, prepare
from models.records.columns import TimeField, reader
from models.records.search import WORDS, index_changed, index_new, vector_of, words_column
from models.records.table import Record, stored
from models.records.times import now


def expire(column: TimeField, before: str, most: int) -> int:
    """Deletes up to `most` rows of any tenant whose indexed `column` lies before that time, oldest first. Returns their
    number."""
    model = column.model
    over = model.select(model.id).where(column < before).order_by(column).limit(most)
    return int(model.delete().where(model.id.in_(over)).execute())


T = TypeVar("T", bound=Record)


def locked(query: pw.ModelSelect[T], database: Database = current) -> pw.ModelSelect[T]:
    """Returns `query` with a lock: no other transaction changes its rows before this one ends."""
    # On SQLite a transaction has the whole database already.
    return query.for_update() if database.dialect == "postgres" else query


class Rows(Generic[T]):
    """Rows of one table that belong to one tenant. Every query starts here.

    `tenant_id` is an id, or a `Bind` in a query that is prepared for any tenant. Nothing outside `models` builds a
    query in another way, so no query can forget the tenant. A query across tenants is a named class method of its
    table.
    """

    __slots__ = ("model", "tenant_id")

    def __init__(self, model: type[T], tenant_id: str | Bind) -> None:
        self.model = model
        self.tenant_id: Any = tenant_id

    @property
    def mine(self) -> pw.Expression:
        """Condition that a row belongs to this tenant."""
        return self.model.tenant_id == self.tenant_id

    def sought(self, dialect: str) -> pw.Expression:
        """Returns `mine` for the few rows that another condition selects, so that no index of the tenant is read.

        SQLite would walk such an index in the wanted order instead of looking up the rows of `id IN (…)`; the plus sign
        prevents that. Postgres would read a whole index beside the rows that contain a word, and compare the two.
        """
        if dialect == "postgres":
            return pw.Expression(self.model.tenant_id, "IS NOT DISTINCT FROM", self.mine.rhs)
        return pw.Expression(pw.NodeList((pw.SQL("+"), self.model.tenant_id), glue=""), pw.OP.EQ, self.mine.rhs)

    def select(self, *columns: pw.Node) -> pw.ModelSelect[T]:
        """Returns a query of the rows, with these columns or all."""
        return self.model.select(*columns).where(self.mine)

    def find(self, id: str, *where: pw.Expression, lock: bool = False) -> T | None:
        """Returns the row if it matches `where`. `lock` keeps other transactions from changing it."""
        if where:
            query = self.select().where(self.model.id == id, *where)
            return (locked(query) if lock else query).first()
        rows = _find(current, self.model, lock).run(current, {_TENANT: self.tenant_id, "id": id})
        return _read(self.model, rows[0]) if rows else None

    def find_by(self, **values: Any) -> T | None:
        """Returns the row with these values in unique columns, none of them None."""
        rows = _find_by(current, self.model, *values).run(current, self._bound(values))
        return _read(self.model, rows[0]) if rows else None

    def find_all(self, ids: Collection[str], *, column: str = "id", lock: bool = False) -> list[T]:
        """Returns the rows whose `column` is one of `ids`, in the order of that column. `lock` locks them."""
        values = placeholders(ids)
        if not values:
            return []
        statement = _find_all(current, self.model, column, len(values), lock)
        return [_read(self.model, row) for row in statement.run(current, {_TENANT: self.tenant_id, **values})]

    def insert(self, row: T) -> T:
        """Stores a new row with id, tenant, version 1 and times.

        Raises `AlreadyExists`, `InvalidReference`.
        """
        row.stamp(self.tenant_id, now())
        fields = self.model._meta.fields
        values = stored(row, fields)
        statement = _insert(current, self.model)
        if WORDS in statement.names:
            values[WORDS] = vector_of(self.model, values)
        statement.write(current, values)
        if self.model.searched and WORDS not in statement.names:
            index_new(current, self.model, values)
        row._dirty.clear()
        return row

    def save(self, row: T) -> T:
        """Stores the changed columns of a row, if any.

        Raises `Outdated` when another writer changed or deleted the row meanwhile, `AlreadyExists`,
        `InvalidReference`.
        """
        names = row._dirty - {"id", "tenant_id", "version"}
        if not names:
            return row
        stamps = {"version": row.version + 1, "updated_at": row.updated_at if "updated_at" in names else now()}
        names |= set(stamps)
        # A row that was read with only some columns does not have the other texts.
        is_whole = row.__data__.keys() >= {"tenant_id", *self.model.searched}
        statement = _save(current, self.model, frozenset(names), is_whole)
        values = {**stored(row, names), **stamps, _TENANT: self.tenant_id, _ROW: row.id, _BEFORE: row.version}
        if WORDS in statement.names:
            values[WORDS] = vector_of(self.model, stored(row, ("tenant_id", *self.model.searched)))
        if statement.write(current, values) == 0:
            raise Outdated(f"{self.model.__name__} {row.id}")
        if not is_whole:
            index_changed(current, self.model, names, [row.id])
        # Only after success: failed work may be repeated with the same row.
        row.__data__ |= stamps
        row._dirty.clear()
        return row

    def change(self, changes: Mapping[pw.Field, Any], *where: pw.Expression) -> int:
        """Changes all rows that match `where` (`{Product.stock: Product.stock - 1}`). Returns their number."""
        stamped = {self.model.version: self.model.version + 1, self.model.updated_at: now(), **changes}
        query = self.model.update(stamped).where(self.mine, *where)
        names = {field.name for field in changes}
        if names.isdisjoint(self.model.searched):
            return query.execute()
        ids = [id for id, in query.returning(self.model.id).tuples().execute()]
        index_changed(current, self.model, names, ids)
        return len(ids)

    def add(self, column: pw.Field, amount: int, id: str) -> bool:
        """Adds `amount` to a number of one row, unless it would become negative. Returns True if it was added."""
        values = {_TENANT: self.tenant_id, "id": id, _AMOUNT: amount, _AT: now()}
        return _add(current, self.model, column.name).write(current, values) > 0

    def delete(self, row: T) -> None:
        """Deletes a row. Raises `StillReferenced`, and `Outdated` if it was deleted or changed."""
        values = {_TENANT: self.tenant_id, _ROW: row.id, _BEFORE: row.version}
        if _delete(current, self.model).write(current, values) == 0:
            raise Outdated(f"{self.model.__name__} {row.id}")

    def remove(self, *where: pw.Expression, **values: Any) -> int:
        """Deletes the rows that match `where` and have these values, and their shares. Returns their number.

        None of the values is None. Raises `StillReferenced`.
        """
        fields = self.model._meta.fields
        picked = [self.mine, *where, *(fields[name] == value for name, value in values.items())]
        ids = self.model.select(self.model.id).where(*picked)
        for resource in self._shared():
            # Ids are unique across all tables.
            _SHARES.delete().where(_SHARES.tenant_id == self.tenant_id, _SHARES.resource == resource,
                                   _SHARES.object_id.in_(ids)).execute(current)
        return self.model.delete().where(*picked).execute()

    def discard(self, **values: Any) -> int:
        """Deletes the rows with these values, and returns their number. Only for tables without shares. None of the
        values is None."""
        return _discard(current, self.model, *values).write(current, self._bound(values))

    def _shared(self) -> Iterator[str]:
        """Yields the resources with shares in this tenant, with one index lookup each."""
        last: str | None = ""
        while True:
            later = (_SHARES.tenant_id == self.tenant_id) & (_SHARES.resource > last)
            last = _SHARES.select(pw.fn.MIN(_SHARES.resource)).where(later).scalar(current)
            if last is None:
                return
            yield last

    def _bound(self, values: Mapping[str, Any]) -> dict[str, Any]:
        fields = self.model._meta.fields
        return {_TENANT: self.tenant_id, **{name: fields[name].db_value(value) for name, value in values.items()}}


# Names of Binds that are no columns.
_TENANT, _ROW, _BEFORE, _AMOUNT, _AT = ".tenant", ".row", ".before", ".amount", ".at"


@cache_sql
def _find(database: Database, model: type[Record], lock: bool) -> Prepared:
    query = model.select().where(*_equal(model, "id"))
    return prepare(database, locked(query, database) if lock else query)


@cache_sql
def _find_by(database: Database, model: type[Record], *columns: str) -> Prepared:
    return prepare(database, model.select().where(*_equal(model, *columns)))


@cache_sql
def _find_all(database: Database, model: type[Record], column: str, count: int, lock: bool) -> Prepared:
    field = model._meta.fields[column]
    query = model.select().where(*_equal(model), field.in_(binds(count))).order_by(field)
    return prepare(database, locked(query, database) if lock else query)


@cache_sql
def _insert(database: Database, model: type[Record]) -> Prepared:
    columns = {name: Bind(name) for name in model._meta.fields}
    return prepare(database, model.insert({**columns, **words_column(database, model)}))


@cache_sql
def _save(database: Database, model: type[Record], columns: frozenset[str], is_whole: bool) -> Prepared:
    changes = {name: Bind(name) for name in sorted(columns)}
    words = words_column(database, model) if is_whole and not columns.isdisjoint(model.searched) else {}
    return prepare(database, model.update({**changes, **words}).where(*_as_read(model)))


@cache_sql
def _add(database: Database, model: type[Record], column: str) -> Prepared:
    field = model._meta.fields[column]
    total = field + Bind(_AMOUNT)
    changes = {field: total, model.version: model.version + 1, model.updated_at: Bind(_AT)}
    return prepare(database, model.update(changes).where(*_equal(model, "id"), total >= 0))


@cache_sql
def _delete(database: Database, model: type[Record]) -> Prepared:
    return prepare(database, model.delete().where(*_as_read(model)))


@cache_sql
def _discard(database: Database, model: type[Record], *columns: str) -> Prepared:
    return prepare(database, model.delete().where(*_equal(model, *columns)))


def _equal(model: type[Record], *columns: str) -> list[pw.Expression]:
    """Returns conditions that the tenant and these columns equal their Binds."""
    fields = model._meta.fields
    return [model.tenant_id == Bind(_TENANT), *(fields[name] == Bind(name) for name in columns)]


def _as_read(model: type[Record]) -> list[pw.Expression]:
    """Returns conditions that the row is the tenant's, and unchanged since it was read."""
    return [*_equal(model), model.id == Bind(_ROW), model.version == Bind(_BEFORE)]


_SHARES: Any = pw.Table("shares", ("tenant_id", "resource", "object_id"))  # the class `Share` lies above this room


def _read(model: type[T], values: tuple[Any, ...]) -> T:
    """Returns a row with these values of all its columns, in their order; no column is dirty."""
    row = model(__no_default__=True)
    row.__data__ = _reader(model)(values)
    return row


@cache  # one entry for each table
def _reader(model: type[Record]) -> Callable[[tuple[Any, ...]], dict[str, Any]]:
    return reader(model._meta.sorted_fields)
