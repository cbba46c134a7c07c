"""Random requests for orders and products: stock is never negative, no piece or money is lost or invented, and no step
of an order is skipped.

A model keeps accounts beside the service. hypothesis looks for a sequence of requests after which the two differ.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule, run_state_machine_as_test

from models.tables.order import Order
from models.tables.product import Product

# Copied by hand from docs/reference.md (Collections), not from the collection.
STEPS = {
    ("pending", "approve"): "approved", ("pending", "reject"): "rejected", ("pending", "cancel"): "cancelled",
    ("approved", "ship"): "shipped", ("shipped", "complete"): "completed",
    ("approved", "refund"): "refunded", ("shipped", "refund"): "refunded", ("completed", "refund"): "refunded",
}
TAKEN = ("pending", "approved", "shipped", "completed")


@dataclass
class Sale:
    """The expected state of an order."""

    items: list[tuple[str, int, int]]  # product, quantity, price
    status: str = "pending"
    shipped: bool = False

    @property
    def total(self) -> int:
        return sum(quantity * price for _, quantity, price in self.items)


class Shop(RuleBasedStateMachine):
    """Requests of a manager, and the expected state."""

    given = manager = None
    orders = Bundle("orders")

    def __init__(self) -> None:
        super().__init__()
        self.bought = {}  # pieces that ever came into the shop, by product
        self.prices = {}
        self.sales = {}
        for stock, price in ((0, 3), (1, 500), (5, 10**12)):
            product = self.given.product(stock=stock, price=price)
            self.bought[product.id], self.prices[product.id] = stock, price
        self.products = list(self.bought)

    def left(self, product: str) -> int:
        """Returns the expected pieces in stock."""
        gone = sum(quantity for sale in self.sales.values() for id, quantity, _ in sale.items
                   if id == product and (sale.status in TAKEN or sale.shipped))
        return self.bought[product] - gone

    @rule(target=orders, wanted=st.lists(st.tuples(st.integers(0, 2), st.integers(1, 4)), min_size=1, max_size=3))
    def place(self, wanted):
        items = [(self.products[index], quantity) for index, quantity in wanted]
        needed = {id: sum(quantity for one, quantity in items if one == id) for id, _ in items}
        answer = self.manager.post("/api/orders", {"items": [
            {"product_id": id, "quantity": quantity} for id, quantity in items]})
        if any(needed[id] > self.left(id) for id in needed):
            assert (answer.status_code, answer.json["code"]) == (409, "out_of_stock")
            return ""
        assert answer.status_code == 201
        sale = Sale([(id, quantity, self.prices[id]) for id, quantity in items])
        assert answer.json["total"] == sale.total
        self.sales[answer.json["id"]] = sale
        return answer.json["id"]

    @rule(order=orders, step=st.sampled_from(["approve", "reject", "cancel", "ship", "complete", "refund"]))
    def step(self, order, step):
        if order not in self.sales:
            return
        sale = self.sales[order]
        answer = self.manager.post(f"/api/orders/{order}/{step}")
        after = STEPS.get((sale.status, step))
        assert answer.status_code == (409 if after is None else 200)
        if after is not None:
            sale.shipped = sale.shipped or after == "shipped"
            sale.status = after

    @rule(order=consumes(orders))
    def delete(self, order):
        if order not in self.sales:
            return
        pending = self.sales[order].status == "pending"
        assert self.manager.delete(f"/api/orders/{order}").status_code == (204 if pending else 409)
        if pending:
            del self.sales[order]

    @rule(index=st.integers(0, 2), price=st.integers(0, 10**12))
    def reprice(self, index, price):
        assert self.manager.patch(f"/api/products/{self.products[index]}", {"price": price}).status_code == 200
        self.prices[self.products[index]] = price

    @rule(index=st.integers(0, 2), pieces=st.integers(1, 5))
    def restock(self, index, pieces):
        product = self.products[index]
        self.bought[product] += pieces
        answer = self.manager.patch(f"/api/products/{product}", {"stock": self.left(product)})
        assert answer.status_code == 200

    @invariant()
    def the_shelf_holds_what_the_books_say(self):
        for product in self.products:
            stock = self.given.found(Product, product).stock
            assert stock == self.left(product) >= 0

    @invariant()
    def every_order_is_where_its_steps_led_and_costs_what_it_did(self):
        for id, sale in self.sales.items():
            order = self.given.found(Order, id)
            assert (order.status, order.total) == (sale.status, sale.total)


def test_the_books_of_the_shop_always_balance(given, as_role):
    class ThisShop(Shop):
        pass

    ThisShop.given, ThisShop.manager = given, as_role("manager")
    run_state_machine_as_test(ThisShop, settings=settings(
        max_examples=30, stateful_step_count=30, deadline=None, derandomize=True, database=None,
        suppress_health_check=list(HealthCheck)))


def test_the_machine_would_notice_a_piece_that_is_lost(given, as_role, monkeypatch):
    """A test of the test: one order does not return its pieces."""
    class ThisShop(Shop):
        pass

    ThisShop.given, ThisShop.manager = given, as_role("manager")
    monkeypatch.setattr("blueprints.orders.give_back", lambda order: None)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(ThisShop, settings=settings(
            max_examples=30, stateful_step_count=30, deadline=None, derandomize=True, database=None,
            report_multiple_bugs=False, phases=[Phase.generate], suppress_health_check=list(HealthCheck)))
