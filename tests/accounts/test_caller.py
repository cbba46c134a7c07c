"""Attributes of the caller in the shipped app: `r.sub.mfa` and `r.sub.auth_age`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from gatepost.collections.plugins.discovery import discover
from gatepost.testing import Caller
from models.base import later
from models.tables.session import Session
from models.tables.user import User
from policies import PolicyError, load
from policies.invariants.lines import INVARIANTS_FILE
from tests.apps import PASSWORD, Given, close, make_app, new_instance
from tests.databases import new_database
from tests.policies.editing import add_line, shipped_copy

WITH_MFA = "    p.when == 'with_mfa' && (r.sub.mfa == 1 || r.sub.kind == 'service') || \\"
FRESH_LOGIN = "    p.when == 'fresh_login' && (r.sub.auth_age < 600 || r.sub.kind == 'service') || \\"
RULES = ("p, user, product.create, with_mfa, allow", "p, user, category.create, fresh_login, allow")
PRODUCT = {"name": "Lamp", "sku": "lamp", "price": 5, "currency": "EUR"}


def edit(policies: Path) -> None:
    for branch in (WITH_MFA, FRESH_LOGIN):
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
