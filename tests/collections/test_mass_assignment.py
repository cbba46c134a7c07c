"""Mass assignment: read-only and privileged fields are refused in POST, PUT and PATCH of each role that may not set
them, and the row does not change.
"""

from __future__ import annotations

from typing import Any

import pytest

from models.base import Rows, new_id
from models.tables.article import Article
from models.tables.category import Category
from models.tables.comment import Comment
from models.tables.contact import ContactMessage
from models.tables.order import Order
from models.tables.page import Page
from models.tables.product import Product
from models.tables.service_token import ServiceToken
from models.tables.user import User
from tests.apps import ROLES
from tests.databases import on_sqlite  # noqa: F401 - the same on each database

AT = "2020-01-01T00:00:00.000000Z"
EVERYWHERE: dict[str, Any] = {
    "id": new_id(), "tenant_id": new_id(), "version": 99, "created_at": AT, "updated_at": AT,
}
# Collection → fields that no role may set through the API, each with a value that a row never has.
READ_ONLY: dict[str, dict[str, Any]] = {
    "articles": EVERYWHERE | {"department": "board", "status": "published", "published_at": AT},
    "products": EVERYWHERE | {"department": "board", "status": "active"},
    "orders": EVERYWHERE | {"department": "board", "status": "completed", "total": 1, "currency": "XTS"},
    "comments": EVERYWHERE | {"department": "board", "status": "approved"},
    "categories": EVERYWHERE | {"department": "board"},
    "pages": EVERYWHERE | {"department": "board", "status": "published", "published_at": AT},
    "users": EVERYWHERE | {"owner_id": new_id(), "active": False},
    "tokens": EVERYWHERE | {"owner_id": new_id(), "department": "board", "token": "gp_x", "token_hash": "x",
                            "expires_at": AT, "last_used_at": AT},
    "contact": EVERYWHERE | {"owner_id": new_id()},
}
# Fields that are columns or attributes of Python, but not part of the API.
UNKNOWN = {"password_hash": "x", "token_version": 1, "__class__": "x", "_dirty": [], "is_admin": True}
# Collection → fields that take `<resource>.manage`, and the roles that have it (docs/reference.md, Collections).
PRIVILEGED: dict[str, tuple[dict[str, Any], set[str]]] = {
    "articles": ({"owner_id": "another"}, {"editor", "owner", "admin"}),
    "products": ({"owner_id": "another"}, {"manager", "owner", "admin"}),
    "orders": ({"owner_id": "another"}, {"manager", "owner", "admin"}),
    "comments": ({"owner_id": "another"}, {"moderator", "owner", "admin"}),
    "categories": ({"owner_id": "another"}, {"manager", "owner", "admin"}),
    "pages": ({"owner_id": "another"}, {"editor", "owner", "admin"}),
    "users": ({"role": "admin", "department": "board", "groups": ["staff"]}, {"owner", "admin"}),
}
MODELS = {"articles": Article, "products": Product, "orders": Order, "comments": Comment, "categories": Category,
          "pages": Page, "users": User, "tokens": ServiceToken, "contact": ContactMessage}
CHANGING = [name for name in MODELS if name not in ("tokens", "contact")]  # those have no PUT and no PATCH


@pytest.fixture(scope="module")
def rows(given, as_role):
    """One row of each collection for each role, in a state that allows its owner to change it."""
    another, article, product = given.user(), given.article(), given.product(stock=10**6)

    def make(name: str, owner: User | None) -> Any:
        id = None if owner is None else owner.id
        match name:
            case "articles":
                return given.article("draft", owner_id=id)
            case "products":
                return given.product("draft", owner_id=id)
            case "orders":
                return given.order(owner_id=id, product=product)
            case "comments":
                return given.comment("pending", owner_id=id, article_id=article.id)
            case "categories":
                return given.category(owner_id=id)
            case "pages":
                return given.page("draft", owner_id=id)
        return owner or another

    made = {(name, role): make(name, as_role(role).user) for name in CHANGING for role in ROLES}
    bodies = {
        "articles": {"title": "T", "slug": "mass", "body": "B"},
        "products": {"name": "N", "sku": "MASS", "price": 5, "currency": "EUR"},
        "orders": {"items": [{"product_id": product.id, "quantity": 1}]},
        "comments": {"article_id": article.id, "body": "B"},
        "categories": {"name": "N", "slug": "mass"},
        "pages": {"slug": "mass", "title": "T", "body": "B", "language": "en"},
        "users": {"name": "N", "email": "mass@example.org", "password": "a long walk along the shore"},
        "tokens": {"name": "N", "scopes": ["read:articles"]},
        "contact": {"name": "N", "email": "mass@example.org", "subject": "S", "body": "B"},
    }
    return made, bodies, another


