"""Fields that everybody who sees the row sees, until a rule names the permission to see them."""

from __future__ import annotations

import pytest

from models.tables.product import Product
from tests.http.console.pages import visit

# A caller with the role `support` sees these fields only of their own rows.
CONDITIONS = "    p.when == 'as_support' && r.sub.role == 'support' && r.obj.owner_id != r.sub.id || \\\n"
RULES = {
    "orders.csv": """\
p, support, order.view,         always,     allow
p, support, order.update,       always,     allow
p, support, order.approve,      always,     allow
p, support, order.export,       always,     allow
p, support, order.view_total,   as_support, deny
p, support, order.create,       own,        allow
""",
    "products.csv": """\
p, support, product.view,       always,     allow
p, support, product.update,     always,     allow
p, support, product.view_stock, as_support, deny
p, support, product.export,     always,     allow
""",
    "comments.csv": """\
p, support, comment.view,       always,     allow
p, support, comment.update,     always,     allow
p, support, comment.view_owner, as_support, deny
""",
}


@pytest.fixture(scope="module")
def guarded(under):
    return under(CONDITIONS, RULES)


@pytest.fixture
def support(guarded, as_user):
    caller = as_user("support")
    caller.client = guarded.test_client()
    return caller


@pytest.fixture
def order(given):
    return given.order(owner_id=given.user().id, product=given.product(price=700, stock=5), quantity=2)


def items_of(answer):
    assert answer.status_code == 200, answer.get_json()
    return answer.get_json()["items"]


def test_a_caller_who_sees_the_row_sees_the_fields_until_a_rule_names_the_permission(as_role, app, order, given):
    support = as_role("support")
    seen = support.get(f"/api/orders/{order.id}").get_json()
    assert (seen["total"], seen["items"][0]["unit_price"]) == (1400, 700)
    product = given.product(stock=5)
    assert as_role("guest").get(f"/api/products/{product.id}").get_json()["stock"] == 5
    comment = given.comment()
    assert "owner_id" in as_role("guest").get(f"/api/comments/{comment.id}").get_json()
    assert order.id in {row["id"] for row in items_of(support.get("/api/orders?sort=-total&total__gte=1400"))}


def test_a_denied_field_is_left_out_of_item_page_and_export(support, order):
    for shown in (support.get(f"/api/orders/{order.id}").get_json(),
                  *items_of(support.get("/api/orders?status=pending")),
                  *items_of(support.get("/api/orders?page=1&expand=items.product,owner"))):
        assert "total" not in shown
        assert shown["currency"]
        assert shown["items"]
        assert all("unit_price" not in item and item["quantity"] for item in shown["items"])
    lines = support.get("/api/orders/export").get_data(as_text=True)
    assert order.id in lines
    assert "total" not in lines
    assert "unit_price" not in lines


def test_what_a_caller_asks_for_by_name_stays_hidden(support, order):
    assert support.get(f"/api/orders/{order.id}?fields=total").get_json() == {}
    [item] = support.get(f"/api/orders/{order.id}?fields=items").get_json()["items"]
    assert item.keys() == {"product_id", "quantity"}


def test_a_filter_or_a_sort_by_a_hidden_field_tells_nothing(support, order, given):
    assert items_of(support.get("/api/orders?total=1400")) == []
    assert support.get("/api/orders?total__gte=0&page=1").get_json()["total"] == 0
    assert support.get("/api/orders?sort=total").get_json()["errors"][0]["parameter"] == "sort"
    comment = given.comment(owner_id=order.owner_id)
    assert items_of(support.get(f"/api/comments?owner_id={order.owner_id}")) == []
    assert support.get(f"/api/comments/{comment.id}?expand=owner").get_json().keys().isdisjoint({"owner", "owner_id"})
    given.product(stock=4321, owner_id=order.owner_id)
    assert items_of(support.get("/api/products?stock=4321")) == []
    assert support.get("/api/products?sort=-stock").status_code == 400


def test_a_condition_decides_row_by_row(support, order, given):
    own = given.order(owner_id=support.id, total=77)
    rows = {row["id"]: row for row in items_of(support.get("/api/orders?limit=100"))}
    assert "total" in rows[own.id]
    assert "total" not in rows[order.id]
    assert [row["id"] for row in items_of(support.get("/api/orders?total=77"))] == [own.id]


def test_the_answer_of_a_change_and_of_an_action_hides_the_field(support, order):
    changed = support.patch(f"/api/orders/{order.id}", {"note": "Ring twice."})
    approved = support.post(f"/api/orders/{order.id}/approve")
    for answer in (changed, approved):
        assert answer.status_code == 200
        assert "total" not in answer.get_json()
        assert "unit_price" not in answer.get_json()["items"][0]


def test_an_answer_can_be_sent_back_and_no_guess_of_a_hidden_price_is_told_from_another(support, order):
    path = f"/api/orders/{order.id}"
    seen = support.get(path).get_json()
    assert support.put(path, seen | {"note": "All of it."}).status_code == 200
    answers = [support.patch(path, {"items": [item | {"unit_price": price} for item in seen["items"]]})
            for price in (700, 701)]
    assert {answer.status_code for answer in answers} == {400}
    assert {answer.get_json()["errors"][0]["code"] for answer in answers} == {"read_only_field"}
    guessed = [support.patch(path, {"total": total}) for total in (1400, 1401)]
    assert {answer.status_code for answer in guessed} == {400}


