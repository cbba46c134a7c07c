"""Rules about the total of a new order: it is known when they are evaluated, and the decision comes first."""

from __future__ import annotations

import pytest

from models.tables.audit import Audit
from models.tables.product import Product
from policies import PolicyError
from tests.apps import NO_ROW, log_in

WORDS = ("    p.when == 'large' && r.obj.total > 1000 || \\\n"
         "    p.when == 'small' && r.obj.total <= 1000 || \\\n"
         "    p.when == 'in_euros' && r.obj.currency == 'EUR' || \\\n")
FORBIDDEN = (403, "forbidden", [])


def order_of(*items, **more):
    return {"items": [{"product_id": getattr(product, "id", product), "quantity": quantity}
                      for product, quantity in items], **more}


def told(answer) -> tuple[int, str, list[str]]:
    """Returns status, code and places of a refusal."""
    problem = answer.get_json()
    return answer.status_code, problem["code"], [fault["pointer"] for fault in problem.get("errors", ())]


@pytest.fixture(scope="module")
def limited(under):
    """An app whose users may buy for at most 1000, by an invariant."""
    return under(WORDS, {"orders.csv": "p, user, order.create, large, deny",
                         "invariants.csv": "atmost, user, order.create, small"})


@pytest.fixture
def buyer(limited, given):
    return log_in(limited, given.user("user"))


@pytest.mark.both_databases
def test_a_limit_on_the_total_holds(buyer, given):
    product = given.product(price=500, stock=300)
    assert buyer.post("/api/orders", order_of((product, 2))).status_code == 201
    for items in (((product, 3),), ((product, 200),), ((product, 1), (product, 2))):
        assert told(buyer.post("/api/orders", order_of(*items))) == FORBIDDEN
    assert given.found(Product, product.id).stock == 298


def test_a_limit_that_is_promised_needs_its_line(under):
    with pytest.raises(PolicyError, match=r"invariants\.csv:1 .*total"):
        under(WORDS, {"invariants.csv": "atmost, user, order.create, small"})


@pytest.mark.both_databases
def test_a_rule_reads_the_currency(under, given):
    app = under(WORDS, {"orders.csv": "p, user, order.create, in_euros, deny"})
    caller = log_in(app, given.user("user"))
    assert told(caller.post("/api/orders", order_of((given.product(), 1)))) == FORBIDDEN
    assert caller.post("/api/orders", order_of((given.product(currency="USD"), 1))).status_code == 201


def test_what_is_wrong_with_products_is_told_after_the_decision(limited, buyer, given, elsewhere):
    cheap, dear = given.product(price=10), given.product(price=2000, stock=0)
    draft, other = given.product("draft", price=10), given.product(price=10, currency="USD")
    for id in (given.product("draft").id, elsewhere.product().id, NO_ROW):
        # The order might be large. The answer is the same for each reason why the caller cannot see the product.
        assert told(buyer.post("/api/orders", order_of((cheap, 1), (id, 1)))) == FORBIDDEN
    assert told(buyer.post("/api/orders", order_of((dear, 1)))) == FORBIDDEN
    assert told(buyer.post("/api/orders", order_of((cheap, 99)))) == (409, "out_of_stock", ["/items/0"])
    assert told(buyer.post("/api/orders", order_of((cheap, 1), (other, 1)))) == (409, "conflict", ["/items/1"])
    manager = log_in(limited, given.user("manager"))  # who sees drafts
    assert told(manager.post("/api/orders", order_of((draft, 1)))) == (409, "conflict", ["/items/0"])
    assert told(manager.post("/api/orders", order_of((draft, 200)))) == FORBIDDEN


def test_a_total_beyond_64_bits_is_large(under, buyer, given):
    dear = [given.product(price=10**12, stock=10**6) for _ in range(10)]
    too_much = order_of(*((product, 10**6) for product in dear))
    assert told(buyer.post("/api/orders", too_much)) == FORBIDDEN
    app = under(WORDS, {"orders.csv": "p, user, order.create, large, allow"})
    assert log_in(app, given.user("user")).post("/api/orders", too_much).status_code == 400


def test_a_product_that_cannot_be_seen_opens_nothing(under, given):
    app = under(WORDS, {"orders.csv": "p, support, order.create, small, allow\n"
                                      "p, user,    order.view,   own,   allow"}, only=True)
    support, product = log_in(app, given.user("support")), given.product(price=500)
    assert support.post("/api/orders", order_of((product, 2))).status_code == 201
    for items in (((product, 3),), ((NO_ROW, 1),), ((product, 1), (NO_ROW, 1))):
        assert told(support.post("/api/orders", order_of(*items))) == FORBIDDEN


def test_where_another_line_allows_it_the_fault_is_told(under, given):
    app = under(WORDS, {"orders.csv": "p, support, order.create, small, allow"})
    for role in ("user", "support"):  # both by `own`
        answer = log_in(app, given.user(role)).post("/api/orders", order_of((NO_ROW, 1)))
        assert told(answer) == (400, "invalid_reference", ["/items/0/product_id"])


def test_whether_it_is_managed_may_depend_on_the_total(under, given):
    app = under(WORDS, {"orders.csv": "p, manager, order.manage, large, deny"})
    manager, product, somebody = log_in(app, given.user("manager")), given.product(price=500), given.user()
    assert manager.post("/api/orders", order_of((product, 2), owner_id=somebody.id)).status_code == 201
    for items in (((product, 3),), ((NO_ROW, 1),)):
        answer = manager.post("/api/orders", order_of(*items, owner_id=somebody.id))
        assert told(answer) == (400, "read_only_field", ["/owner_id"])


def test_a_refusal_records_the_total_that_is_known(limited, given):
    product = given.product(price=2000)
    for items, known, unknown in ((((product, 1),), {"total": 2000}, []),
                                  (((product, 1), (NO_ROW, 1)), dict[str, int](), ["obj.total"])):
        buyer = log_in(limited, given.user("user"))
        for _ in range(2):
            assert told(buyer.post("/api/orders", order_of(*items))) == FORBIDDEN
        limited.extensions["gatepost"].audit_writer.flush(early=True)
        with given.database.connected():
            rows = list(Audit.select().where(Audit.principal == f"user:{buyer.id}", Audit.result == "refused"))
        for row in rows:
            assert (row.facts["obj"], row.facts.get("unknown", [])) == ({"owner_id": buyer.id, **known}, unknown)
            assert row.resource_id is None, "a row that was refused is nowhere"
        assert sum(row.count for row in rows) == 2
