"""Categories: a tree in which products and articles are filed."""

from __future__ import annotations

from typing import Any

import peewee as pw

from models.engine.database import current
from models.records.columns import IdField
from models.records.rows import Rows
from models.records.table import Owned
from models.tables.tenant import Tenant


class Category(Owned):
    """A node of the tree; `parent_id` is null at the top, `slug` unique per tenant."""

    name = pw.TextField()
    slug = pw.TextField()
    parent_id = IdField(null=True)

    class Meta:
        table_name = "categories"


def hold_tree(tenant_id: str) -> None:
    """Keep other transactions from moving the tenant's categories until this one ends.

    Two moves at once, each harmless, could close a circle between them.
    """
    # On SQLite a transaction already has the database for itself. New rows of the tenant do not wait for this.
    if current.dialect == "postgres":
        lock: Any = "FOR NO KEY UPDATE"  # peewee takes the words, and its types only know True
        Tenant.select(Tenant.id).where(Tenant.id == tenant_id).for_update(lock).execute()


def would_be_cycle(tenant_id: str, id: str, parent_id: str | None) -> bool:
    """Whether `parent_id` is the category `id` itself or lies below it."""
    # Chains are short, and one lookup by primary key per link is the same on both databases.
    rows, seen = Rows(Category, tenant_id), {id}
    while parent_id is not None:
        if parent_id in seen:
            return True
        seen.add(parent_id)
        parent = rows.find(parent_id)
        parent_id = parent.parent_id if parent else None
    return False
