"""The service answers as `explain` predicts: the question first, then the request itself, rolled back.

Callers of every role, guests, disabled accounts and tokens ask for every permission on rows in every state.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pytest

from gatepost.http.request.identity import service_token
from gatepost.http.writing.rules_in_code import NAMES
from models.base import later
from models.tables.audit import Audit
from models.tables.service_token import ServiceToken
from models.tables.user import User
from tests.apps import PASSWORD, ROLES, Caller
from tests.databases import on_sqlite, undone  # noqa: F401 - the same on each database
from tests.running import ROOT

EXPLAINS, SEED = int(os.environ.get("EXPLAINS", "500")), int(os.environ.get("SEED", "20"))
EXPLAIN = "/api/admin/policy/explain"
STATES = {
    "articles": ("draft", "in_review", "approved", "published", "archived"),
    "products": ("draft", "active", "archived"),
    "orders": ("pending", "approved", "shipped", "completed", "cancelled", "rejected", "refunded"),
    "comments": ("pending", "approved", "rejected"),
    "pages": ("draft", "published", "archived"),
}
ACTIONS = {
    "articles": ("submit", "approve", "reject", "publish", "archive"),
    "products": ("publish", "archive"),
    "orders": ("approve", "reject", "cancel", "ship", "complete", "refund"),
    "comments": ("approve", "reject"),
    "pages": ("publish", "archive"),
    "categories": (),
    "users": ("disable", "enable"),
}
CHANGES = {
    "articles": {"title": "Changed"}, "products": {"name": "Changed"}, "orders": {"note": "Changed"},
    "comments": {"body": "Changed"}, "categories": {"name": "Changed"}, "pages": {"title": "Changed"},
    "users": {"name": "Changed"},
}
RESOURCES = {"articles": "article", "products": "product", "orders": "order", "comments": "comment",
             "categories": "category", "pages": "page", "users": "user"}


@dataclass(frozen=True)
class Principal:
    """A caller, their name in `explain`, and the scopes of their token."""

    name: str
    who: str
    caller: Caller
    scopes: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Thing:
    """A row of a collection."""

    name: str
    collection: str
    id: str


@dataclass(frozen=True)
class Request:
    """A request, and the permission that it needs."""

    permission: str
    method: str
    path: str
    body: dict[str, Any] | None = None


@pytest.fixture(scope="module")
def world(app, given, as_user):
    """The caller who explains, the callers who try, and the rows."""
    root = as_user("admin")
    ann = as_user("user", department="news")
    principals = [Principal("guest", "guest", Caller(app.test_client())), Principal("ann", ann.id, ann)]
    for role in ROLES[1:]:
        found = as_user(role, department="news")
        principals.append(Principal(role, found.id, found))
    gone = as_user("user")
    given.database.transact(lambda: User.update(active=False).where(User.id == gone.id).execute())
    principals.append(Principal("disabled", gone.id, gone))
    for role, scope in (("editor", "read:articles"), ("editor", "write:articles"), ("manager", "write:orders"),
                        ("owner", "manage:users"), ("admin", "read:users"), ("user", "manage:articles")):
        user = given.user(role)
        id, kept, secret = service_token()
        given.row(ServiceToken(id=id, token_hash=kept, name="A program", scopes=[scope], owner_id=user.id,
                               expires_at=later(86_400)))
        principals.append(Principal(f"{role} by {scope}", user.id, Caller(app.test_client(), user, secret), (scope,)))
    bob = given.user("user")
    things = []
    product, article = given.product(stock=1000), given.article()
    for collection, states in STATES.items():
        for state in states:
            for name, owner in (("ann's", ann.id), ("bob's", bob.id)):
                more = {"orders": {"product": product}, "comments": {"article_id": article.id,
                                                                     "article_status": "published"}}
                row = getattr(given, RESOURCES[collection])(state, owner_id=owner, department="news",
                                                            **more.get(collection, {}))
                things.append(Thing(f"{name} {state}", collection, row.id))
    shared = given.article("draft", owner_id=bob.id)
    given.share("article", shared, f"user:{ann.id}", "write")
    things.append(Thing("shared draft", "articles", shared.id))
    things.append(Thing("a category", "categories", given.category(owner_id=bob.id).id))
    for role in ("user", "manager", "owner", "admin"):
        things.append(Thing(f"a {role}", "users", given.user(role).id))
    things.append(Thing("a disabled user", "users", given.user("user", active=False).id))
    things.append(Thing("ann", "users", ann.id))
    return root, principals, things


def explained(root: Caller, principal: Principal, permission: str, id: str | None) -> dict[str, Any]:
    asked = {"as": principal.who, "permission": permission, "id": id,
             "scope": None if principal.scopes is None else ",".join(principal.scopes)}
    answer = root.get(f"{EXPLAIN}?{urlencode({name: value for name, value in asked.items() if value is not None})}")
    assert answer.status_code == 200, (asked, answer.get_data(as_text=True))
    return answer.get_json()


def requests(thing: Thing) -> Iterator[Request]:
    """Yields the possible requests for a row."""
    resource, path = RESOURCES[thing.collection], f"/api/{thing.collection}/{thing.id}"
    yield Request(f"{resource}.view", "GET", path)
    yield Request(f"{resource}.update", "PATCH", path, CHANGES[thing.collection])
    yield Request(f"{resource}.delete", "DELETE", path)
    for action in ACTIONS[thing.collection]:
        yield Request(f"{resource}.{action}", "POST", f"{path}/{action}")
    if thing.collection == "users":
        yield Request("user.create_password_link", "POST", f"{path}/password-link")


def answered(given, principal: Principal, request: Request) -> tuple[int, str | None, str | None]:
    """Returns status, code and the rule in the audit log, of a request whose effect is rolled back."""
    more = {} if request.body is None else {"json": request.body}
    with undone(given.database):
        answer = principal.caller.call(request.method, request.path, **more)
        if answer.status_code >= 400:
            return answer.status_code, answer.get_json()["code"], None
        # Refusals of earlier requests may be written meanwhile.
        allowed = Audit.select().where(Audit.result == "allowed").order_by(Audit.seq.desc())
        last = allowed.first() if request.method != "GET" else None
        return answer.status_code, None, None if last is None else last.rule


def contradiction(given, root: Caller, principal: Principal, request: Request, id: str | None = None) -> str:
    """Describes the difference between `explain` and the service; "" if they agree."""
    found, answer = explained(root, principal, request.permission, id), answered(given, principal, request)
    decided = found["decided_by"]
    named = f"{decided['file']}:{decided['line']}" if decided and answer[2] is not None else None
    said = found["status"], found["code"], named
    return "" if said == answer else f"{request.permission}: {said}, and it is {answer} ({found['summary']})"


def test_the_answer_that_explain_predicts_is_the_answer_of_the_service(world, given):
    root, principals, things = world
    questions = [(principal, thing, request)
                 for principal in principals for thing in things for request in requests(thing)
                 # Rows that refer to a user keep the user: the database enforces this, not a rule.
                 if (thing.name, request.method) != ("ann", "DELETE")]
    chosen = random.Random(SEED).sample(questions, min(EXPLAINS, len(questions)))
    chosen += [one for one in questions if one[1].collection == "users" and one[0].name in ("owner", "admin", "ann")]
    wrong = [f"{principal.name} on {thing.name}: {found}" for principal, thing, request in chosen
             if (found := contradiction(given, root, principal, request, thing.id))]
    assert not wrong, f"{len(wrong)} of {len(chosen)}:\n" + "\n".join(wrong[:20])


@pytest.mark.parametrize("collection", ["articles", "products", "orders", "comments", "categories", "pages", "users"])
def test_a_new_row_is_judged_as_it_would_be_stamped(world, given, collection):
    root, principals, _ = world
    product, article = given.product(stock=1000), given.article()
    bodies = {
        "articles": {"title": "New", "slug": "new", "body": "Words."},
        "products": {"name": "New", "sku": "NEW", "price": 1, "currency": "EUR"},
        "orders": {"items": [{"product_id": product.id, "quantity": 1}]},
        "comments": {"article_id": article.id, "body": "Well said."},
        "categories": {"name": "New", "slug": "new"},
        "pages": {"slug": "new", "title": "New", "body": "Words.", "language": "en"},
        "users": {"name": "New", "email": "new@example.org", "password": PASSWORD},
    }
    request = Request(f"{RESOURCES[collection]}.create", "POST", f"/api/{collection}", bodies[collection])
    wrong = [f"{principal.name}: {found}" for principal in principals
             if (found := contradiction(given, root, principal, request))]
    # The author of an order or comment must see the objects it refers to: a token needs a scope for that too.
    if collection in ("orders", "comments"):
        wrong = [one for one in wrong if "invalid_reference" not in one]
    assert not wrong, "\n".join(wrong)


def test_the_last_administrator_is_told_before_anybody_tries(given, app, as_user):
    with undone(given.database):
        User.update(role="owner").where(User.role == "admin").execute()
        root = as_user("admin")
        principal = Principal("the last administrator", root.id, root)
        for verb, method, path in (("delete", "DELETE", ""), ("disable", "POST", "/disable")):
            request = Request(f"user.{verb}", method, f"/api/users/{root.id}{path}")
            found = explained(root, principal, request.permission, root.id)
            assert (found["verdict"], found["policy_verdict"], found["status"]) == ("refused", "allowed", 409)
            assert {"name": "last_administrator", "holds": False, "status": 409,
                    "text": "the user is the last active administrator, and must stay one"} in found["rules"]
            assert root.call(request.method, request.path).get_json()["code"] == "last_administrator"


def test_what_a_caller_may_change_and_not_view_is_hidden(under, given, as_user, as_role):
    app = under("", {"articles.csv": "p, support, article.update, always, allow"})
    support, draft = as_user("support"), given.article("draft")
    root = as_role("admin")
    support.client = root.client = app.test_client()
    principal = Principal("support", support.id, support)
    found = explained(root, principal, "article.update", draft.id)
    assert (found["verdict"], found["policy_verdict"], found["hidden"], found["status"]) == (
        "refused", "allowed", True, 404)
    assert "the caller cannot view it, so that the answer is 404 (articles.csv:" in found["summary"]
    assert support.patch(f"/api/articles/{draft.id}", {"title": "Changed"}).status_code == 404


def test_every_rule_in_code_is_documented_by_its_name():
    text = (ROOT / "docs/policy/rules-in-code.md").read_text(encoding="utf-8")
    assert tuple(re.findall(r"^\| `([a-z_]+)` \|", text, re.MULTILINE)) == NAMES