def test_a_hidden_field_keeps_its_value_and_can_still_be_written(support, given):
    product = given.product("active", stock=3, owner_id=given.user().id)
    path = f"/api/products/{product.id}"
    body = {"name": product.name, "sku": product.sku, "currency": product.currency, "price": product.price}
    assert support.put(path, body).status_code == 200
    assert given.found(Product, product.id).stock == 3
    assert "stock" not in support.patch(path, {"stock": 8}).get_json()
    assert given.found(Product, product.id).stock == 8


def test_the_entity_tag_of_a_part_differs_for_whom_the_price_is_hidden(support, order, as_role):
    path = f"/api/orders/{order.id}?fields=items"
    shown, hidden = as_role("admin").get(path), support.get(path)
    assert shown.headers["ETag"] != hidden.headers["ETag"]
    assert support.get(path, headers={"If-None-Match": shown.headers["ETag"]}).status_code == 200


def test_a_replay_leaves_out_what_was_hidden_meanwhile(under, as_user, given):
    before = under("", {"orders.csv": "p, support, order.create, own, allow\np, support, order.view, always, allow\n"})
    after = under(CONDITIONS.replace(" && r.obj.owner_id != r.sub.id", ""), RULES)
    caller, product = as_user("support"), given.product(price=700, stock=5)
    body = {"items": [{"product_id": product.id, "quantity": 1}]}
    answers = []
    for app in (before, after):
        caller.client = app.test_client()
        answers.append(caller.post("/api/orders", body, headers={"Idempotency-Key": f"replay-{product.id}"}))
    first, second = (answer.get_json() for answer in answers)
    assert second["id"] == first["id"]
    assert (first["total"], first["items"][0]["unit_price"]) == (700, 700)
    assert "total" not in second
    assert "unit_price" not in second["items"][0]
    assert "ETag" not in answers[1].headers


def test_every_question_about_the_permission_has_the_same_answer(guarded, support, order, as_user):
    admin = as_user("admin")
    admin.client = guarded.test_client()
    for caller, decision in ((support, False), (admin, True)):
        question = {"subject": {"type": "user", "id": caller.id}, "action": {"name": "view_total"},
                 "resource": {"type": "order", "id": order.id}}
        assert admin.post("/access/v1/evaluation", question).get_json() == {"decision": decision}
        query = f"as={caller.id}&permission=order.view_total&id={order.id}"
        verdict = "allowed" if decision else "refused"
        assert admin.get(f"/api/admin/policy/explain?{query}").get_json()["verdict"] == verdict
        seen = admin.get(f"/api/admin/policy/visible?as={caller.id}&collection=orders&ids={order.id}").get_json()
        hidden = {"total", "items.unit_price"}
        assert hidden & {*seen["items"][0]["hidden"]} == (set() if decision else hidden)
    who = admin.get(f"/api/admin/policy/who?permission=order.view_total&id={order.id}&page_size=200").get_json()
    named = {one["user"]["id"] for one in who["items"] if one["user"]}
    assert admin.id in named
    assert support.id not in named


def test_the_console_does_not_show_the_field(guarded, support, order):
    visitor = visit(guarded, support.user)
    for path in ("/console/data/orders?status=pending", f"/console/data/orders/{order.id}"):
        text = visitor.page(path).text
        assert "pending" in text
        assert "14.00" not in text
        assert "7.00" not in text
    assert "Total" not in visitor.page("/console/data/orders").text, "neither a column nor a sort order"
    assert "Total" in visit(guarded, "admin").page("/console/data/orders").text


def test_only_a_rule_that_names_the_permission_costs_a_condition(app, guarded):
    """The statements of a list stay the same as long as nobody uses the permission."""
    orders = app.extensions["gatepost"].collections["orders"]
    policies = [each.extensions["gatepost"].policy.current for each in (app, guarded)]
    assert [{*orders.guards_in(policy).by_field} for policy in policies] == [
        {"department"}, {"department", "total", "items.unit_price"}]


def test_an_import_does_not_tell_whether_a_guess_of_a_hidden_field_is_right(under, as_user, given):
    app = under("", {"comments.csv": "p, moderator, comment.view_private, always, deny\n"})
    moderator, comment = as_user("moderator"), given.comment(owner_id=given.user().id, department="press")
    moderator.client = app.test_client()
    reports = [moderator.post("/api/comments/import?dry_run=true", {"id": comment.id, "department": guess},
                              headers={"Content-Type": "application/x-ndjson"}).get_json()
               for guess in ("press", "sales")]
    assert reports[0] == reports[1]
    assert reports[0]["failed"] == 0


def test_the_export_of_the_own_data_hides_the_field(under, as_user, given):
    app = under("", {"orders.csv": "p, user, order.view_total, always, deny\n"})
    user = as_user("user")
    user.client = app.test_client()
    given.order(owner_id=user.id, product=given.product(price=700, stock=5))
    lines = user.get("/api/profile/export").get_data(as_text=True)
    assert '"quantity":1' in lines
    assert "total" not in lines
    assert "unit_price" not in lines


def test_a_rule_about_one_role_takes_no_sort_from_the_others(guarded, as_user, given):
    user, friend = as_user("user"), as_user("user")
    for caller in (user, friend):
        caller.client = guarded.test_client()
    order = given.order(owner_id=user.id, total=77)
    given.share("order", order, f"user:{friend.id}")
    for caller in (user, friend):
        assert [row["total"] for row in items_of(caller.get("/api/orders?sort=-total&total=77"))] == [77]
    product = given.product(stock=99)
    answer = guarded.test_client().get("/api/products?sort=-stock&stock=99")
    assert product.id in {row["id"] for row in items_of(answer)}
    assert answer.headers["Cache-Control"].startswith("public")
