"""Products for sale, with price and stock."""

from __future__ import annotations

from collections.abc import Mapping

import peewee as pw

from models.records.columns import IdField, MoneyField
from models.records.rows import Rows
from models.records.table import Owned


class Product(Owned):
    """A product; `sku` is unique per tenant, `price` counts minor units of `currency`."""

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


def take_stock(tenant_id: str, quantities: Mapping[str, int]) -> list[str]:
    """Takes `wanted` (product id → quantity) from stock. Returns the ids with too little left. Needs a transaction.

    If it returns any id, the transaction must be undone: the other products were taken.
    """
    rows, short = Rows(Product, tenant_id), []
    # Always in the order of ids, so that two orders for the same products cannot deadlock.
    for id in sorted(quantities):
        if not rows.add(Product.stock, -quantities[id], id):
            short.append(id)
    return short


def return_stock(tenant_id: str, quantities: Mapping[str, int]) -> None:
    """Returns `given` (product id → quantity) to stock. Needs a transaction."""
    rows = Rows(Product, tenant_id)
    for id in sorted(quantities):
        rows.add(Product.stock, quantities[id], id)
