"""Orders: what a customer buys, at the server's prices, out of the server's stock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from marshmallow import fields

from gatepost import Call, Collection, Int, Many, OwnedSchema, Reference, StrictSchema, Text, action, transition
from gatepost.http.protocol.problems import Problem
from gatepost.http.writing.actions import Conflict
from gatepost.http.writing.rules_in_code import RuleInCode, by_state
from models.tables.order import PRICE, Order, Wanted, give_back, items_of, leave_unpriced, place, price


class OrderItemSchema(StrictSchema):
    """One line of an order; the price is the product's at that moment."""

    product_id = Reference("products", expand="product", required=True)
    quantity = Int(required=True, minimum=1, maximum=1_000_000, metadata={"example": 1})
    unit_price = Int(dump_only=True, minimum=0, metadata={"minor_units_of": "currency"})


class OrderSchema(OwnedSchema):
    """An order. `total` counts minor units of `currency`."""

    items = Many(fields.Nested(OrderItemSchema), required=True, minimum=1, maximum=100)
    note = Text(maximum=2_000, allow_none=True, metadata={"example": "Ring twice."})
    total = Int(dump_only=True, minimum=0, metadata={"minor_units_of": "currency"})
    currency = fields.String(dump_only=True)
    status = fields.String(dump_only=True)


class Orders(Collection):
    """Orders of users."""

    name, resource = "orders", "order"
    model, schema = Order, OrderSchema
    sort = ("created_at", "updated_at", "total", "status,-created_at")
    filters = {"status": ("eq", "ne", "in"), "total": ("eq", "lt", "lte", "gt", "gte"), "currency": ("eq",),
               "owner_id": ("eq", "in"), "created_at": ("gte", "lt")}
    expand = ("owner", "items.product")
    view_guarded = {"total": "view_total", "items.unit_price": "view_total"}
    create_only = ("items",)
    on_erase, anonymised = "anonymise", {"note": None}
    overview = ("status", "total", "owner_id", "created_at")
    imports = False  # an order takes stock at current prices, so it cannot be imported

    def create(self, call: Call, row: Order) -> None:
        place(row, row.ordered or self._ordered_products(call))

    def derive(self, call: Call, row: Order) -> Iterable[str]:
        if PRICE.isdisjoint(call.access.policy.looks_at((self.permission("create"), self.manage)).obj):
            leave_unpriced(row)  # no rule reads the price, and computing it takes a statement
            return ()
        try:
            price(row, self._ordered_products(call))
        except Problem:
            return PRICE  # the problem is raised after the decision; the price of a hidden product stays unknown
        return ()

    def _ordered_products(self, call: Call) -> Wanted:
        """Returns the ordered products with their quantities. Raises `Problem` for those that the caller may not view.
        """
        items = call.body["items"]
        products = call.services.collections["products"].referred(
            call, [item["product_id"] for item in items], "/items/{}/product_id")
        return [(product, item["quantity"]) for product, item in zip(products, items, strict=True)]

    def update(self, call: Call, row: Order, changes: Mapping[str, Any]) -> None:
        if changes.get("note", row.note) != row.note:
            self._require_pending(row, "update")
        super().update(call, row, changes)

    def delete(self, call: Call, row: Order) -> None:
        self._require_pending(row, "delete")
        give_back(row)
        super().delete(call, row)

    def allowed_actions(self, call: Call, row: Mapping[str, Any]) -> list[str]:
        return [verb for verb in super().allowed_actions(call, row)
                if self._refusal_by_state(row["status"], verb) is None]

    def rules_in_code(self, call: Call, verb: str, row: Order | None) -> Iterator[RuleInCode]:
        yield from super().rules_in_code(call, verb, row)
        if row is not None and verb in ("update", "delete"):
            yield by_state(row.status, self._refusal_by_state(row.status, verb))

    @staticmethod
    def _refusal_by_state(status: str, verb: str) -> Conflict | None:
        """Returns the refusal to change or delete an order that is no longer pending; None if it is pending."""
        if status != "pending" and verb == "update":
            return Conflict("The note can be changed only while the order is pending.")
        if status != "pending" and verb == "delete":
            return Conflict("Only a pending order can be deleted; cancel or refund this one.")
        return None

    def _require_pending(self, order: Order, verb: str) -> None:
        if (refusal := self._refusal_by_state(order.status, verb)) is not None:
            raise refusal

    def attach(self, tenant_id: str, rows: list[dict[str, Any]]) -> None:
        items_by_order = items_of(tenant_id, [row["id"] for row in rows])
        for row in rows:
            row["items"] = [item.line() for item in items_by_order[row["id"]]]

    approve = transition("approve", "Accept it.", {"pending": "approved"})
    ship = transition("ship", "Its products have left.", {"approved": "shipped"})
    complete = transition("complete", "Its products have arrived.", {"shipped": "completed"})

    @action("reject", transitions={"pending": "rejected"})
    def reject(self, order: Order) -> None:
        """Decline it; its products go back into stock."""
        give_back(order)

    @action("cancel", transitions={"pending": "cancelled"})
    def cancel(self, order: Order) -> None:
        """Take it back; its products go back into stock."""
        give_back(order)

    @action("refund", transitions={"approved": "refunded", "shipped": "refunded", "completed": "refunded"})
    def refund(self, order: Order) -> None:
        """Pay the money back; what has not been shipped goes back into stock."""
        if order.status == "approved":
            give_back(order)
