"""Fields that need a permission of their own to be set: no request sets one without it."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import given as drawn
from hypothesis import strategies as st

from gatepost.http.request.access import Access
from models.base import new_id
from models.tables.product import Product
from models.tables.user import User
from policies import Principal
from policies.evaluation.principal import FixedEnvironment
from tests.http.console.pages import visit

# Mechanics change products, but only owners change prices. Mechanics may not see what is hidden from them.
RULES = """\
p, support, product.view,      always, allow
p, support, product.create,    always, allow
p, support, product.update,    always, allow
p, support, product.import,    always, allow
p, support, product.export,    always, allow
p, owner,   product.set_price, always, allow
"""
NEW = {"name": "Desk", "currency": "EUR", "price": 700}
PRICE = 500


@pytest.fixture(scope="module")
def workshop(under):
    return under("", {"products.csv": RULES})


def client_of(app, caller):
    caller.client = app.test_client()
    return caller


@pytest.fixture
def mechanic(workshop, as_user):
    return client_of(workshop, as_user("support"))


@pytest.fixture
def owner(workshop, as_user):
    return client_of(workshop, as_user("owner"))


@pytest.fixture
def product(given):
    return given.product("active", price=PRICE, stock=3)


def price_of(given, product):
    return given.found(Product, product.id).price


def prices_in(given):
    """Returns the price of each product by its id."""
    with given.database.connected():
        return dict(Product.select(Product.id, Product.price).tuples())


def body_of(product, **changes):
    return {"name": product.name, "sku": product.sku, "currency": product.currency, "price": product.price} | changes


def line(caller, row, **query):
    text = "&".join(f"{name}={value}" for name, value in query.items())
    return caller.post(f"/api/products/import?{text}", data=json.dumps(row).encode(),
                       content_type="application/x-ndjson")


def refused(answer):
    problem = answer.get_json()
    assert (answer.status_code, problem["code"]) == (403, "forbidden")
    assert problem["detail"] == "The policy does not allow product.set_price here."
    [fault] = problem["errors"]
    assert (fault["code"], fault["pointer"]) == ("forbidden", "/price")
    assert fault["detail"] == "To set this field, you need product.set_price."


def test_who_may_update_and_not_set_the_field_gets_403_that_names_it(mechanic, product, given):
    path = f"/api/products/{product.id}"
    refused(mechanic.patch(path, {"price": 1}))
    refused(mechanic.put(path, body_of(product, price=1)))
    refused(mechanic.post("/api/products", NEW | {"sku": new_id()}))
    assert price_of(given, product) == PRICE


def test_all_else_of_the_row_can_be_changed_also_with_the_price_that_it_has(mechanic, product, given):
    path = f"/api/products/{product.id}"
    assert mechanic.patch(path, {"stock": 7}).status_code == 200
    assert mechanic.patch(path, {"stock": 8, "price": PRICE}).status_code == 200
    assert mechanic.put(path, body_of(product, stock=9)).status_code == 200
    assert (given.found(Product, product.id).stock, price_of(given, product)) == (9, PRICE)


def test_who_has_the_permission_sets_the_field(owner, product, given):
    path = f"/api/products/{product.id}"
    assert owner.patch(path, {"price": 1}).status_code == 200
    assert price_of(given, product) == 1
    assert owner.put(path, body_of(product, price=2)).status_code == 200
    assert owner.post("/api/products", NEW | {"sku": new_id()}).status_code == 201


def test_a_line_of_an_import_is_refused_at_its_field(mechanic, product, given):
    for query in ({}, {"dry_run": "true", "on_error": "skip"}):
        answer = line(mechanic, {"id": product.id, "price": 1}, **query).get_json()
        [fault] = answer["errors"]
        assert (fault["pointer"], fault["code"]) == ("/price", "forbidden")
    assert line(mechanic, {**NEW, "sku": new_id()}).get_json()["errors"][0]["pointer"] == "/price"
    assert line(mechanic, {"sku": product.sku, "price": PRICE, "stock": 1}, key="sku").status_code == 200
    assert price_of(given, product) == PRICE


def test_until_a_rule_names_the_permission_update_and_create_decide(as_role, product, given, app):
    manager = as_role("manager")
    assert manager.patch(f"/api/products/{product.id}", {"price": 1}).status_code == 200
    assert manager.post("/api/products", NEW | {"sku": new_id()}).status_code == 201
    assert price_of(given, product) == 1


@pytest.fixture(scope="module")
def denied(under):
    return under("", {"products.csv": RULES.replace("p, owner,   product.set_price, always, allow",
                                                    "p, support, product.set_price, always, deny")})


def test_a_rule_that_denies_the_permission_refuses_new_rows_too_and_nobody_else(denied, as_user, product, given):
    mechanic, manager = client_of(denied, as_user("support")), client_of(denied, as_user("manager"))
    refused(mechanic.patch(f"/api/products/{product.id}", {"price": 1}))
    refused(mechanic.post("/api/products", NEW | {"sku": new_id()}))
    assert manager.patch(f"/api/products/{product.id}", {"price": 2}).status_code == 200
    assert manager.post("/api/products", NEW | {"sku": new_id()}).status_code == 201


@pytest.fixture(scope="module")
def cheap(under):
    return under("    p.when == 'cheap' && r.obj.price < 1000 || \\\n", {"products.csv": RULES.replace(
        "owner,   product.set_price, always", "support, product.set_price, cheap ")})


def test_the_condition_is_asked_of_the_row_as_it_was_and_as_it_becomes(cheap, as_user, given):
    mechanic = client_of(cheap, as_user("support"))
    low, high = (given.product("active", price=price) for price in (500, 5000))
    assert mechanic.patch(f"/api/products/{low.id}", {"price": 999}).status_code == 200
    refused(mechanic.patch(f"/api/products/{low.id}", {"price": 1000}))
    refused(mechanic.patch(f"/api/products/{high.id}", {"price": 10}))
    assert line(mechanic, {"id": low.id, "price": 1000}).get_json()["errors"][0]["pointer"] == "/price"
    assert mechanic.post("/api/products", NEW | {"sku": new_id(), "price": 999}).status_code == 201
    refused(mechanic.post("/api/products", NEW | {"sku": new_id(), "price": 1000}))
    assert (price_of(given, low), price_of(given, high)) == (999, 5000)


def test_the_owner_of_a_row_can_be_set_by_a_permission_of_its_own(under, as_user, given):
    app = under("", {"products.csv": RULES + "p, support, product.set_owner, always, allow\n"})
    mechanic, manager = client_of(app, as_user("support")), client_of(app, as_user("manager"))
    product, other = given.product("active"), given.user("user")
    assert mechanic.patch(f"/api/products/{product.id}", {"owner_id": other.id}).status_code == 200
    assert given.found(Product, product.id).owner_id == other.id
    editor = client_of(app, as_user("editor"))
    assert editor.patch(f"/api/products/{product.id}", {"owner_id": other.id}).status_code == 403
    assert manager.patch(f"/api/products/{product.id}", {"owner_id": manager.user.id}).status_code == 200


def test_a_role_can_be_set_by_one_who_does_not_manage_users_within_the_rank(under, as_user, given):
    app = under("", {"users.csv": "p, support, user.update, always, allow\np, support, user.set_role, always, allow\n"
                                  "p, support, user.view_private, always, allow\n"})
    support, user = client_of(app, as_user("support")), given.user("user")
    path = f"/api/users/{user.id}"
    assert support.patch(path, {"role": "support"}).status_code == 200
    assert given.found(User, user.id).role == "support"
    answer = support.patch(path, {"groups": ["atlas"]})
    assert (answer.status_code, answer.get_json()["code"]) == (400, "read_only_field")
    assert support.patch(path, {"role": "admin"}).status_code == 403


def test_the_audit_event_of_a_refusal_names_the_permission_and_of_a_change_as_well(
        mechanic, owner, product, as_role, given, workshop):
    path = f"/api/products/{product.id}"
    refused(mechanic.patch(path, {"price": 1}))
    assert owner.patch(path, {"price": 1}).status_code == 200
    admin = client_of(workshop, as_role("admin"))
    workshop.extensions["gatepost"].audit_writer.flush()
    events = admin.get(f"/api/audit?resource_id={product.id}").get_json()["items"]
    asked = {event["result"]: event["facts"]["asked"] for event in events if event["action"] == "update"}
    assert set(map(tuple, asked.values())) == {("product.view", "product.update", "product.set_price")}
    assert {*asked} == {"refused", "allowed"}


def test_a_form_of_the_console_has_no_field_that_the_caller_may_not_set(workshop, mechanic, owner, product):
    products = workshop.extensions["gatepost"].collections["products"]
    row = {**product.__data__}

    def fixed(caller, **of):
        policy = workshop.extensions["gatepost"].policy.current
        principal = Principal(caller.user.id, f"user:{caller.user.id}", caller.user.role, caller.user.tenant_id)
        return products.fixed_for(Access(policy, principal, FixedEnvironment()), **of)

    assert fixed(mechanic, row=row) == {"owner_id", "price"} == fixed(mechanic, row=None, creates=True)
    assert fixed(owner, row=row) == set() == fixed(owner, row=None, creates=True)


PRICES = st.one_of(st.none(), st.integers(0, 1000).filter(lambda price: price != PRICE))
CHANGING = ("patch", "put", "import", "import by key", "form")
CREATING = ("create", "import new", "repeat")
WAYS = st.sampled_from((*CHANGING, *CREATING, "dry run"))


def attempt(caller, desk, product, way, price, extra):
    """Sends a price in one of many ways; `desk` is the same user on the console. Returns the answers."""
    path, key = f"/api/products/{product.id}", {"Idempotency-Key": new_id()}
    change = {"price": price, **extra}
    if way == "patch":
        return [caller.patch(path, change)]
    if way == "put":
        return [caller.put(path, body_of(product, **change))]
    if way == "import":
        return [line(caller, {"id": product.id, **change}, on_error="skip")]
    if way == "import by key":
        return [line(caller, {"sku": product.sku, **change}, key="sku")]
    if way == "dry run":
        return [line(caller, {"id": product.id, **change}, dry_run="true")]
    if way == "create":
        return [caller.post("/api/products", NEW | {"sku": new_id(), **change})]
    if way == "import new":
        return [line(caller, NEW | {"sku": new_id(), **change}, on_error="skip")]
    if way == "form":
        form = {"name": product.name, "sku": product.sku, "currency": product.currency, **extra}
        typed = {name: "" if value is None else str(value) for name, value in form.items()}
        amount = "" if price is None else f"{price / 100:.2f}"
        return [desk.post(f"/console/data/products/{product.id}/update", typed | {"price": amount})]
    return [caller.post("/api/products", NEW | {"sku": key["Idempotency-Key"], **change}, headers=key)
            for _ in range(2)]


def walk(given, mechanic, desk, steps):
    """Sends these attempts, and compares the prices before and after."""
    product = given.product("active", price=PRICE)
    before = prices_in(given)
    for way, price, extra in steps:
        for answer in attempt(mechanic, desk, product, way, price, extra):
            assert answer.status_code < 500
        assert prices_in(given) == before, (way, price, extra)


STEPS = st.lists(st.tuples(WAYS, PRICES, st.fixed_dictionaries({}, optional={
    "stock": st.integers(0, 9), "name": st.just("Chair"), "description": st.none()})), min_size=1, max_size=6)


@pytest.mark.parametrize("way", [*CHANGING, *CREATING])
def test_with_the_permission_each_way_sets_a_price(way, given, workshop, owner, product):
    """Otherwise the tests below would prove nothing."""
    before = prices_in(given)
    answers = attempt(owner, visit(workshop, owner.user), product, way, 123, {})
    assert {answer.status_code for answer in answers} <= {200, 201, 303}
    if way in CHANGING:
        assert price_of(given, product) == 123
    else:
        [made] = prices_in(given).keys() - before.keys()
        assert prices_in(given)[made] == 123


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@drawn(steps=STEPS)
def test_no_sequence_of_requests_sets_a_price_without_the_permission(given, workshop, mechanic, steps):
    walk(given, mechanic, visit(workshop, mechanic.user), steps)


@pytest.mark.slow
@pytest.mark.both_databases
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@drawn(steps=STEPS)
def test_no_long_search_finds_one(given, workshop, mechanic, steps):
    walk(given, mechanic, visit(workshop, mechanic.user), steps)
