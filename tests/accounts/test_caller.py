"""Attributes of the caller in the shipped app: `r.sub.mfa` and `r.sub.auth_age`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from gatepost.collections.plugins.discovery import discover
from gatepost.testing import Caller, log_in
from models.base import later
from models.tables.session import Session
from models.tables.user import User
from policies import PolicyError, load
from policies.invariants.lines import INVARIANTS_FILE
from tests.apps import PASSWORD, Given, close, make_app, new_instance
from tests.databases import new_database
from tests.policies.editing import add_line, shipped_copy

ONLY_MFA = "    p.when == 'only_mfa' && r.sub.mfa == 1 || \\"
WITH_MFA = "    p.when == 'with_mfa' && (r.sub.mfa == 1 || r.sub.kind == 'service') || \\"
FRESH_LOGIN = "    p.when == 'fresh_login' && (r.sub.auth_age < 600 || r.sub.kind == 'service') || \\"
RULES = ("p, user, product.create, with_mfa, allow", "p, user, category.create, fresh_login, allow",
         "p, user, category.update, with_mfa, allow", "p, user, page.create, only_mfa, allow")
PRODUCT = {"name": "Lamp", "sku": "lamp", "price": 5, "currency": "EUR"}


def edit(policies: Path) -> None:
    for branch in (WITH_MFA, FRESH_LOGIN, ONLY_MFA):
        add_line(policies / "model.conf", branch)
    for rule in RULES:
        add_line(policies / "products.csv", rule)


@pytest.fixture
def app(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Flask]:
    folder = new_instance(tmp_path / "instance", url := new_database("sqlite", request), "default")
    edit(folder / "policies")
    (folder / "policies" / INVARIANTS_FILE).unlink()
    made = make_app(folder, url)
    yield made
    close(made)


@pytest.fixture
def user(app: Flask) -> User:
    with app.extensions["gatepost"].database.connected():
        return Given(app, "default").user("user", password=PASSWORD)


def logged_in(app: Flask, user: User) -> dict[str, str]:
    answer = app.test_client().post("/api/login", json={"email": user.email, "password": PASSWORD})
    assert answer.status_code == 200, answer.text
    return answer.json


def change_session(app: Flask, user: User, **values: object) -> None:
    with app.extensions["gatepost"].database.connected():
        stored = {name: json.dumps(value) if name == "login" else value for name, value in values.items()}
        Session.update(stored).where(Session.owner_id == user.id).execute()


def caller(app: Flask, tokens: dict[str, str]) -> Caller:
    return Caller(app.test_client(), token=tokens["access_token"])


def test_a_rule_may_demand_a_second_factor(app, user):
    tokens = logged_in(app, user)
    refused = caller(app, tokens).post("/api/products", json=PRODUCT)
    assert refused.status_code == 401 and 'acr_values="mfa"' in refused.headers["WWW-Authenticate"]
    change_session(app, user, login={"mfa": True})
    assert caller(app, tokens).post("/api/products", json=PRODUCT).status_code == 201


@pytest.mark.parametrize("login", [None, {}, {"mfa": False}, {"mfa": 1}, {"mfa": "yes"}, {"issuer": "mfa"}])
def test_no_other_note_of_a_login_is_a_second_factor(app, user, login):
    tokens = logged_in(app, user)
    change_session(app, user, login=login)
    assert caller(app, tokens).post("/api/products", json=PRODUCT).status_code == 401


def test_a_refreshed_session_keeps_the_time_and_the_factor_of_its_login(app, user):
    tokens = logged_in(app, user)
    change_session(app, user, login={"mfa": True}, created_at=later(-601))
    fresh = app.test_client().post("/api/token/refresh", json={"refresh_token": tokens["refresh_token"]}).json
    assert caller(app, fresh).post("/api/products", json=PRODUCT).status_code == 201
    refused = caller(app, fresh).post("/api/categories", json={"name": "Lamps", "slug": "lamps"})
    assert refused.status_code == 401
    assert refused.headers["WWW-Authenticate"] == 'Bearer error="insufficient_user_authentication", max_age="599"'


def test_a_login_of_the_future_is_fresh(app, user):
    tokens = logged_in(app, user)
    change_session(app, user, created_at=later(3600))
    assert caller(app, tokens).post("/api/categories", json={"name": "Lamps", "slug": "lamps"}).status_code == 201


def test_without_the_feature_rules_that_ask_for_it_are_refused(tmp_path):
    edit(folder := shipped_copy(tmp_path / "policies"))
    load(folder, discover().vocabulary)
    with pytest.raises(PolicyError, match=r"r\.sub\.mfa is unknown"):
        load(folder, discover(without=("accounts",)).vocabulary)


def test_authzen_takes_the_login_from_the_subject(app, user):
    """The decision is that of a login with these properties. The user's own sessions do not count."""
    logged_in(app, user)
    change_session(app, user, login={"mfa": True})
    with app.extensions["gatepost"].database.connected():
        given = Given(app, "default")
        admin, token = log_in(app, given.user("admin")), given.service_token(user, scopes=["write:products"])

    def decided(kind: str, id: str, name: str, **properties: object) -> bool:
        answer = admin.post("/access/v1/evaluation", {
            "subject": {"type": kind, "id": id, "properties": properties}, "action": {"name": "create"},
            "resource": {"type": name, "id": ""}})
        assert answer.status_code == 200, answer.text
        return bool(answer.json["decision"])

    values: list[dict[str, object]] = [{}, {"mfa": False}, {"mfa": "true"}, {"mfa": 1}, {"auth_age": 0}, {"mfa": True}]
    for kind, id in (("user", user.id), ("role", "user")):
        assert [decided(kind, id, "product", **each) for each in values] == [False] * 5 + [True], kind
        ages = [600, 599.0, "0", None, True, 599, 0]
        assert [decided(kind, id, "category", auth_age=each) for each in ages] == [False] * 5 + [True] * 2, kind
    assert decided("service", token.id, "product", mfa=False), "a program has no login"


