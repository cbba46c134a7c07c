"""What every table has: the current database, and as a `Record` an id, a tenant, a version and times."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, TypeVar

import peewee as pw

from models.engine.database import current
from models.records.columns import IdField, TimeField
from models.records.ids import new_id


class Table(pw.Model):
    """Every table: bound to whichever database is current.

    searched  columns whose words are indexed for `q` when a row is stored (`models.records.search`)
    """

    searched: ClassVar[tuple[str, ...]] = ()

    class Meta:
        database = current
        legacy_table_names = False
        only_save_dirty = True


class Record(Table):
    """A row of a tenant."""

    # peewee's own notes about a row, which its type stubs leave out
    __data__: dict[str, Any]
    _dirty: set[str]
    _is_new: bool  # only where `new_row` made it

    id = IdField(primary_key=True)
    tenant_id = IdField()
    version = pw.IntegerField()
    created_at = TimeField()
    updated_at = TimeField()

    def stamp(self, tenant_id: str, at: str) -> None:
        """Fill what the caller has no say in, before the row is first stored; what is there already stays."""
        values = self.__data__
        values["id"] = values.get("id") or new_id()
        values["tenant_id"] = tenant_id
        values["version"] = values.get("version") or 1
        values["created_at"] = values.get("created_at") or at
        values["updated_at"] = values.get("updated_at") or at


class Owned(Record):
    """A row with an owner and a department: by default its creator, and the creator's department.

    owns_itself  whether `owner_id` is the row's own id
    """

    owns_itself: ClassVar[bool] = False

    owner_id = IdField(null=True)
    department = pw.TextField(null=True)


R = TypeVar("R", bound=Record)


def new_row(model: type[R], tenant_id: str, at: str) -> R:
    """A row that is not stored yet, with every column: its id, version and times, defaults, and None for the rest."""
    row = model()
    row.__data__ = {**dict.fromkeys(model._meta.fields), **row.__data__, "id": new_id(), "tenant_id": tenant_id,
                    "version": 1, "created_at": at, "updated_at": at}
    row._is_new = True
    return row


def is_new(row: object) -> bool:
    """True for a row that `new_row` made, also after it was stored: the transaction may still be undone."""
    return hasattr(row, "_is_new")


def stored(row: Table, names: Iterable[str]) -> dict[str, Any]:
    """The values of these columns, by name, as the database takes them."""
    fields = row._meta.fields
    return {name: fields[name].db_value(row.__data__.get(name)) for name in names}


def whole(row: Table) -> dict[str, Any]:
    """All columns of a new row but a serial number: rows with and without a value fit one statement."""
    return {name: row.__data__.get(name) for name, field in row._meta.fields.items()
            if not isinstance(field, pw.AutoField)}
