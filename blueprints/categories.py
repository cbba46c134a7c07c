"""Categories: a tree of topics for articles and products."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gatepost import Call, Collection, Conflict, Name, OwnedSchema, Reference, Slug
from models.tables.category import Category, hold_tree, would_be_cycle


class CategorySchema(OwnedSchema):
    """A topic; the topmost have no parent."""

    name = Name(required=True, metadata={"example": "Walks"})
    slug = Slug(required=True, metadata={"example": "walks"})
    parent_id = Reference("categories", expand="parent", allow_none=True)


class Categories(Collection):
    """A tree of topics."""

    name, resource = "categories", "category"
    model, schema = Category, CategorySchema
    sort = ("created_at", "updated_at", "name")
    default_sort = "name"
    filters = {"slug": ("eq", "in"), "name": ("eq", "contains", "startswith"), "parent_id": ("eq", "isnull")}
    expand = ("parent", "owner")
    import_keys = ("slug",)

    def load_record(self, call: Call) -> Category | None:
        # Before any row, so that two moves cannot wait for each other's categories.
        hold_tree(call.tenant_id)
        category: Category | None = super().load_record(call)
        return category

    def update(self, call: Call, row: Category, changes: Mapping[str, Any]) -> None:
        hold_tree(call.tenant_id)
        if would_be_cycle(row.tenant_id, row.id, changes.get("parent_id")):
            raise Conflict("A category cannot lie below itself.")
        super().update(call, row, changes)