@pytest.mark.parametrize("about", ["a row", "any row"])
def test_authzen_searches_find_what_evaluations_allow_with_a_login(app, user, about):
    with app.extensions["gatepost"].database.connected():
        given = Given(app, "default")
        admin, category = log_in(app, given.user("admin")), given.category()
        token = given.service_token(user, scopes=["write:categories", "read:categories"])
    resource = {"type": "category", "id": category.id if about == "a row" else ""}
    action = {"name": "update"}

    def asked(path: str, **question: object) -> Any:
        answer = admin.post(f"/access/v1/{path}", {"resource": resource, "action": action, **question})
        assert answer.status_code == 200, answer.text
        return answer.json

    for login, may in (({}, False), ({"mfa": False}, False), ({"mfa": True}, True)):
        one, role = ({"type": kind, "id": id, "properties": login}
                     for kind, id in (("user", user.id), ("role", "user")))
        assert asked("evaluation", subject=one)["decision"] is may
        assert asked("evaluation", subject=role)["decision"] is may
        found = asked("search/subject", subject={"type": "user", "properties": login}, page={"limit": 200})["results"]
        assert ({"type": "user", "id": user.id} in found) is may
        found = asked("search/subject", subject={"type": "role", "properties": login})["results"]
        assert ({"type": "role", "id": "user"} in found) is may
        found = asked("search/action", subject=one)["results"]
        assert (action in found) is may
        found = asked("search/resource", subject=one, resource={"type": "category"})["results"]
        assert bool(found) is may
    program = {"type": "service", "id": token.id}
    assert asked("evaluation", subject=program)["decision"], "the condition names its kind"
    assert program in asked("search/subject", subject={"type": "service"})["results"]


def test_authzen_gives_a_program_no_login(app, user):
    """Without the kind in its condition, a rule about the login lets no program in."""
    with app.extensions["gatepost"].database.connected():
        given = Given(app, "default")
        admin, token = log_in(app, given.user("admin")), given.service_token(user, scopes=["write:pages"])

    def decided(kind: str, id: str, **properties: object) -> bool:
        answer = admin.post("/access/v1/evaluation", {
            "subject": {"type": kind, "id": id, "properties": properties}, "action": {"name": "create"},
            "resource": {"type": "page", "id": ""}})
        return bool(answer.json["decision"])

    assert decided("user", user.id, mfa=True)
    assert not decided("user", user.id)
    assert not decided("service", token.id, mfa=True)
