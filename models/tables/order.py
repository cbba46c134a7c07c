"""Orders and what was ordered, at the prices of that moment."""

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

PRICE = frozenset(("total", "currency"))  # columns that follow from the products
_BEYOND = 2**63  # a total that no column holds; larger ones are told as this one
Wanted = Sequence[tuple[Product, int]]
"""Products and their quantities."""


class Order(Owned):
    """An order; `total` counts minor units of `currency`.

    wanted  what a new order is about, where that is known before it is stored
    """

    wanted: Wanted | None = None

    note = pw.TextField(null=True)
    total = MoneyField()
    currency = pw.TextField()
    status = pw.TextField(default="pending")

    class Meta:
        table_name = "orders"


class OrderItem(Record):
    """One line of an order, `position` counted from 0. It goes with its order and keeps its product."""

    order_id = IdField()
    position = pw.IntegerField()
    product_id = IdField()
    quantity = pw.BigIntegerField()
    unit_price = MoneyField()

    class Meta:
        table_name = "order_items"

    def line(self) -> dict[str, Any]:
        """What the order says of it."""
        return {"product_id": self.product_id, "quantity": self.quantity, "unit_price": self.unit_price}


def items_of(tenant_id: str, order_ids: Collection[str]) -> dict[str, list[OrderItem]]:
    """The items of each order, in their order, with one query for all."""
    found: dict[str, list[OrderItem]] = {id: [] for id in order_ids}
    items = Rows(OrderItem, tenant_id).find_all(found, column="order_id")
    for item in sorted(items, key=attrgetter("position")):
        found[item.order_id].append(item)
    return found


def quantities(items: Collection[OrderItem]) -> dict[str, int]:
    """How many of each product the items hold together."""
    total: dict[str, int] = {}
    for item in items:
        total[item.product_id] = total.get(item.product_id, 0) + item.quantity
    return total


def leave_unpriced(order: Order) -> None:
    """Leave out the columns of the price, so that what reads one fails, and does not take it for missing."""
    for name in PRICE:
        order.__data__.pop(name, None)


def price(order: Order, wanted: Wanted) -> None:
    """Give a new order its products, and by them its currency and total."""
    order.wanted, order.currency = wanted, wanted[0][0].currency
    order.total = min(sum(product.price * quantity for product, quantity in wanted), _BEYOND)


def place(order: Order, wanted: Wanted) -> None:
    """Store a new order of `wanted` (product, quantity), at its price and out of its stock; in a transaction.

    Raises `InvalidState` for products that are not active or not of one currency, `OutOfStock`, each with the items
    at fault (`items/0`), and `InvalidValue` for a total beyond 64 bits; then the transaction must be undone.
    """
    items = [OrderItem(position=position, product_id=product.id, quantity=quantity, unit_price=product.price)
             for position, (product, quantity) in enumerate(wanted)]
    price(order, wanted)
    unsold = [f"items/{position}" for position, (product, _) in enumerate(wanted) if product.status != "active"]
    if unsold:
        raise InvalidState("Only active products can be ordered.", unsold)
    foreign = [f"items/{position}" for position, (product, _) in enumerate(wanted)
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
    """Put everything that was ordered back into stock, in a transaction that holds the order's row."""
    return_stock(order.tenant_id, quantities(items_of(order.tenant_id, [order.id])[order.id]))
