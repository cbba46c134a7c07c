"""Two features that both ask for a step of a login: after one step, the other feature is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from flask import Flask

from gatepost.testing import Caller, log_in
from models.tables.session import Session
from tests import sample_terms
from tests.accounts.conftest import URL
from tests.accounts.phones import challenged, code_sent, enrol, password_sent
from tests.accounts.provider import CLIENT, SECRET
from tests.accounts.test_passkeys import SETTINGS, added, asked, send
from tests.accounts.test_single_sign_on import connect
from tests.accounts.test_single_sign_on import log_in as log_in_with_provider
from tests.apps import PASSWORD, Given, close, make_app, new_instance
from tests.databases import new_database
from tests.http.console.pages import visit


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.both_databases)])
def start(tmp_path, request: pytest.FixtureRequest, clock) -> Iterator[Callable[..., Flask]]:
    """Starts an app with the plugin."""
    folder = new_instance(tmp_path / "instance", url := new_database(request.param, request), "default")
    made: list[Flask] = []

    def serve(**settings: object) -> Flask:
        made.append(make_app(folder, url, [sample_terms], **settings))
        return made[-1]

    yield serve
    for app in made:
        close(app)


@pytest.fixture
def app(start) -> Flask:
    return start()


@pytest.fixture
def guest(app) -> Caller:
    return Caller(app.test_client())


def user_of(app, name="Terms Both"):
    with app.extensions["gatepost"].database.connected():
        return Given(app, "default").user(password=PASSWORD, name=name)


def logins(app, user):
    with app.extensions["gatepost"].database.connected():
        return [session.login for session in Session.select().where(
            Session.owner_id == user.id, Session.login.is_null(False))]


def agree(guest, answer):
    assert (answer.status_code, answer.json["code"]) == (401, "login_incomplete"), answer.text
    return guest.post("/api/login/terms", {"challenge": answer.json["errors"][0]["meta"]["terms"]})


def test_after_the_code_the_other_feature_is_asked(app, guest, clock):
    user = user_of(app)
    phone = enrol(log_in(app, user), clock)
    challenge, code = challenged(guest, user), phone.new_code()
    answer = code_sent(guest, challenge, code)
    assert logins(app, user) == [], "the login is not complete"
    assert code_sent(guest, challenge, code).json["code"] == "invalid_credentials", "the code was used"
    assert code_sent(guest, challenged(guest, user), code).json["code"] == "invalid_credentials"
    assert logins(app, user) == []
    assert agree(guest, answer).status_code == 200
    assert logins(app, user) == [{"mfa": True, "terms": True}]


def test_one_step_is_enough_for_who_needs_one(app, guest, clock):
    one, other = user_of(app, "Terms Alone"), user_of(app, "Code Alone")
    assert agree(guest, password_sent(guest, one)).status_code == 200
    assert logins(app, one) == [{"terms": True}]
    phone = enrol(log_in(app, other), clock)
    assert code_sent(guest, challenged(guest, other), phone.new_code()).status_code == 200
    assert logins(app, other) == [{"mfa": True}]


def test_a_wrong_code_asks_for_no_further_step(app, guest, clock):
    user = user_of(app)
    enrol(log_in(app, user), clock)
    assert code_sent(guest, challenged(guest, user), "000000").json["code"] == "invalid_credentials"
    assert app.extensions["gatepost"].feature("terms") == {}


def test_the_page_of_the_code_leads_to_the_next_step(app, clock):
    user = user_of(app)
    phone, visitor = enrol(log_in(app, user), clock), visit(app)
    body = {"email": user.email, "password": PASSWORD, "_next": "/console/account"}
    page = visitor.post("/console/login", body).headers["Location"]
    [form] = visitor.page(page).forms
    answer = visitor.post(form.action or page, {**form.fields, "code": phone.new_code()})
    assert answer.status_code == 303
    assert answer.headers["Location"].startswith(f"{sample_terms.PAGE}/")
    assert answer.headers["Location"].endswith("?next=/console/account")
    assert answer.headers.getlist("Set-Cookie") == []
    assert logins(app, user) == []


def test_a_login_with_a_passkey_is_asked_for_the_step_of_the_other_feature(start):
    app = start(**SETTINGS)
    user = user_of(app)
    credential = added(app, user).get(asked(app))
    answer = send(app, credential)
    assert answer.status_code == 303
    assert answer.headers["Location"].startswith(f"{sample_terms.PAGE}/")
    assert answer.headers.getlist("Set-Cookie") == []
    assert send(app, credential).status_code == 401, "its challenge was used"
    assert logins(app, user) == []
    challenge = answer.headers["Location"].partition("?")[0].rpartition("/")[2]
    assert Caller(app.test_client()).post("/api/login/terms", {"challenge": challenge}).status_code == 200
    [login] = logins(app, user)
    assert (login["mfa"], login["terms"]) == (True, True)


@pytest.mark.parametrize("methods", [["pwd"], ["pwd", "mfa"]])
def test_a_login_with_a_provider_is_asked_for_it_also_after_a_second_factor_there(start, provider, methods):
    table = {"issuer": provider.issuer, "client_id": CLIENT, "client_secret": SECRET, "private": True}
    app = start(public_url=URL, oidc={"team": table})
    user = user_of(app)
    with app.extensions["gatepost"].database.connected():
        connect(Given(app, "default"), provider, user)
    provider.claims = {"amr": methods}
    visitor = visit(app)
    answer = log_in_with_provider(visitor, provider)
    assert answer.status_code == 303
    assert answer.headers["Location"].startswith(f"{sample_terms.PAGE}/")
    assert visitor.get("/console/account").status_code == 303
    challenge = answer.headers["Location"].partition("?")[0].rpartition("/")[2]
    assert Caller(app.test_client()).post("/api/login/terms", {"challenge": challenge}).status_code == 200
    [login] = logins(app, user)
    assert (login["issuer"], login.get("mfa", False), login["terms"]) == ("team", "mfa" in methods, True)
