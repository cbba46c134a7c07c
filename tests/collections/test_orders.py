"""Orders: the server sets prices and stock, and every piece is sold or returned exactly once."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from models.base import Rows
from models.tables.order import Order, OrderItem
from models.tables.product import Product
from tests.apps import NO_ROW
from tests.samples import sampled


def order_of(*items, **more):
    return {"items": [{"product_id": product.id, "quantity": quantity} for product, quantity in items], **more}


@pytest.fixture
def stock(given):
    return lambda product: given.found(Product, product.id).stock


# Placing


def test_prices_total_and_currency_are_the_servers(as_role, given, stock):
    pen, book = given.product(price=150), given.product(price=2000)
    placed = as_role("user").post("/api/orders", order_of((pen, 3), (book, 1), note="By Friday."))
    assert placed.status_code == 201
    order = placed.json
    assert (order["total"], order["currency"], order["status"]) == (2450, "EUR", "pending")
    assert [(item["product_id"], item["quantity"], item["unit_price"]) for item in order["items"]] == [
        (pen.id, 3, 150), (book.id, 1, 2000)]
    assert (stock(pen), stock(book)) == (7, 9)


def test_a_later_price_changes_no_order(as_role, given):
    pen = given.product(price=150)
    path = as_role("user").post("/api/orders", order_of((pen, 1))).headers["Location"]
    assert as_role("manager").patch(f"/api/products/{pen.id}", {"price": 999}).status_code == 200
    order = as_role("user").get(path).json
    assert (order["total"], order["items"][0]["unit_price"]) == (150, 150)


def test_one_product_may_stand_in_several_items(as_role, given, stock):
    pen = given.product(stock=5, price=10)
    assert as_role("user").post("/api/orders", order_of((pen, 3), (pen, 3))).json["code"] == "out_of_stock"
    assert stock(pen) == 5
    assert as_role("user").post("/api/orders", order_of((pen, 3), (pen, 2))).json["total"] == 50
    assert stock(pen) == 0


@pytest.mark.both_databases
def test_what_is_short_is_named_and_nothing_is_taken(as_role, given, stock):
    plenty, short = given.product(stock=5), given.product(stock=1)
    answer = as_role("user").post("/api/orders", order_of((plenty, 1), (short, 2)))
    assert (answer.status_code, answer.json["code"]) == (409, "out_of_stock")
    assert [fault["pointer"] for fault in answer.json["errors"]] == ["/items/1"]
    assert (stock(plenty), stock(short)) == (5, 1)


def test_a_product_that_is_absent_hidden_or_elsewhere_is_one_and_the_same(as_role, given, elsewhere):
    items = [{"product_id": id, "quantity": 1}
             for id in (given.product().id, given.product("draft").id, elsewhere.product().id, NO_ROW)]
    answer = as_role("user").post("/api/orders", {"items": items})
    assert (answer.status_code, answer.json["code"]) == (400, "invalid_body")
    assert [(fault["code"], fault["pointer"]) for fault in answer.json["errors"]] == [
        ("invalid_reference", f"/items/{index}/product_id") for index in (1, 2, 3)]
    assert len({fault["detail"] for fault in answer.json["errors"]}) == 1


def test_only_active_products_of_one_currency_can_be_ordered(as_role, given):
    manager = as_role("manager")  # a role that sees archived products
    for other in (given.product("draft"), given.product("archived"), given.product(currency="USD")):
        answer = manager.post("/api/orders", order_of((given.product(), 1), (other, 1)))
        assert (answer.status_code, answer.json["code"]) == (409, "conflict")
        assert [(fault["code"], fault["pointer"]) for fault in answer.json["errors"]] == [("conflict", "/items/1")]


@pytest.mark.both_databases
def test_a_total_beyond_64_bits_is_refused(as_role, given, stock):
    dear = [given.product(price=10**12, stock=10**6) for _ in range(10)]
    answer = as_role("user").post("/api/orders", order_of(*((product, 10**6) for product in dear)))
    assert answer.status_code == 400
    assert {stock(product) for product in dear} == {10**6}


@pytest.mark.parametrize("quantity", [0, -1, 1.5, "1", True, None, 10**6 + 1, 2**63])
def test_a_quantity_is_a_whole_positive_number(as_role, given, quantity):
    answer = as_role("user").post("/api/orders", order_of((given.product(), quantity)))
    assert answer.status_code == 400


@pytest.mark.parametrize("items", [[], {}, None, [[]], [{}], [{"product_id": NO_ROW}]], ids=str)
def test_an_order_has_items(as_role, items):
    assert as_role("user").post("/api/orders", {"items": items}).status_code == 400


# Changing and ending


STEPS = {
    "approve": ("pending", "approved"),
    "reject": ("pending", "rejected"),
    "cancel": ("pending", "cancelled"),
    "ship": ("approved", "shipped"),
    "complete": ("shipped", "completed"),
}
STATES = ("pending", "approved", "rejected", "cancelled", "shipped", "completed", "refunded")
REFUNDABLE = ("approved", "shipped", "completed")
GIVES_BACK = {("reject", "pending"), ("cancel", "pending"), ("refund", "approved")}


@pytest.mark.parametrize("step", [*STEPS, "refund"])
@pytest.mark.parametrize("state", sampled(STATES, 2))
def test_every_step_leads_from_its_states_only_and_gives_back_what_was_not_shipped(
        as_role, given, stock, state, step):
    product = given.product(stock=4)
    order = given.order(state, product=product, quantity=3)
    answer = as_role("manager").post(f"/api/orders/{order.id}/{step}")
    if (step == "refund" and state in REFUNDABLE) or (step in STEPS and STEPS[step][0] == state):
        assert answer.json["status"] == ("refunded" if step == "refund" else STEPS[step][1])
        assert stock(product) == (7 if (step, state) in GIVES_BACK else 4)
        assert as_role("manager").post(f"/api/orders/{order.id}/{step}").status_code == 409
    else:
        assert (answer.status_code, answer.json["code"]) == (409, "invalid_transition")
        assert answer.json["errors"][0]["meta"]["from"] == state
        assert given.found(Order, order.id).status == state
    assert stock(product) == (7 if (step, state) in GIVES_BACK else 4)


@pytest.mark.parametrize("state", STATES)
def test_only_a_pending_order_can_be_deleted_or_noted_on(as_role, given, stock, state):
    product = given.product(stock=4)
    order = given.order(state, product=product, quantity=3, note="Before.")
    manager, path = as_role("manager"), f"/api/orders/{order.id}"
    noted, whole = manager.patch(path, {"note": "After."}), manager.put(path, manager.get(path).json)
    deleted = manager.delete(path)
    if state == "pending":
        assert (noted.status_code, whole.status_code, deleted.status_code) == (200, 200, 204)
        assert stock(product) == 7
        with given.database.connected():
            assert not Rows(OrderItem, given.tenant_id).select().where(OrderItem.order_id == order.id).exists()
    else:
        assert (noted.status_code, noted.json["code"]) == (409, "conflict")
        assert (deleted.status_code, deleted.json["code"]) == (409, "conflict")
        assert whole.status_code == 200, "what was read can be put back"
        assert (stock(product), given.found(Order, order.id).note) == (4, "Before.")


def test_items_cannot_be_changed(as_role, given):
    order = given.order(quantity=2)
    manager, path = as_role("manager"), f"/api/orders/{order.id}"
    items = manager.get(path).json["items"]
    assert manager.patch(path, {"items": items}).status_code == 200
    more = [{**items[0], "quantity": 3}]
    for answer in (manager.patch(path, {"items": more}), manager.put(path, {"items": more})):
        assert answer.json["code"] == "read_only_field"


def test_allowed_actions_follow_the_state_of_an_order(as_role, given):
    def told(who, order):
        return set(as_role(who).get(f"/api/orders/{order.id}?fields=allowed_actions").json["allowed_actions"])

    customer = as_role("user").id
    pending, approved = (given.order(state, owner_id=customer) for state in ("pending", "approved"))
    assert told("user", pending) == {"update", "cancel"}
    assert told("user", approved) == set()
    assert told("support", pending) == {"update"}
    assert told("support", approved) == {"refund"}
    assert told("manager", pending) == {"update", "delete", "share", "approve", "reject", "cancel"}
    assert told("manager", approved) == {"share", "ship", "refund"}


@pytest.mark.both_databases
def test_a_product_with_orders_and_a_customer_with_orders_stay(as_role, given):
    order = given.order(owner_id=given.user().id)
    with given.database.connected():
        item = Rows(OrderItem, given.tenant_id).select().where(OrderItem.order_id == order.id).get()
    for path in (f"/api/products/{item.product_id}", f"/api/users/{order.owner_id}"):
        answer = as_role("owner").delete(path)
        assert (answer.status_code, answer.json["code"]) == (409, "still_referenced")
        assert as_role("owner").get(path).status_code == 200


# Many at once


def at_once(calls):
    """Runs each call in its own thread. Returns the counts of their status codes."""
    with ThreadPoolExecutor(len(calls)) as pool:
        return Counter(answer.status_code for answer in pool.map(lambda call: call(), calls))


@pytest.mark.both_databases
def test_many_orders_at_once_for_the_last_piece_sell_it_once(as_user, given, stock):
    last = given.product(stock=1)
    buyers = [as_user("user") for _ in range(24)]  # as many as may wait for the database
    answers = at_once([lambda buyer=buyer: buyer.post("/api/orders", order_of((last, 1))) for buyer in buyers])
    assert answers == {201: 1, 409: 23}
    assert stock(last) == 0


@pytest.mark.both_databases
def test_orders_for_the_same_products_in_any_order_wait_for_one_another_and_end(as_user, given, stock):
    one, two = given.product(stock=100), given.product(stock=100)
    buyer = as_user("user")
    both = [order_of((one, 1), (two, 1)), order_of((two, 1), (one, 1))]
    answers = at_once([lambda index=index: buyer.post("/api/orders", both[index % 2]) for index in range(24)])
    assert answers == {201: 24}
    assert (stock(one), stock(two)) == (76, 76)


@pytest.mark.both_databases
@pytest.mark.parametrize("end", ["cancel", "reject", "delete"])
def test_ending_an_order_many_times_at_once_gives_its_stock_back_once(as_role, given, stock, end):
    product = given.product(stock=0)
    path = f"/api/orders/{given.order(product=product, quantity=2).id}"
    manager = as_role("manager")
    answers = at_once([lambda: manager.delete(path) if end == "delete" else manager.post(f"{path}/{end}")] * 8)
    assert answers == ({204: 1, 404: 7} if end == "delete" else {200: 1, 409: 7})
    assert stock(product) == 2


@pytest.mark.both_databases
def test_cancelling_and_approving_at_once_do_one_or_the_other(as_role, given, stock):
    for _ in range(6):
        product = given.product(stock=0)
        path = f"/api/orders/{given.order(product=product, quantity=2).id}"
        manager = as_role("manager")
        answers = at_once([lambda path=path, step=step, manager=manager: manager.post(f"{path}/{step}")
                           for step in ("cancel", "approve") * 2])
        assert answers == {200: 1, 409: 3}
        status = manager.get(path).json["status"]
        assert stock(product) == {"cancelled": 2, "approved": 0}[status]


@pytest.mark.both_databases
def test_taking_a_product_off_sale_and_ordering_it_are_one_after_the_other(as_role, as_user, given):
    buyer, manager = as_user("user"), as_role("manager")
    for _ in range(5):
        product = given.product(price=10, stock=10)
        path = f"/api/products/{product.id}"
        answers = at_once([
            *[lambda product=product: buyer.post("/api/orders", order_of((product, 1)))] * 3,
            lambda path=path: manager.post(f"{path}/archive"),
        ])
        assert set(answers) <= {200, 201, 400, 409}
        assert given.found(Product, product.id).stock == 10 - answers[201]
