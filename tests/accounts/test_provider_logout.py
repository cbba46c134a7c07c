"""Back-channel logout: a provider ends sessions with a signed token."""

from __future__ import annotations

import secrets
import time

import pytest

from blueprints.accounts.single_sign_on import tokens
from gatepost.testing import log_in as caller_of
from models.tables.audit import Audit
from tests.accounts.phones import enrol
from tests.accounts.test_single_sign_on import (  # noqa: F401
    SUBJECT,
    back,
    begin,
    is_logged_in,
    log_in,
    sessions,
    user,
)
from tests.apps import PASSWORD
from tests.http.console.pages import visit

pytestmark = pytest.mark.usefixtures("no_identities")

PATH = "/console/login/with/team/backchannel"


def send(app, token, **more):
    return app.test_client().post(PATH, data={"logout_token": token, **more})


@pytest.fixture
def visitor(team, provider, user):  # noqa: F811
    visitor = visit(team)
    log_in(visitor, provider)
    assert is_logged_in(visitor)
    return visitor


@pytest.mark.both_databases
@pytest.mark.parametrize("claims", [{"sid": "session one"}, {"sub": SUBJECT}, {"sid": "session one", "sub": SUBJECT}],
                         ids=str)
def test_a_logout_token_ends_sessions(team, given, provider, visitor, user, claims):  # noqa: F811
    other = visit(team, user)
    answer = send(team, provider.logout_token(**claims), other="field that nobody knows")
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store"), answer.text
    assert not is_logged_in(visitor)
    assert is_logged_in(other), "it was not opened with the provider"
    with given.database.connected():
        event = Audit.select().where(Audit.action == "end_by_provider").order_by(Audit.seq.desc()).get()
    assert event.reason.endswith("team ended 1 sessions")


@pytest.mark.both_databases
@pytest.mark.parametrize("way", ["by sid", "by sub", "disconnect", "the code comes again"])
def test_a_login_that_waits_for_a_code_ends_too(team, given, provider, user, clock, way):  # noqa: F811
    caller, logging_in = caller_of(team, user), visit(team)
    phone = enrol(caller, clock)
    path = provider.authorize(begin(logging_in))
    page = back(logging_in, path).headers["Location"].partition("?")[0]
    assert page.startswith("/console/login/code/")
    if way == "disconnect":
        [one] = caller.get("/api/profile/identities").json["data"]
        assert caller.delete(f"/api/profile/identities/{one['id']}").status_code == 204
    elif way == "the code comes again":
        assert back(logging_in, path).status_code == 403
    else:
        claims = {"sid": "session one"} if way == "by sid" else {"sub": SUBJECT}
        assert send(team, provider.logout_token(**claims)).status_code == 200
    before = len(sessions(given, user))
    assert logging_in.post(page, {"code": phone.new_code()}).status_code == 401
    assert len(sessions(given, user)) == before
    assert not is_logged_in(logging_in)


def test_a_session_is_named_by_its_own_provider_and_user(team, provider, visitor):
    for claims in ({"sid": "session two"}, {"sub": "somebody else"}, {"sid": "session one", "sub": "somebody"}):
        answer = send(team, provider.logout_token(**claims))
        assert answer.status_code == 200, claims
    # A subject that is nobody here names no user, so the session alone counts.
    assert not is_logged_in(visitor)


def test_another_session_of_the_user_stays(team, given, provider, visitor, user):  # noqa: F811
    provider.claims = {"sid": "session two"}
    second = visit(team)
    log_in(second, provider)
    assert send(team, provider.logout_token(sid="session two", sub=SUBJECT)).status_code == 200
    assert not is_logged_in(second)
    assert is_logged_in(visitor)
    assert len(sessions(given, user)) == 1


@pytest.mark.both_databases
def test_a_logout_token_counts_once(team, provider, visitor):
    token = provider.logout_token(sub=SUBJECT)
    assert send(team, token).status_code == 200
    log_in(visitor, provider)
    assert send(team, token).status_code == 400
    assert is_logged_in(visitor)


@pytest.mark.parametrize("claims", [
    {"sub": None, "sid": None}, {"nonce": "x"}, {"events": None}, {"events": []}, {"events": {}},
    {"events": {"http://schemas.openid.net/event/backchannel-logout": 5}}, {"jti": None}, {"jti": ""}, {"jti": 5},
    {"jti": "x" * 2000}, {"iss": "http://127.0.0.1:1"}, {"aud": "another client"}, {"aud": None}, {"iat": None},
    {"iat": 1}, {"iat": "now"}, {"iat": 9_000_000_000}, {"exp": 1}, {"sid": 5}, {"sid": ""}, {"sid": "x" * 300},
    {"sub": 5}, {"sub": "x" * 300}], ids=str)
def test_a_token_that_is_no_logout_token_is_refused(team, provider, visitor, claims):
    answer = send(team, provider.logout_token(**{"sub": SUBJECT, **claims}))
    assert answer.status_code == 400, answer.text
    assert is_logged_in(visitor)


def test_an_id_token_ends_no_session(team, provider, visitor):
    assert send(team, provider.id_token("nonce")).status_code == 400
    assert is_logged_in(visitor)


def test_an_access_token_is_no_logout_token(team, provider, visitor):
    provider.header = {"typ": "at+jwt"}
    assert send(team, provider.logout_token(sub=SUBJECT)).status_code == 400
    provider.header = {"typ": "JWT"}
    assert send(team, provider.logout_token(sub=SUBJECT)).status_code == 200


@pytest.mark.parametrize("body", [{}, {"logout_token": ""}, {"logout_token": "x" * 70_000}, {"logout_token": "a.b.c"},
                                  {"logout_token": ["a", "b"]}])
def test_a_form_without_a_token_is_refused(team, body):
    assert team.test_client().post(PATH, data=body).status_code in (400, 413)
    assert team.test_client().post(PATH, json={"logout_token": "a.b.c"}).status_code in (400, 415)


def test_an_unknown_provider_is_not_found(team):
    path = PATH.replace("team", "nobody")
    assert team.test_client().post(path, data={"logout_token": "x"}).status_code == 404


def test_a_token_is_remembered_longer_than_it_is_accepted(team, provider, visitor):
    old = int(time.time()) - tokens._OLDEST_LOGOUT - 5
    assert send(team, provider.logout_token(sub=SUBJECT, iat=old, jti=secrets.token_hex(8))).status_code == 400
    assert is_logged_in(visitor)


def test_a_user_of_another_tenant_is_logged_out_there(team, elsewhere, provider):
    from tests.accounts.test_single_sign_on import connect

    someone = elsewhere.user("admin", password=PASSWORD)
    connect(elsewhere, provider, someone)
    visitor = visit(team)
    log_in(visitor, provider)
    assert send(team, provider.logout_token(sid="session one")).status_code == 200
    assert not is_logged_in(visitor)
