"""Marks of demo rows: which rows `gatepost init` and `gatepost demo` added, and in which version."""

from __future__ import annotations

from collections.abc import Iterable

import peewee as pw

from models.records.columns import IdField
from models.records.table import Record, Table


class DemoRow(Table):
    """A mark of one row. `kind` is the name of its table. A row with another version was edited since."""

    tenant_id = IdField()
    kind = pw.TextField()
    id = IdField()
    version = pw.IntegerField()

    class Meta:
        table_name = "demo_rows"
        primary_key = pw.CompositeKey("tenant_id", "kind", "id")


def mark(tenant_id: str, model: type[Record], *where: pw.Expression) -> int:
    """Marks the rows of a tenant that match `where`, unless they are marked. Returns their number."""
    kind = model._meta.table_name
    rows = model.select(model.tenant_id, pw.Value(kind), model.id, model.version).where(
        model.tenant_id == tenant_id, model.id.not_in(ids_of(tenant_id, model)), *where)
    columns = [DemoRow.tenant_id, DemoRow.kind, DemoRow.id, DemoRow.version]
    return int(DemoRow.insert_from(rows, columns).as_rowcount().execute())


def ids_of(tenant_id: str, model: type[Record]) -> pw.ModelSelect[DemoRow]:
    """Selects the ids of the marked rows of a table."""
    return DemoRow.select(DemoRow.id).where(_of(tenant_id, model))


def marks(tenant_id: str, model: type[Record]) -> dict[str, int]:
    """Returns the marked version of each marked row of a table, by id."""
    return {one.id: one.version for one in DemoRow.select(DemoRow.id, DemoRow.version).where(_of(tenant_id, model))}


def unmark(tenant_id: str, model: type[Record], ids: Iterable[str]) -> None:
    """Deletes the marks of these rows; some hundred at a time."""
    DemoRow.delete().where(_of(tenant_id, model), DemoRow.id.in_(list(ids))).execute()


def _of(tenant_id: str, model: type[Record]) -> pw.Expression:
    return (DemoRow.tenant_id == tenant_id) & (DemoRow.kind == model._meta.table_name)
