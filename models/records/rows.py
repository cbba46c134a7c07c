"""`Rows`, the one place where queries over the rows of a tenant start."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Generic, TypeVar

import peewee as pw

from models.engine.database import current
from models.engine.errors import Outdated
from models.engine.prepared import Bind, Prepared, placeholders, prepare
from models.records.columns import TimeField, reader
from models.records.search import WORDS, in_row, index_again, index_changed, index_new, vector_of, words_column
from models.records.table import Record, stored
from models.records.times import now


def expire(column: TimeField, before: str, most: int) -> int:
    """Delete up to `most` rows of any tenant whose indexed `column` lies before that time, oldest first; how many."""
    model = column.model
    over = model.select(model.id).where(column < before).order_by(column).limit(most)
    return int(model.delete().where(model.id.in_(over)).execute())


T = TypeVar("T", bound=Record)


def locked(query: pw.ModelSelect[T]) -> pw.ModelSelect[T]:
    """`query` so that no other transaction changes the rows that it finds before this one ends."""
    # On SQLite a transaction already has the database for itself.
    return query.for_update() if current.dialect == "postgres" else query


class Rows(Generic[T]):
    """The rows of one table that belong to one tenant: the place where every query starts.

    `tenant_id` is an id, or a `Bind` in a query that is prepared for any tenant.
    Nothing outside `models` builds a query in another way, so no query can forget the tenant. What must cross
    tenants is a named class method beside its table.
    """

    __slots__ = ("model", "tenant_id")

    def __init__(self, model: type[T], tenant_id: str | Bind) -> None:
        self.model = model
        self.tenant_id: Any = tenant_id

    @property
    def mine(self) -> pw.Expression:
        """The condition that a row is this tenant's."""
        return self.model.tenant_id == self.tenant_id

    def sought(self, dialect: str) -> pw.Expression:
        """`mine`, for the few rows that another condition finds: no index of the tenant is read for it.

        SQLite would rather walk one, in the order that is wanted, than look up the rows of `id IN (…)`; the plus sign
        keeps it from that. Postgres would read one whole beside the rows that hold a word, and compare the two.
        """
        if dialect == "postgres":
            return pw.Expression(self.model.tenant_id, "IS NOT DISTINCT FROM", self.mine.rhs)
        return pw.Expression(pw.NodeList((pw.SQL("+"), self.model.tenant_id), glue=""), pw.OP.EQ, self.mine.rhs)

    def select(self, *columns: pw.Node) -> pw.ModelSelect[T]:
        """Returns a query of the rows, with these columns or all."""
        return self.model.select(*columns).where(self.mine)

    def find(self, id: str, *where: pw.Expression, lock: bool = False) -> T | None:
        """Returns the row if it matches `where`. `lock` keeps other transactions from changing it."""
        def query(rows: Rows[T], id: Any) -> pw.ModelSelect[T]:
            found = rows.select().where(rows.model.id == id, *where)
            return locked(found) if lock else found

        if where:
            return query(self, id).first()
        statement = self._kept(("find", lock), lambda: query(Rows(self.model, Bind("tenant")), Bind("id")))
        found = statement.run(current, {"tenant": self.tenant_id, "id": id})
        return _read(self.model, found[0]) if found else None

    def find_by(self, **values: Any) -> T | None:
        """Returns the row with these values in unique columns, none of them None."""
        statement = self._kept(("find by", *values), lambda: self.model.select().where(*self._with(values)))
        found = statement.run(current, self._bound(values))
        return _read(self.model, found[0]) if found else None

    def find_all(self, ids: Collection[str], *, column: str = "id", lock: bool = False) -> list[T]:
        """Returns the rows whose `column` is one of `ids`, in the order of that column. `lock` locks them."""
        values = placeholders(ids)

        def query() -> pw.ModelSelect[T]:
            field = self.model._meta.fields[column]
            named = field.in_([Bind(name) for name in values])
            found = self.model.select().where(*self._with(()), named).order_by(field)
            return locked(found) if lock else found

        if not values:
            return []
        statement = self._kept(("find all", column, len(values), lock), query)
        return [_read(self.model, row) for row in statement.run(current, {".tenant": self.tenant_id, **values})]

    def insert(self, row: T) -> T:
        """Stores a new row with id, tenant, version 1 and times.

        Raises `AlreadyExists`, `InvalidReference`.
        """
        row.stamp(self.tenant_id, now())
        fields = self.model._meta.fields
        values = stored(row, fields)
        inside = in_row(current, self.model)
        if inside:
            values[WORDS] = vector_of(self.model, values)
        statement = self._kept("insert", lambda: self.model.insert(
            {**{name: Bind(name) for name in fields}, **words_column(current, self.model)}))
        statement.write(current, values)
        if self.model.searched and not inside:
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
        searched = in_row(current, self.model) and not names.isdisjoint(self.model.searched)
        # Of a row that was read with some of its columns, the other texts are not known here.
        words = searched and row.__data__.keys() >= {"tenant_id", *self.model.searched}

        def query() -> pw.ModelUpdate:
            return self.model.update({
                **{name: Bind(name) for name in sorted(names)},
                **(words_column(current, self.model) if words else {})}).where(*self._as_read())

        statement = self._kept((words, frozenset(names)), query)
        values = {**stored(row, names), **stamps, ".tenant": self.tenant_id, ".row": row.id, ".before": row.version}
        if words:
            values[WORDS] = vector_of(self.model, stored(row, ("tenant_id", *self.model.searched)))
        if statement.write(current, values) == 0:
            raise Outdated(f"{self.model.__name__} {row.id}")
        if searched and not words:
            index_again(current, self.model, [row.id])
        # Only now: work that failed may be repeated with the same row.
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
        def query() -> pw.ModelUpdate:
            total, version = column + Bind(".amount"), self.model.version + 1
            changes = {column: total, self.model.version: version, self.model.updated_at: Bind(".at")}
            return self.model.update(changes).where(*self._with(("id",)), total >= 0)

        values = {".tenant": self.tenant_id, "id": id, ".amount": amount, ".at": now()}
        return self._kept(("add", column.name), query).write(current, values) > 0

    def delete(self, row: T) -> None:
        """Deletes a row. Raises `StillReferenced`, and `Outdated` if it was deleted or changed."""
        statement = self._kept("delete", lambda: self.model.delete().where(*self._as_read()))
        values = {".tenant": self.tenant_id, ".row": row.id, ".before": row.version}
        if statement.write(current, values) == 0:
            raise Outdated(f"{self.model.__name__} {row.id}")

    def remove(self, *where: pw.Expression, **values: Any) -> int:
        """Deletes the rows that match `where` and have these values, and their shares. Returns their number.

        None of the values is None. Raises `StillReferenced`.
        """
        fields = self.model._meta.fields
        picked = [self.mine, *where, *(fields[name] == value for name, value in values.items())]
        ids = self.model.select(self.model.id).where(*picked)
        for resource in self._shared():
            # No two rows of whichever table have one id.
            _SHARES.delete().where(_SHARES.tenant_id == self.tenant_id, _SHARES.resource == resource,
                                   _SHARES.object_id.in_(ids)).execute(current)
        return self.model.delete().where(*picked).execute()

    def discard(self, **values: Any) -> int:
        """Remove the rows with these values, none of them None, of a table whose rows nobody shares; their number."""
        statement = self._kept(("discard", *values), lambda: self.model.delete().where(*self._with(values)))
        return statement.write(current, self._bound(values))

    def _shared(self) -> Iterator[str]:
        """The resources of which something is shared in this tenant, each looked up in the index."""
        last: str | None = ""
        while True:
            later = (_SHARES.tenant_id == self.tenant_id) & (_SHARES.resource > last)
            last = _SHARES.select(pw.fn.MIN(_SHARES.resource)).where(later).scalar(current)
            if last is None:
                return
            yield last

    def _with(self, names: Iterable[str]) -> list[pw.Expression]:
        fields = self.model._meta.fields
        return [self.model.tenant_id == Bind(".tenant"), *(fields[name] == Bind(name) for name in names)]

    def _bound(self, values: Mapping[str, Any]) -> dict[str, Any]:
        fields = self.model._meta.fields
        return {".tenant": self.tenant_id, **{name: fields[name].db_value(value) for name, value in values.items()}}

    def _as_read(self) -> list[pw.Expression]:
        """That a row is this tenant's and still as it was read."""
        return [*self._with(()), self.model.id == Bind(".row"), self.model.version == Bind(".before")]

    def _kept(self, what: object, build: Callable[[], pw.Query]) -> Prepared:
        """The statement `what` of this table: building one takes peewee ten times what it takes to run."""
        key = self.model, current.dialect, what
        statement = _statements.get(key)
        if statement is None:
            statement = _statements[key] = prepare(current, build())
        return statement


_statements: dict[object, Prepared] = {}
_SHARES: Any = pw.Table("shares", ("tenant_id", "resource", "object_id"))  # its own class lies above this room


def _read(model: type[T], values: tuple[Any, ...]) -> T:
    """The row with these values of all its columns, in their order; nothing is dirty."""
    row = model(__no_default__=True)
    row.__data__ = _reader(model)(values)
    return row


@cache  # one for each table
def _reader(model: type[Record]) -> Callable[[tuple[Any, ...]], dict[str, Any]]:
    return reader(model._meta.sorted_fields)
