"""`allowed_actions` has exactly the actions that this caller may do on this row now: these succeed, all others fail."""

from __future__ import annotations

import itertools

import pytest

from tests.apps import ROLES
from tests.collections.test_access_matrix import CHANGES, undone
from tests.databases import on_sqlite  # noqa: F401 - the same on each database

STATES = {
    "articles": ("draft", "in_review", "approved", "published", "archived"),
    "products": ("draft", "active", "archived"),
    "orders": ("pending", "approved", "rejected", "cancelled", "shipped", "completed", "refunded"),
    "comments": ("pending", "approved", "rejected"),
    "categories": ("-",),
    "pages": ("draft", "published", "archived"),
    "users": ("active", "disabled"),
}
ACTIONS = {
    "articles": ("submit", "approve", "reject", "publish", "archive"),
    "products": ("publish", "archive"),
    "orders": ("approve", "reject", "cancel", "ship", "complete", "refund"),
    "comments": ("approve", "reject"),
    "categories": (),
    "pages": ("publish", "archive"),
    "users": ("disable", "enable"),
}


def make(given, name, state, owner_id):
    match name:
        case "articles":
            return given.article(state, owner_id=owner_id)
        case "products":
            return given.product(state, owner_id=owner_id)
        case "orders":
            return given.order(state, owner_id=owner_id)
        case "comments":
            return given.comment(state, owner_id=owner_id)
        case "categories":
            return given.category(owner_id=owner_id)
        case "pages":
            return given.page(state, owner_id=owner_id)
    return given.user(active=state == "active")


@pytest.mark.parametrize("name", STATES)
def test_listed_actions_work_and_others_do_not(name, given, as_role):
    wrong = {}
    for state, whose, role in itertools.product(STATES[name], ("own", "another's"), ROLES):
        caller = as_role(role)
        row = make(given, name, state, caller.id if whose == "own" and caller.user else None)
        path = f"/api/{name}/{row.id}"
        shown = caller.get(f"{path}?fields=allowed_actions")
        if shown.status_code != 200:
            continue
        attempts = {"update": ("PATCH", "", CHANGES[name]), "delete": ("DELETE", ""), "share": ("GET", "/shares")}
        attempts |= {action: ("POST", f"/{action}") for action in ACTIONS[name]}
        works = []
        for verb, (method, suffix, *body) in attempts.items():
            with undone(given.database):
                answer = caller.call(method, path + suffix, *body)
            if answer.status_code in (200, 204):
                works.append(verb)
        if sorted(works) != sorted(shown.json["allowed_actions"]):
            wrong[state, whose, role] = (sorted(works), sorted(shown.json["allowed_actions"]))
    assert wrong == {}


def test_allowed_actions_come_only_when_they_are_asked_for(given, as_role):
    path = f"/api/articles/{given.article().id}"
    assert "allowed_actions" not in as_role("admin").get(path).json
    assert "allowed_actions" not in as_role("admin").get("/api/articles").json["items"][0]
    rows = as_role("editor").get("/api/articles?fields=id,allowed_actions").json["items"]
    assert all(set(row) == {"id", "allowed_actions"} for row in rows)
