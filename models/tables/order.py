"""Orders and their items, with the prices at that time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import attrgetter
from typing import Any

import peewee as pw

from models.engine.database import current
from models.engine.errors import InvalidState, InvalidValue, OutOfStock
from models.records import bulk
from models.records.columns import IdField, MoneyField
from models.records.rows import Rows
from models.records.table import Owned, Record
from models.tables.product import Product, return_stock, take_stock

PRICE = frozenset(("total", "currency"))  # columns that depend on the products
_BEYOND = 2**63  # a total that no column can store; stands for all larger ones, too
Wanted = Sequence[tuple[Product, int]]
"""Products and their quantities."""


class Order(Owned):
    """An order; `total` counts minor units of `currency`.

    ordered  products and quantities of a new order, if known before it is stored
    """

    ordered: Wanted | None = None

    note = pw.TextField(null=True)
    total = MoneyField()
    currency = pw.TextField()
    status = pw.TextField(default="pending")

    class Meta:
        table_name = "orders"


class OrderItem(Record):
    """One item of an order, `position` counted from 0. It is deleted with its order. Its product cannot be deleted."""

    order_id = IdField()
    position = pw.IntegerField()
    product_id = IdField()
    quantity = pw.BigIntegerField()
    unit_price = MoneyField()

    class Meta:
        table_name = "order_items"

    def line(self) -> dict[str, Any]:
        """Returns the fields of the item that the order shows."""
        return {"product_id": self.product_id, "quantity": self.quantity, "unit_price": self.unit_price}


def items_of(tenant_id: str, order_ids: Collection[str]) -> dict[str, list[OrderItem]]:
    """Returns the items of each order by position, with one query for all."""
    items_by_order: dict[str, list[OrderItem]] = {id: [] for id in order_ids}
    items = Rows(OrderItem, tenant_id).find_all(items_by_order, column="order_id")
    for item in sorted(items, key=attrgetter("position")):
        items_by_order[item.order_id].append(item)
    return items_by_order


def quantities(items: Collection[OrderItem]) -> dict[str, int]:
    """Sums the quantities of each product."""
    total: dict[str, int] = {}
    for item in items:
        total[item.product_id] = total.get(item.product_id, 0) + item.quantity
    return total


def leave_unpriced(order: Order) -> None:
    """Removes the price columns, so that code that reads one fails instead of taking it for missing."""
    for name in PRICE:
        order.__data__.pop(name, None)


def price(order: Order, products: Wanted) -> None:
    """Sets the products of a new order, and with them its currency and total."""
    order.ordered, order.currency = products, products[0][0].currency
    order.total = min(sum(product.price * quantity for product, quantity in products), _BEYOND)


def place(order: Order, products: Wanted) -> None:
    """Stores a new order of `products` (product, quantity), with its price, and takes the products from stock. Needs a
    transaction.

    Raises `InvalidState` for products that are not active or differ in currency, and `OutOfStock`, each with the wrong
    items (`items/0`). Raises `InvalidValue` for a total beyond 64 bits. Then the transaction must be undone.
    """
    items = [OrderItem(position=position, product_id=product.id, quantity=quantity, unit_price=product.price)
             for position, (product, quantity) in enumerate(products)]
    price(order, products)
    unsold = [f"items/{position}" for position, (product, _) in enumerate(products) if product.status != "active"]
    if unsold:
        raise InvalidState("Only active products can be ordered.", unsold)
    foreign = [f"items/{position}" for position, (product, _) in enumerate(products)
               if product.currency != order.currency]
    if foreign:
        raise InvalidState("All products of an order have one currency.", foreign)
    if order.total == _BEYOND:
        raise InvalidValue("the total of the order is beyond 64 bits")
    short = take_stock(order.tenant_id, quantities(items))
    if short:
        raise OutOfStock("There is not enough in stock.",
                         [f"items/{item.position}" for item in items if item.product_id in short])
    Rows(Order, order.tenant_id).insert(order)
    for item in items:
        item.order_id = order.id
    bulk.insert(current, order.tenant_id, items)


def give_back(order: Order) -> None:
    """Returns all products of an order to stock, in a transaction that has locked the order's row."""
    return_stock(order.tenant_id, quantities(items_of(order.tenant_id, [order.id])[order.id]))