@pytest.fixture(scope="module")
def counted(given):
    def count(name: str) -> int:
        with given.database.connected():
            return Rows(MODELS[name], given.tenant_id).select().count()

    return count


def refused(answer, field: str) -> bool:
    """True if the caller may not write it (401, 403) or see it (404), or the fault names exactly this field."""
    if answer.status_code in (401, 403, 404):
        return True
    faults = [(fault["code"], fault["pointer"]) for fault in answer.json.get("errors", ())]
    refusals = [[(code, f"/{field}")] for code in ("read_only_field", "unknown_field")]
    return answer.status_code == 400 and faults in refusals


def forbidden(name: str, role: str, another: User) -> dict[str, Any]:
    """Returns the fields of a collection that a role may not set, each with a value that no row has."""
    privileged, managers = PRIVILEGED.get(name, ({}, set()))
    fields = READ_ONLY[name] | UNKNOWN | ({} if role in managers else privileged)
    return {field: another.id if value == "another" else value for field, value in fields.items()}


@pytest.mark.parametrize("name", MODELS)
def test_a_creation_does_not_take_read_only_or_privileged_fields(name, as_role, rows, counted):
    _, bodies, another = rows
    before, wrong = counted(name), {}
    for role in ROLES:
        for field, value in forbidden(name, role, another).items():
            answer = as_role(role).post(f"/api/{name}", bodies[name] | {field: value})
            if not refused(answer, field):
                wrong[role, field] = answer.get_data(as_text=True)
    assert wrong == {}
    assert counted(name) == before


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
@pytest.mark.parametrize("name", CHANGING)
def test_a_change_does_not_take_read_only_or_privileged_fields(name, method, as_role, rows, given):
    made, bodies, another = rows
    fixed = {"orders": ("items",), "users": ("password",), "comments": ("article_id",)}.get(name, ())
    body = {} if method == "PATCH" else {key: value for key, value in bodies[name].items() if key not in fixed}
    wrong = {}
    for role in ROLES:
        row = made[name, role]
        before = dict(given.found(MODELS[name], row.id).__data__)
        for field, value in forbidden(name, role, another).items():
            answer = as_role(role).call(method, f"/api/{name}/{row.id}", body | {field: value})
            if not refused(answer, field):
                wrong[role, field] = answer.get_data(as_text=True)
        if given.found(MODELS[name], row.id).__data__ != before:
            wrong[role, "the row"] = "has changed"
    assert wrong == {}


def test_the_same_fields_are_taken_where_they_are_equal(as_role, rows):
    """The refusals above depend on the values: a row that was read can be sent back."""
    caller = as_role("admin")
    paths = [f"/api/{name}/{rows[0][name, 'admin'].id}" for name in CHANGING]
    answers = [caller.patch(path, caller.get(path).json) for path in paths]
    assert [answer.text for answer in answers if answer.status_code != 200] == []


@pytest.mark.parametrize("field", ["role", "active", "groups", "department", "password", "tenant_id", "id"])
def test_a_profile_changes_name_and_address_only(field, as_role):
    answer = as_role("user").patch("/api/profile", {field: "admin"})
    assert (answer.status_code, answer.json["code"]) == (400, "unknown_field")


@pytest.mark.parametrize("field", ["role", "active", "tenant_id", "owner_id", "groups"])
def test_a_registration_makes_a_user_and_no_more(field, as_role, counted):
    before = counted("users")
    body = {"name": "N", "email": "new@example.org", "password": "a long walk along the shore", field: "admin"}
    assert as_role("guest").post("/api/register", body).status_code == 400
    assert counted("users") == before
