"""Base classes of tables: `Table` uses the current database, a `Record` has an id, a tenant, a version and times."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, TypeVar

import peewee as pw

from models.engine.database import current
from models.records.columns import IdField, TimeField
from models.records.ids import new_id


class Table(pw.Model):
    """Base of every table, bound to the current database.

    searched  columns whose words are indexed for `q` when a row is stored (`models.records.search`)
    """

    searched: ClassVar[tuple[str, ...]] = ()

    class Meta:
        database = current
        legacy_table_names = False
        only_save_dirty = True


class Record(Table):
    """A row of a tenant."""

    # peewee's own state of a row, which its type stubs omit
    __data__: dict[str, Any]
    _dirty: set[str]
    _is_new: bool  # only on rows of `new_row`

    id = IdField(primary_key=True)
    tenant_id = IdField()
    version = pw.IntegerField()
    created_at = TimeField()
    updated_at = TimeField()

    def stamp(self, tenant_id: str, at: str) -> None:
        """Sets id, tenant, version and times before the row is first stored. Keeps values that are set already, except
        the tenant."""
        values = self.__data__
        values["id"] = values.get("id") or new_id()
        values["tenant_id"] = tenant_id
        values["version"] = values.get("version") or 1
        values["created_at"] = values.get("created_at") or at
        values["updated_at"] = values.get("updated_at") or at


class Owned(Record):
    """A row with an owner and a department: by default its creator, and the creator's department.

    owns_itself  True if `owner_id` is the row's own id
    """

    owns_itself: ClassVar[bool] = False

    owner_id = IdField(null=True)
    department = pw.TextField(null=True)


R = TypeVar("R", bound=Record)


def new_row(model: type[R], tenant_id: str, at: str) -> R:
    """Returns a row that is not stored yet, with every column: id, version and times, defaults, and None for the rest.
    """
    row = model()
    row.__data__ = {**dict.fromkeys(model._meta.fields), **row.__data__, "id": new_id(), "tenant_id": tenant_id,
                    "version": 1, "created_at": at, "updated_at": at}
    row._is_new = True
    return row


def is_new(row: object) -> bool:
    """True for a row that `new_row` made, also after it was stored: the transaction may still be undone."""
    return hasattr(row, "_is_new")


def stored(row: Table, names: Iterable[str]) -> dict[str, Any]:
    """Returns the values of these columns by name, converted for the database."""
    fields = row._meta.fields
    return {name: fields[name].db_value(row.__data__.get(name)) for name in names}


def whole(row: Table) -> dict[str, Any]:
    """Returns all columns of a new row except a serial number. So rows with and without a value fit one statement."""
    return {name: row.__data__.get(name) for name, field in row._meta.fields.items()
            if not isinstance(field, pw.AutoField)}
