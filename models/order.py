"""Orders and what was ordered, at the prices of that moment."""

from __future__ import annotations

from collections.abc import Collection

import peewee as pw

from models.base import IdField, MoneyField, Owned, Record, Rows


class Order(Owned):
    """An order; `total` counts minor units of `currency`."""

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


def items_of(tenant_id: str, order_ids: Collection[str]) -> dict[str, list[OrderItem]]:
    """The items of each order, in their order, with one query for all."""
    found: dict[str, list[OrderItem]] = {id: [] for id in order_ids}
    query = Rows(OrderItem, tenant_id).select().where(OrderItem.order_id.in_(list(found)))
    for item in query.order_by(OrderItem.order_id, OrderItem.position) if found else ():
        found[item.order_id].append(item)
    return found


def quantities(items: Collection[OrderItem]) -> dict[str, int]:
    """How many of each product the items hold together."""
    total: dict[str, int] = {}
    for item in items:
        total[item.product_id] = total.get(item.product_id, 0) + item.quantity
    return total
