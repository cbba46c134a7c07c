"""A new row during the decision about `create`: the service, the proofs and AuthZEN use the same values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from gatepost.collections.plugins.discovery import discover
from gatepost.http.request.access import Access
from gatepost.http.security import passwords
from models.tables.user import User
from policies.syntax.vocabulary import Resource, is_of
from tests.apps import NO_ROW, PASSWORD, ROLES, log_in
from tests.databases import undone

EVALUATION = "/access/v1/evaluation"
NDJSON = {"Content-Type": "application/x-ndjson"}
MADE = [name for name, one in discover().collections.items() if any(each.name == "create" for each in one.served)]


@pytest.fixture(scope="module")
def bodies(given):
    """Returns collection → bodies: one with only the required fields, and one with more."""
    product, article = given.product(stock=10**6), given.article()
    draft, category, somebody = given.article("draft"), given.category(), given.user(department="news")
    return {
        "articles": [{"title": "T", "slug": "new", "body": "B"},
                     {"title": "T", "slug": "new", "body": "B", "language": "de", "category_id": category.id},
                     {"title": "T", "slug": "new", "body": "B", "owner_id": somebody.id}],
        "products": [{"name": "N", "sku": "NEW", "price": 5, "currency": "EUR"},
                     {"name": "N", "sku": "NEW", "price": 5, "currency": "EUR", "stock": 3, "description": "D",
                      "category_id": category.id, "owner_id": somebody.id}],
        "orders": [{"items": [{"product_id": product.id, "quantity": 1}]},
                   {"items": [{"product_id": product.id, "quantity": 900}], "note": "Soon"},
                   {"items": [{"product_id": product.id, "quantity": 1}], "owner_id": somebody.id}],
        "comments": [{"article_id": article.id, "body": "B"}, {"article_id": draft.id, "body": "B"},
                     {"article_id": article.id, "body": "B", "owner_id": somebody.id}],
        "categories": [{"name": "N", "slug": "new"}, {"name": "N", "slug": "new", "parent_id": category.id}],
        "pages": [{"slug": "new", "title": "T", "body": "B", "language": "en"},
                  {"slug": "new", "title": "T", "body": "B", "language": "en", "owner_id": somebody.id}],
        "users": [{"name": "N", "email": "new@example.org", "password": PASSWORD},
                  {"name": "N", "email": "new@example.org", "password": PASSWORD, "role": "admin"},
                  {"name": "N", "email": "new@example.org", "password": PASSWORD, "role": "support",
                   "department": "news", "groups": ["atlas"]}],
        "tokens": [{"name": "N", "scopes": ["read:articles"], "current_password": PASSWORD},
                   {"name": "N", "scopes": ["read:articles"], "expires_in": 60, "current_password": PASSWORD}],
        "contact": [{"name": "N", "email": "new@example.org", "subject": "S", "body": "B"}],
    }


@pytest.fixture(scope="module")
def callers(as_user, as_role):
    """Role → its caller, who has a department."""
    return {role: as_role(role) if role == "guest" else as_user(role, department="news") for role in ROLES}


@pytest.fixture(scope="module")
def curious(under, app):
    """An app whose rules read every column of a new row, also of an imported or managed one."""
    branches, lines = "", {}
    for name in MADE:
        collection = app.extensions["gatepost"].collections[name]
        resource = app.extensions["gatepost"].registry.vocabulary.resources[collection.resource]
        read = " && ".join(f"r.obj.{column} == r.obj.{column}" for column in resource.columns)
        branches += f"    p.when == 'whole_{resource.name}' && {read} || \\\n"
        asked = sorted({f"{resource.name}.{verb}" for verb in ("create", "import", "manage")} & resource.permissions)
        lines[f"{name}.csv"] = "\n".join(f"p, developer, {permission}, whole_{resource.name}, deny"
                                         for permission in asked)
    return under(branches, lines)


@pytest.fixture
def decisions(monkeypatch):
    """(permission, row) of every decision about a row while the service creates it."""
    found: list[tuple[str, dict[str, Any]]] = []
    for name in ("allows", "is_certain"):
        method = getattr(Access, name)

        def noted(self, permission, row=None, *more, method=method):
            if row is not None:
                found.append((permission, dict(row)))
            return method(self, permission, row, *more)

        monkeypatch.setattr(Access, name, noted)
    return found


def another(body: dict[str, Any]) -> dict[str, Any]:
    """Returns the body with other values in unique fields."""
    return {name: value.replace("new", "seen").replace("NEW", "SEEN") if name in ("slug", "sku", "email") else value
            for name, value in body.items()}


def contradictions(resource: Resource, permission: str, row: dict[str, Any]) -> Iterator[str]:
    """Yields the differences between a row and the vocabulary, which all proofs rely on."""
    lacking = resource.may_lack(permission)
    for name, column in resource.columns.items():
        value = row.get(name)
        if value is None:
            if not column.nullable and name not in lacking:
                yield f"{permission}: {name} is missing"
        elif name in resource.unset(permission):
            yield f"{permission}: {name} is there"
        elif type(value) is not column.type or (column.values and value not in column.values):
            yield f"{permission}: {name} is {value!r}"
        elif column.format is not None and not is_of(column.format, value):
            yield f"{permission}: {name} is {value!r}, which is no {column.format}"
        if column.same_as is not None and value != row[column.same_as]:
            yield f"{permission}: {name} is {value!r}, and {column.same_as} {row[column.same_as]!r}"


@pytest.mark.parametrize("collection", MADE)
def test_what_is_judged_of_a_new_row_is_what_the_proofs_assume(curious, callers, bodies, decisions, collection):
    registry = curious.extensions["gatepost"].registry
    resource = registry.vocabulary.resources[registry.collections[collection].resource]
    for role in ROLES:
        for body in bodies[collection]:
            replace(callers[role], client=curious.test_client()).post(f"/api/{collection}", json=another(body))
    mine = [(permission, row) for permission, row in decisions if permission.partition(".")[0] == resource.name]
    assert {permission for permission, _ in mine} >= {f"{resource.name}.create"}
    wrong = {one for permission, row in mine for one in contradictions(resource, permission, row)}
    assert not wrong, "\n".join(sorted(wrong))


@pytest.mark.parametrize("collection", [name for name in MADE if name not in ("orders", "tokens", "contact")])
def test_what_is_judged_of_an_imported_row_is_what_the_proofs_assume(curious, callers, bodies, decisions,
                                                                     collection):
    registry = curious.extensions["gatepost"].registry
    resource = registry.vocabulary.resources[registry.collections[collection].resource]
    old = "2020-01-01T00:00:00.000000Z"
    for role in ("editor", "moderator", "manager", "owner", "admin"):
        for body in bodies[collection]:
            brought = {**another(body), "created_at": old, "version": 7, "updated_at": None, "status": None,
                       "owner_id": callers[role].id}
            lines = [{name: value for name, value in brought.items()
                      if name in registry.collections[collection].body_schema.fields}]
            replace(callers[role], client=curious.test_client()).post(
                f"/api/{collection}/import", data="\n".join(map(json.dumps, lines)), headers=NDJSON)
    mine = [(permission, row) for permission, row in decisions if permission in (
        f"{resource.name}.create", f"{resource.name}.import", resource.name + ".manage")]
    assert [row for _, row in mine if row["created_at"] == old]
    wrong = {one for permission, row in mine for one in contradictions(resource, permission, row)}
    assert not wrong, "\n".join(sorted(wrong))


@pytest.mark.parametrize("collection", MADE)
def test_a_program_is_told_what_the_service_decides(app, given, callers, bodies, collection):
    resource = app.extensions["gatepost"].collections[collection].resource
    wrong = []
    for role, caller in callers.items():
        for body in bodies[collection]:
            subject = "guest" if role == "guest" else caller.id
            asked = {"subject": {"type": "user", "id": subject}, "action": {"name": "create"},
                     "resource": {"type": resource, "id": "", "properties": body}}
            decided = callers["admin"].post(EVALUATION, json=asked).get_json()["decision"]
            with undone(given.database):
                answer = caller.post(f"/api/{collection}", json=body)
            if decided is not (answer.status_code < 400):
                wrong.append(f"{role} {body}: {decided}, and the service {answer.status_code} {answer.text}")
    assert not wrong, "\n".join(wrong)


# Rules that read stamped, default, sent and derived values.
WORDS = ("    p.when == 'fresh' && r.obj.status == 'draft' && r.obj.version == 1 && r.obj.owner_id == r.sub.id && "
         "r.obj.created_at > '2026-01-01T00:00:00.000000Z' && r.obj.id != r.sub.id || \\\n"
         "    p.when == 'german' && r.obj.language == 'de' || \\\n"
         "    p.when == 'untitled' && r.obj.title == 'x' || \\\n"
         "    p.when == 'large' && r.obj.total > 1000 || \\\n"
         "    p.when == 'of_press' && r.obj.department == 'press' || \\\n"
         "    p.when == 'on_public' && r.obj.article_status == 'published' || \\\n")
LINES = {
    "articles.csv": "p, user, article.create, fresh,     allow\np, user, article.create, german, deny\n"
                    "p, user, article.create, untitled,  deny\np, user, article.view,   published, allow\n"
                    "p, support, article.view, always, allow",
    "orders.csv": "p, user, order.create, own, allow\np, user, order.create, large, deny",
    "comments.csv": "p, user, comment.create, on_public, allow",
    "categories.csv": "p, user, category.create, of_press, allow",
    "admin.csv": "p, admin, *, always, allow\np, developer, policy.evaluate, always, allow",
    "users.csv": "p, user, user.view, always, allow\np, owner, user.*, always, allow",
}


@pytest.fixture(scope="module")
def ruled(under):
    return under(WORDS, LINES, only=True)


@pytest.fixture(scope="module")
def program(ruled, given):
    """A program that evaluates for an administrator."""
    return log_in(ruled, given.user("admin"))


def permitted(caller, subject: str, kind: str, properties: Any) -> bool:
    """Returns the decision that a program gets about a new object with these properties."""
    who = dict(zip(("type", "id"), subject.split(":"), strict=True))
    answer = caller.post(EVALUATION, json={"subject": who, "action": {"name": "create"},
                                           "resource": {"type": kind, "id": "", "properties": properties}})
    assert answer.status_code == 200, answer.text
    return answer.get_json()["decision"]


ARTICLE = {"title": "T", "slug": "ruled", "body": "B"}


def test_what_the_service_fills_in_is_known_to_the_rules(ruled, program, given):
    caller = log_in(ruled, given.user("user"))
    for number, (more, expected) in enumerate(((dict[str, str](), True), ({"language": "en"}, True),
                                               ({"language": "de"}, False), ({"title": "x"}, False))):
        body = {**ARTICLE, "slug": f"ruled-{number}", **more}
        assert permitted(program, f"user:{caller.id}", "article", body) is expected, more
        assert caller.post("/api/articles", body).status_code == (201 if expected else 403), more


@pytest.mark.parametrize(("properties", "expected"), [
    ({"title": "T"}, True), ({"title": "x"}, False), ({"title": "T", "language": "de"}, False),
    # An unknown title might be the one that a rule denies.
    ({"slug": "new", "body": "B"}, False),
    ({"title": "T", "status": "draft"}, True), ({"title": "T", "status": "published"}, False),
    ({"title": "T", "version": 1, "published_at": None}, True), ({"title": "T", "version": 2}, False),
    ({"title": 5}, False), ({"title": ["T"]}, False), ({"title": None}, False),
    ({"title": "T", "colour": "red"}, False),
    ({"title": "T", "category_id": NO_ROW}, False), ({"title": "T", "category_id": "x"}, False),
    ({"title": "T", "owner_id": NO_ROW}, False), ({"title": "T", "owner_id": "the subject"}, True),
    ({"title": "T", "tenant_id": NO_ROW}, False), ({"title": "T", "__class__": "x"}, False),
])
def test_properties_are_a_body_of_which_a_part_may_be_missing(program, given, properties, expected):
    user = given.user("user")
    meant = {name: user.id if value == "the subject" else value for name, value in properties.items()}
    assert permitted(program, f"user:{user.id}", "article", meant) is expected


def test_fields_without_a_column_are_no_denial(program, given):
    subject = f"user:{given.user('user').id}"
    cheap, hidden = given.product(price=500), given.product("draft", price=1)
    for properties, expected in (
            ({"items": [{"product_id": cheap.id, "quantity": 2}]}, True),
            ({"items": [{"product_id": cheap.id, "quantity": 3}]}, False),
            ({"items": [{"product_id": cheap.id, "quantity": 2}], "total": 1000, "currency": "EUR"}, True),
            ({"items": [{"product_id": cheap.id, "quantity": 2}], "total": 7}, False),
            ({"items": [{"product_id": hidden.id, "quantity": 1}]}, False),
            ({"items": [{"product_id": cheap.id}]}, False), ({"items": []}, False), ({"items": "x"}, False),
            # A part of the body: the total is unknown, or has the given value.
            ({"note": "Soon"}, False), ({"total": 1000}, True), ({"total": 1001}, False), ({"total": "x"}, False)):
        assert permitted(program, subject, "order", properties) is expected, properties


def test_what_the_asker_may_not_view_is_not_there(ruled, program, given):
    public, draft = given.article(), given.article("draft")
    subject, caller = "role:support", log_in(ruled, given.user("developer"))
    for article, expected in ((public, True), (draft, False)):
        assert permitted(program, subject, "comment", {"article_id": article.id, "body": "B"}) is expected
        assert permitted(caller, subject, "comment", {"article_id": article.id, "body": "B"}) is expected
    assert not permitted(program, subject, "comment", {"body": "B"}), "the article might be a draft"


def test_the_department_of_a_subject_is_not_told(ruled, program, given):
    writer, caller = given.user("user", department="press"), log_in(ruled, given.user("developer"))
    properties = {"name": "N", "slug": "told"}
    assert permitted(program, f"user:{writer.id}", "category", properties)
    assert not permitted(caller, f"user:{writer.id}", "category", properties)


def test_a_search_finds_those_who_may_make_it(program, given):
    press, other = given.user("user", department="press"), given.user("user", department="sales")
    found, page = set[str](), {"limit": 50}
    while page.get("token") != "":
        answer = program.post("/access/v1/search/subject", json={
            "subject": {"type": "user"}, "action": {"name": "create"}, "page": page,
            "resource": {"type": "category", "id": "", "properties": {"name": "N", "slug": "found"}}}).get_json()
        found |= {one["id"] for one in answer["results"]}
        page = {"limit": 50, "token": answer["page"]["next_token"]}
    assert press.id in found and other.id not in found


def test_asking_hashes_no_password_and_makes_nothing(program, given, monkeypatch):
    monkeypatch.setattr(passwords, "hash_password", lambda *_: pytest.fail("a password was hashed"))
    owner = given.user("owner")
    for role, expected in (("user", True), ("owner", True), ("admin", False)):
        body = {"name": "N", "email": "asked@example.org", "password": PASSWORD, "role": role}
        assert permitted(program, f"user:{owner.id}", "user", body) is expected, "nobody makes a user above themselves"
    with given.database.connected():
        assert not User.select().where(User.email == "asked@example.org").exists()


def test_explain_leaves_open_what_only_the_request_says(program, given):
    user = given.user("user")
    for permission, verdict in (("order.create", "depends"), ("comment.create", "depends"),
                                ("article.create", "depends"), ("category.create", "refused")):
        found = program.get(f"/api/admin/policy/explain?as={user.id}&permission={permission}").get_json()
        assert found["verdict"] == verdict, permission
