"""The facts of a decision in the audit log: only what the rules read of caller, object and environment."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gatepost.http.request.decision import MOST, by_default
from gatepost.http.request.environment import RequestEnvironment
from models.tables import share
from models.tables.audit import Audit, of_tenant
from models.tables.product import Product
from policies import Policy
from policies.syntax.attributes import Reads
from tests.apps import NO_ROW, PASSWORD, make_app, new_instance
from tests.apps import close as stop

NDJSON = {"Content-Type": "application/x-ndjson"}
FREE = r"""    p.when == 'at_night' && r.env.hour < 6 || \
    p.when == 'in_atlas' && inGroup(r.sub, 'atlas') || \
    p.when == 'team' && inGroup(r.sub, r.obj.name) || \
    p.when == 'cheap' && r.obj.price < 100 || \
"""
LINES = {
    "products.csv": ["p, user, product.update, same_department, allow", "p, user, product.view, always, allow",
                     "p, user, product.archive, cheap, allow"],
    "categories.csv": ["p, support, category.update, at_night, allow", "p, support, category.delete, in_atlas, allow",
                       "p, support, category.delete, team, allow", "p, user, category.create, always, allow"],
}


@pytest.fixture(scope="module")
def app(database_url, tmp_path_factory):
    """An app whose rules also read the hour, groups, departments and a price."""
    instance = new_instance(tmp_path_factory.mktemp("served") / "instance", database_url, "default", "other")
    model = instance / "policies" / "model.conf"
    model.write_text(model.read_text().replace("    p.when == 'own' &&", f"{FREE}    p.when == 'own' &&", 1))
    for name, lines in LINES.items():
        file = instance / "policies" / name
        file.write_text(file.read_text().replace("# end", "\n".join((*lines, "# end"))))
    made = make_app(instance, database_url)
    yield made
    stop(made)


@pytest.fixture
def facts(app, given):
    """`facts(id or principal)` returns the facts of its newest audit event."""
    def newest(of):
        services = app.extensions["gatepost"]
        services.audit_writer.flush(early=True)
        with given.database.connected():
            row = of_tenant(given.tenant_id).where(
                (Audit.principal == of) if of.startswith("user:") else (Audit.resource_id == of)
            ).order_by(Audit.seq.desc()).first()
            return row.facts
    return newest


# Writes


def test_a_change_is_told_as_it_was_before_and_what_of_it_the_rules_look_at_has_changed(as_user, given, facts):
    user = as_user("user")
    article = given.article("draft", owner_id=user.id)
    before = {"owner_id": user.id, "status": "draft"}
    assert user.patch(f"/api/articles/{article.id}", {"title": "New"}).status_code == 200
    assert facts(article.id) == {"obj": before, "shares": [], "new": {}}
    owner = as_user("owner")
    assert owner.patch(f"/api/articles/{article.id}", {"owner_id": owner.id}).status_code == 200
    assert facts(article.id) == {"obj": before, "shares": [], "new": {"owner_id": owner.id}}
    assert owner.post(f"/api/articles/{article.id}/submit").status_code == 200
    assert facts(article.id) == {"obj": before | {"owner_id": owner.id}, "shares": []}, "an action is judged once"


def test_a_new_row_is_told_as_it_was_stamped(as_user, facts):
    user = as_user("user")
    made = user.post("/api/articles", {"title": "T", "slug": "stamped", "body": "b"}).get_json()
    assert facts(made["id"]) == {"obj": {"owner_id": user.id}}, "nothing can be shared before it is there"


@pytest.mark.parametrize("rights", [[], ["read"], ["manage", "write"]])
def test_shares_are_told_as_the_rights_that_the_caller_has(rights, as_user, given, facts):
    user, order = as_user("user", groups=["crew"]), given.product()
    for grantee, right in zip((f"user:{user.id}", "group:crew"), rights, strict=False):
        given.database.transact(lambda g=grantee, r=right: share.grant(given.tenant_id, "product", order.id, g, r))
    status = user.delete(f"/api/products/{order.id}").status_code
    assert facts(order.id)["shares"] == rights
    assert status == (204 if "manage" in rights else 403)


@pytest.mark.parametrize(("action", "body", "role", "values", "sub"), [
    ("PATCH products", {"name": "New"}, "user", {"department": "sea"}, {"department": "sea"}),
    ("PATCH products", {"name": "New"}, "user", {}, {"department": None}),
    ("DELETE categories", None, "support", {"groups": ["atlas"]}, {"groups": {"atlas": True, "Borea": False}}),
    ("DELETE categories", None, "support", {"groups": ["Borea"]}, {"groups": {"atlas": False, "Borea": True}})])
def test_of_the_caller_department_and_the_groups_that_were_asked_for_are_told(
        action, body, role, values, sub, as_user, given, facts):
    user, (method, name) = as_user(role, **values), action.split()
    row = given.product() if name == "products" else given.category(name="Borea")
    user.call(method, f"/api/{name}/{row.id}", body)
    assert facts(row.id)["sub"] == sub


def test_of_the_environment_only_what_rules_look_at_is_told(as_user, given, facts):
    category = given.category()
    as_user("support").patch(f"/api/categories/{category.id}", {"name": "New"})
    found = facts(category.id)
    assert set(found["env"]) == {"hour"} and 0 <= found["env"]["hour"] < 24


def test_a_service_tells_its_kind_and_its_scopes(as_user, given, facts):
    user = as_user("user", password=PASSWORD)
    made = user.post("/api/tokens", {"name": "A program", "scopes": ["write:articles", "read:articles"],
                                     "current_password": PASSWORD}).get_json()
    program = {"Authorization": f"Bearer {made['token']}"}
    article = given.article("draft", owner_id=user.id)
    assert user.patch(f"/api/articles/{article.id}", {"title": "New"}, headers=program).status_code == 200
    found = facts(article.id)
    assert (found["sub"], found["scopes"]) == ({"kind": "service"}, ["read:articles", "write:articles"])


def test_an_endpoint_of_ones_own_tells_the_users_row_and_what_was_asked(as_user, facts):
    user = as_user("user")
    assert user.patch("/api/profile", {"name": "New"}).status_code == 200
    found = facts(user.id)
    assert found["asked"] == ["profile.update"]
    assert found["obj"] == {}, "its lines look at nothing"


def test_a_login_was_asked_by_a_guest(client, given, facts):
    user = given.user(password=PASSWORD)
    assert client.post("/api/login", json={"email": user.email, "password": PASSWORD}).status_code == 200
    assert facts(f"user:{user.id}") == {"obj": None, "sub": {"key": "guest", "role": "guest"}}


def test_lists_and_exports_tell_no_facts_of_a_decision(as_user, facts):
    editor = as_user("editor")
    assert editor.get("/api/articles/export").status_code == 200
    assert set(facts(f"user:{editor.id}")) == {"filters", "count"}


# Refusals


@pytest.mark.parametrize(("role", "call", "told"), [
    ("user", ("PATCH", "/api/articles/{article}", {}),
     {"obj": {"owner_id": None, "status": "published"}, "shares": []}),
    ("user", ("GET", "/api/articles/{draft}", None), {"obj": {"owner_id": None, "status": "draft"}, "shares": []}),
    ("user", ("GET", f"/api/articles/{NO_ROW}", None), {"obj": "absent"}),
    ("user", ("POST", "/api/articles/{article}/publish", None), {}),
    ("user", ("GET", "/api/audit", None), {"obj": "any"}),
    ("user", ("GET", "/api/admin/policy", None), {"obj": None}),
    ("user", ("POST", "/api/products", {"name": "P", "sku": "no", "price": 1, "currency": "EUR"}), {}),
], ids=["an object that may be viewed", "a hidden one", "an absent one", "before the object was looked at",
        "a list", "no object", "before the new row was made"])
def test_a_refusal_tells_what_was_known_of_the_object(role, call, told, as_user, given, facts):
    user, (method, path, body) = as_user(role), call
    ids = {"article": given.article().id, "draft": given.article("draft").id}
    assert user.call(method, path.format(**ids), body).status_code in (403, 404)
    assert facts(f"user:{user.id}") == told


def test_a_change_that_moves_a_row_out_of_reach_tells_both(as_user, given, facts):
    user = as_user("user", department="sea")
    product = given.product(department="sea", owner_id=user.id)
    # Shared for writing, so that the row may be changed at all. The price does not affect this.
    assert user.patch(f"/api/products/{product.id}", {"price": 5}).status_code == 200
    found = facts(product.id)
    assert (found["obj"]["department"], found["new"]) == ("sea", {})


def test_refusals_that_differ_in_their_facts_alone_are_one_row(as_user, given, app, facts):
    user, product = as_user("user"), given.product(department="land")
    for department in ("land", "sea", "air"):
        with given.database.connected():
            Product.update(department=department).where(Product.id == product.id).execute()
        assert user.patch(f"/api/products/{product.id}", {"name": "New"}).status_code == 403
    app.extensions["gatepost"].audit_writer.flush(early=True)
    with given.database.connected():
        rows = list(of_tenant(given.tenant_id).where(Audit.principal == f"user:{user.id}"))
    # If the writer stored the first of them meanwhile, the others are in the row of the minute.
    assert sum(row.count for row in rows) == 3
    departments = [row.facts["obj"]["department"] for row in rows if row.resource_id == product.id]
    assert departments[0] == "land" and len(departments) < 3


def test_what_something_else_than_the_policy_refuses_has_no_facts_of_a_decision(as_user, client, facts):
    user = as_user("user")
    assert user.post("/api/articles", {"admin": True}).status_code == 400
    assert facts(f"user:{user.id}") == {"fields": ["admin"]}


def test_an_attribute_that_is_too_long_says_so(as_user, given, facts):
    support, category = as_user("support"), given.category(name="N" * 200)
    many = as_user("support", groups=[f"group-{number}-{'x' * 30}" for number in range(40)])
    for caller in (support, many):
        caller.delete(f"/api/categories/{category.id}")
        assert len(str(facts(category.id))) <= MOST + 200


# Imports


def test_an_import_groups_its_rows_by_equal_facts(as_user, given, facts):
    manager = as_user("manager")
    here = [given.product("draft", owner_id=manager.id, sku=f"GROUPED-{number}") for number in range(3)]
    lines = [f'{{"id": "{row.id}", "name": "Again"}}' for row in here]
    lines += [f'{{"name": "New", "sku": "GROUPED-NEW-{number}", "price": 1, "currency": "EUR"}}' for number in range(4)]
    answer = manager.call("POST", "/api/products/import", data="\n".join(lines), headers=NDJSON)
    assert (answer.status_code, answer.get_json()["imported"], answer.get_json()["updated"]) == (200, 4, 3)
    found = facts(f"user:{manager.id}")
    counts = {tuple(group["asked"]): group["count"] for group in found["groups"]}
    assert counts == {("product.import", "product.create"): 4, ("product.view", "product.import", "product.update"): 3}
    assert found["rest"] == 0
    assert all("new" in group for group in found["groups"] if "product.update" in group["asked"])


def test_rows_beyond_the_groups_are_counted(as_user, facts):
    owner = as_user("owner")
    lines = [f'{{"name": "N", "sku": "MANY-{number}", "price": {number}, "currency": "EUR", "department": "d{number}"}}'
             for number in range(150)]
    answer = owner.call("POST", "/api/products/import", data="\n".join(lines), headers=NDJSON)
    assert answer.status_code == 200, answer.get_json()
    found = facts(f"user:{owner.id}")
    assert sum(group["count"] for group in found["groups"]) + found["rest"] == 150
    assert len(str(found)) <= MOST + 200


# Conditions that cannot be evaluated


@pytest.fixture
def unreadable(app, monkeypatch):
    """Uses rules that read a missing column and a missing attribute. Returns the number of facts in the metric."""
    counted = []
    services = app.extensions["gatepost"]
    monkeypatch.setattr(Policy, "looks_at", lambda *_: Reads(
        ("gone", "owner_id"), (), ("moon", "request"), (), (("", "gone"),), shares=False))
    monkeypatch.setattr(services, "metrics", SimpleNamespace(
        samples=lambda: False, unknown_facts=SimpleNamespace(inc=lambda: counted.append(1))))
    return counted


def test_no_request_fails_for_a_fact_that_cannot_be_determined(unreadable, as_user, given, facts, caplog):
    manager, there = as_user("manager"), given.product("draft", sku="UNKNOWN-1")
    new = {"name": "New", "sku": "UNKNOWN-2", "price": 1, "currency": "EUR"}
    calls = {"create": ("POST", "/api/products", new, 201), "update": ("PATCH", f"/api/products/{there.id}", new, 409),
             "refused": ("DELETE", f"/api/articles/{given.article().id}", None, 403),
             "absent": ("GET", f"/api/products/{NO_ROW}", None, 404)}
    for name, (method, path, body, status) in calls.items():
        before = len(unreadable)
        assert manager.call(method, path, body).status_code == status, name
        assert len(unreadable) > before, name
    product = manager.patch(f"/api/products/{there.id}", {"name": "Another"})
    assert product.status_code == 200
    found = facts(there.id)
    assert found["obj"] == {"owner_id": None} and found["env"] == {"request": "write"} and found["new"] == {}
    assert set(found["unknown"]) == {"obj.gone", "env.moon"}
    assert "a fact of a decision is unknown: obj.gone" in caplog.text


def test_no_import_fails_for_it_either(unreadable, as_user, facts):
    manager = as_user("manager")
    line = '{"name": "New", "sku": "UNKNOWN-3", "price": 1, "currency": "EUR"}'
    assert manager.call("POST", "/api/products/import", data=line, headers=NDJSON).status_code == 200
    found = facts(f"user:{manager.id}")
    assert found["groups"][0]["unknown"] == ["obj.gone"] and found["unknown"] == ["env.moon"]


@pytest.mark.parametrize("value", ["\ud800", 2**70], ids=["a lone surrogate", "a number beyond 64 bit"])
def test_what_cannot_be_written_is_left_out(value, as_user, given, facts, monkeypatch):
    monkeypatch.setattr(Policy, "looks_at", lambda *_: Reads(("owner_id",), (), ("device",), (), (), shares=False))
    monkeypatch.setattr(RequestEnvironment, "device", value)
    category = given.category()
    assert as_user("owner").patch(f"/api/categories/{category.id}", {"name": "New"}).status_code == 200
    found = facts(category.id)
    assert found["unknown"] == ["env"] and "env" not in found and found["obj"] == {"owner_id": None}


@pytest.mark.parametrize(("action", "named", "asked"), [
    ("update", True, ("article.view", "article.update")), ("view", True, ("article.view",)),
    ("create", True, ("article.create",)), ("update", False, ("article.update",))])
def test_what_a_row_asked_follows_from_its_action(action, named, asked):
    assert by_default("article", action, named) == asked
