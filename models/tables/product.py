"""Products: what can be ordered, at which price, and how many are left."""

from __future__ import annotations

from collections.abc import Mapping

import peewee as pw

from models.records.columns import IdField, MoneyField
from models.records.rows import Rows
from models.records.table import Owned


class Product(Owned):
    """Something for sale; `sku` is unique per tenant, `price` counts minor units of `currency`."""

    searched = ("name", "description")

    name = pw.TextField()
    sku = pw.TextField()
    description = pw.TextField(null=True)
    price = MoneyField()
    currency = pw.TextField()
    stock = pw.BigIntegerField(default=0)
    category_id = IdField(null=True)
    status = pw.TextField(default="draft")

    class Meta:
        table_name = "products"


def take_stock(tenant_id: str, wanted: Mapping[str, int]) -> list[str]:
    """Take `wanted` (product id → quantity) from stock, in a transaction; the ids with too little left.

    Any id in the answer means that the transaction must be undone: the others were taken.
    """
    rows, short = Rows(Product, tenant_id), []
    # Always in the order of ids: two orders for the same products cannot wait for each other in a circle.
    for id in sorted(wanted):
        if not rows.add(Product.stock, -wanted[id], id):
            short.append(id)
    return short


def return_stock(tenant_id: str, given: Mapping[str, int]) -> None:
    """Put `given` (product id → quantity) back into stock, inside a transaction."""
    rows = Rows(Product, tenant_id)
    for id in sorted(given):
        rows.add(Product.stock, given[id], id)
