"""Categories: a tree of groups for products and articles."""

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
    """Keeps other transactions from moving the tenant's categories until this one ends.

    Two concurrent moves, each valid alone, could form a cycle together.
    """
    # On SQLite a transaction has the whole database already. New rows of the tenant do not wait for this lock.
    if current.dialect == "postgres":
        lock: Any = "FOR NO KEY UPDATE"  # peewee accepts the words, but its types only allow True
        Tenant.select(Tenant.id).where(Tenant.id == tenant_id).for_update(lock).execute()


def would_be_cycle(tenant_id: str, id: str, parent_id: str | None) -> bool:
    """True if `parent_id` is the category `id` itself or a descendant of it."""
    # Chains are short, and one lookup by primary key for each link works alike on both databases.
    rows, ancestors = Rows(Category, tenant_id), {id}
    while parent_id is not None:
        if parent_id in ancestors:
            return True
        ancestors.add(parent_id)
        parent = rows.find(parent_id)
        parent_id = parent.parent_id if parent else None
    return False
