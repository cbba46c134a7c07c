"""Orders: what somebody buys, at the server's prices, out of the server's stock."""

from collections.abc import Mapping
from typing import Any

from marshmallow import fields, validate

from blueprints import (
    Call,
    Collection,
    Conflict,
    Fault,
    Int,
    OwnedSchema,
    Problem,
    Reference,
    StrictSchema,
    Text,
    action,
)
from models.base import Rows
from models.order import Order, OrderItem, items_of, quantities
from models.product import return_stock, take_stock


class OrderItemSchema(StrictSchema):
    """One line of an order; the price is the product's at that moment."""

    product_id = Reference("products", required=True)
    quantity = Int(required=True, minimum=1, maximum=1_000_000)
    unit_price = Int(dump_only=True)


class OrderSchema(OwnedSchema):
    """An order. `total` counts minor units of `currency`."""

    items = fields.List(fields.Nested(OrderItemSchema), required=True, validate=validate.Length(min=1, max=100))
    note = Text(maximum=2_000, allow_none=True)
    total = Int(dump_only=True)
    currency = fields.String(dump_only=True)
    status = fields.String(dump_only=True)


class Orders(Collection):
    """What is bought."""

    name, resource = "orders", "order"
    model, schema = Order, OrderSchema
    sort = ("created_at", "updated_at", "total", "status,-created_at")
    filters = {
        "status": ("eq", "ne", "in"),
        "total": ("eq", "lt", "lte", "gt", "gte"),
        "currency": ("eq",),
        "owner_id": ("eq", "in"),
        "created_at": ("gte", "lt"),
    }
    expand = ("owner",)
    create_only = ("items",)
    imports = False  # an order takes stock at today's prices: it cannot be brought along

    def create(self, call: Call, row: Order) -> None:
        items = call.body["items"]
        products = [call.services.collections["products"].visible(call, item["product_id"]) for item in items]
        faults = [Fault("invalid_reference", "There is no such product, or you may not see it.",
                        pointer=f"/items/{index}/product_id")
                  for index, product in enumerate(products) if product is None]
        if faults:
            raise Problem.of(faults, "invalid_body")
        bought = [product for product in products if product is not None]
        if any(product["status"] != "active" for product in bought):
            raise Conflict("Only active products can be ordered.")
        if len({product["currency"] for product in bought}) > 1:
            raise Conflict("All products of an order have one currency.")
        lines = [OrderItem(product_id=item["product_id"], position=index, quantity=item["quantity"],
                           unit_price=product["price"])
                 for index, (item, product) in enumerate(zip(items, bought, strict=True))]
        short = take_stock(row.tenant_id, quantities(lines))
        if short:
            raise Conflict("There is not enough in stock.", "out_of_stock", [
                Fault("out_of_stock", "There is not enough of this in stock.", pointer=f"/items/{line.position}")
                for line in lines if line.product_id in short])
        row.currency, row.total = bought[0]["currency"], sum(line.unit_price * line.quantity for line in lines)
        super().create(call, row)
        for line in lines:
            line.order_id = row.id
        Rows(OrderItem, row.tenant_id).insert_many(lines)

    def update(self, call: Call, row: Order, changes: Mapping[str, Any]) -> None:
        if row.status != "pending":
            raise Conflict("The note can be changed only while the order is pending.")
        super().update(call, row, changes)

    def delete(self, call: Call, row: Order) -> None:
        if row.status != "pending":
            raise Conflict("Only a pending order can be deleted; cancel or refund this one.")
        self._give_back(row)
        super().delete(call, row)

    def attach(self, tenant_id: str, rows: list[dict[str, Any]]) -> None:
        found = items_of(tenant_id, [row["id"] for row in rows])
        for row in rows:
            row["items"] = [{"product_id": item.product_id, "quantity": item.quantity,
                             "unit_price": item.unit_price} for item in found[row["id"]]]

    @action("approve", transitions={"pending": "approved"})
    def approve(self, order: Order) -> None:
        """Accept the order."""

    @action("reject", transitions={"pending": "rejected"})
    def reject(self, order: Order) -> None:
        """Decline the order; its products go back into stock."""
        self._give_back(order)

    @action("cancel", transitions={"pending": "cancelled"})
    def cancel(self, order: Order) -> None:
        """Take the order back; its products go back into stock."""
        self._give_back(order)

    @action("ship", transitions={"approved": "shipped"})
    def ship(self, order: Order) -> None:
        """The products have left."""

    @action("complete", transitions={"shipped": "completed"})
    def complete(self, order: Order) -> None:
        """The products have arrived."""

    @action("refund", transitions={"approved": "refunded", "shipped": "refunded", "completed": "refunded"})
    def refund(self, order: Order) -> None:
        """Pay the money back; what has not been shipped goes back into stock."""
        if order.status == "approved":
            self._give_back(order)

    def _give_back(self, order: Order) -> None:
        return_stock(order.tenant_id, quantities(items_of(order.tenant_id, [order.id])[order.id]))
