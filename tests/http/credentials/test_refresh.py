"""The life of a refresh token: it is exchanged once, after a lost answer twice, and never again."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest

from gatepost.http.operations import counters
from gatepost.http.operations.limits import Limits
from gatepost.http.protocol.problems import Problem
from gatepost.http.request.identity import principal_of
from models.base import later
from models.tables.audit import Audit, of_tenant
from models.tables.session import KEPT, Session
from tests.apps import PASSWORD
from tests.http.credentials.stored_sessions import change, long_ago, sessions_of


class Login:
    """A login of one user: its answer, and requests with its tokens."""

    def __init__(self, app, user):
        self.app, self.user = app, user
        answer = app.test_client().post("/api/login", json={"email": user.email, "password": PASSWORD})
        assert answer.status_code == 200
        self.first = answer.get_json()
        assert answer.headers["Cache-Control"] == "no-store"

    def exchange(self, token):
        answer = self.app.test_client().post("/api/token/refresh", json={"refresh_token": token})
        return answer.status_code, answer.get_json()

    def works(self, access):
        headers = {"Authorization": f"Bearer {access}"}
        return self.app.test_client().get("/api/profile", headers=headers).status_code == 200


@pytest.fixture
def login(app, given):
    return Login(app, given.user(password=PASSWORD))


def test_an_exchange_gives_a_new_pair_that_works(login):
    status, second = login.exchange(login.first["refresh_token"])
    assert status == 200 and set(second) == set(login.first)
    assert second["refresh_token"] != login.first["refresh_token"]
    assert second["access_token"] != login.first["access_token"]
    assert (second["token_type"], second["scope"], second["expires_in"]) == ("Bearer", "*", 900)
    assert login.works(second["access_token"])
    assert login.exchange(second["refresh_token"])[0] == 200


def test_a_lost_answer_can_be_asked_for_again(login):
    first = login.first["refresh_token"]
    _, second = login.exchange(first)
    status, again = login.exchange(first)
    assert (status, again["refresh_token"]) == (200, second["refresh_token"])


def test_every_token_has_its_own_grace(login):
    first = login.first["refresh_token"]
    _, second = login.exchange(first)
    _, third = login.exchange(second["refresh_token"])
    assert login.exchange(first)[1]["refresh_token"] == second["refresh_token"]
    assert login.exchange(second["refresh_token"])[1]["refresh_token"] == third["refresh_token"]


@pytest.mark.both_databases
def test_eight_exchanges_at_once_give_the_same_token(login):
    barrier = Barrier(8)

    def go(_):
        barrier.wait()
        return login.exchange(login.first["refresh_token"])

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(go, range(8)))
    assert [status for status, _ in answers] == [200] * 8
    assert len({answer["refresh_token"] for _, answer in answers}) == 1
    assert all(login.works(answer["access_token"]) for _, answer in answers)
    assert login.exchange(answers[0][1]["refresh_token"])[0] == 200


@pytest.mark.parametrize("generations", [1, 2, 5])
def test_a_token_that_comes_back_after_its_grace_ends_the_family_and_is_audited(generations, login, given):
    first, newest = login.first["refresh_token"], login.first
    for _ in range(generations):
        _, newest = login.exchange(newest["refresh_token"])
        long_ago(given, login.user)
    assert login.exchange(first)[0] == 401
    assert login.exchange(newest["refresh_token"])[0] == 401, "the thief's or the owner's: the server cannot tell"
    assert not login.works(newest["access_token"])
    session, = sessions_of(given, login.user)
    assert session.revoked_at is not None
    with given.database.connected():
        rows = of_tenant(given.tenant_id).where(Audit.resource_id == session.id, Audit.result == "refused",
                                                Audit.action == "refresh")
        reasons = [row.reason for row in rows]
    assert "a used refresh token came back: its sessions were ended" in reasons


def test_a_forged_token_ends_no_family(login):
    first = login.first["refresh_token"]
    assert login.exchange(first[:-30] + "A" * 30)[0] == 401
    assert login.exchange(first)[0] == 200


def test_another_session_of_the_same_user_goes_on(login, app, given):
    other = Login(app, login.user)
    login.exchange(login.first["refresh_token"])
    for session in sessions_of(given, login.user):
        if session.recent:
            change(given, session, recent=[f"{session.recent[0].split(' ')[0]} {later(-60)}"])
    assert login.exchange(login.first["refresh_token"])[0] == 401
    assert other.works(other.first["access_token"])


@pytest.mark.parametrize(("column", "why"), [
    ("expires_at", "idle for too long"), ("revoked_at", "logged out")])
def test_a_session_that_is_over_is_not_renewed(column, why, login, given):
    session, = sessions_of(given, login.user)
    change(given, session, **{column: later(-1)})
    assert login.exchange(login.first["refresh_token"])[0] == 401, why
    assert not login.works(login.first["access_token"])


def test_no_exchange_reaches_beyond_the_absolute_end(login, given):
    session, = sessions_of(given, login.user)
    end = later(3600)
    change(given, session, absolute_expires_at=end)
    assert login.exchange(login.first["refresh_token"])[0] == 200
    session, = sessions_of(given, login.user)
    assert session.expires_at == end


def test_only_hashes_are_stored(login, given):
    _, second = login.exchange(login.first["refresh_token"])
    session, = sessions_of(given, login.user)
    kept = repr(session.__data__)
    for token in (login.first["refresh_token"], second["refresh_token"]):
        assert token not in kept and token.split("_", 2)[2] not in kept


def test_a_disabled_user_gets_no_new_token(login, as_role):
    assert as_role("owner").post(f"/api/users/{login.user.id}/disable").status_code == 200
    assert login.exchange(login.first["refresh_token"])[0] == 401


def test_the_session_that_is_exchanged_stays_the_same(login, given):
    before, = sessions_of(given, login.user)
    login.exchange(login.first["refresh_token"])
    after, = sessions_of(given, login.user)
    assert after.id == before.id and after.last_used_at > before.last_used_at


def test_a_session_whose_row_has_gone_is_as_invalid_as_one_that_ended(login, given):
    client = login.app.test_client()
    client.post("/api/logout", headers={"Authorization": f"Bearer {login.first['access_token']}"})
    given.database.transact(lambda: Session.purge(later(KEPT + 1), 1000))
    assert sessions_of(given, login.user) == []
    status, problem = login.exchange(login.first["refresh_token"])
    assert (status, problem["code"]) == (401, "invalid_token")
    assert not login.works(login.first["access_token"])


@pytest.mark.both_databases
def test_a_login_beyond_the_most_sessions_of_a_user_ends_the_one_used_longest_ago(login, given, app, monkeypatch):
    services = app.extensions["gatepost"]
    monkeypatch.setattr(services, "settings", replace(services.settings, user_sessions=3))
    second, third = Login(app, login.user), Login(app, login.user)
    assert login.exchange(login.first["refresh_token"])[0] == 200
    fourth = Login(app, login.user)
    assert not second.works(second.first["access_token"])
    assert all(one.works(one.first["access_token"]) for one in (login, third, fourth))


def test_logins_and_refreshes_take_units_of_the_account(login, app, given, monkeypatch):
    services = app.extensions["gatepost"]
    monkeypatch.setattr(counters, "monotonic", lambda: 0.0)  # a minute lasts as long as the test
    monkeypatch.setattr(services, "limits", Limits(replace(services.settings, rate_limits=True, principal_units=45)))
    assert login.exchange(login.first["refresh_token"])[0] == 200
    again = [app.test_client().post("/api/login", json={"email": login.user.email, "password": PASSWORD})
             for _ in range(4)]
    assert [answer.status_code for answer in again] == [200, 200, 200, 429]
    assert again[-1].headers["RateLimit-Policy"].startswith('"principal"')
    assert login.exchange(again[0].get_json()["refresh_token"])[0] == 429
    other = given.user(password=PASSWORD)
    answer = app.test_client().post("/api/login", json={"email": other.email, "password": PASSWORD})
    assert answer.status_code == 200, "another account has units of its own"


def test_a_login_after_the_clock_was_set_back_is_not_ended_by_itself(login, given, app, monkeypatch):
    services = app.extensions["gatepost"]
    monkeypatch.setattr(services, "settings", replace(services.settings, user_sessions=2))
    Login(app, login.user)
    for session in sessions_of(given, login.user):
        change(given, session, created_at=later(3 * 3600))
    newest = Login(app, login.user)
    assert newest.works(newest.first["access_token"])
    assert len([one for one in sessions_of(given, login.user) if one.revoked_at is None]) == 2


@pytest.fixture
def limited(app, monkeypatch):
    """`limited(15)` limits a user to 15 units a minute from now on."""
    services = app.extensions["gatepost"]
    monkeypatch.setattr(counters, "monotonic", lambda: 0.0)  # a minute lasts as long as the test
    return lambda units: monkeypatch.setattr(
        services, "limits", Limits(replace(services.settings, rate_limits=True, principal_units=units)))


def test_refresh_tokens_that_were_made_up_take_no_units_of_the_account(login, limited):
    token = login.first["refresh_token"]
    limited(15)
    for _ in range(5):
        assert login.exchange(token[:-5] + "AAAAA")[0] == 401
    assert login.exchange(token)[0] == 200


@pytest.fixture(params=["logged out", "expired", "of a disabled user", "used before"])
def dead(request, login, given, as_role):
    """A refresh token that was valid once, and True if its session ends before the token is used again."""
    token, (session,) = login.first["refresh_token"], sessions_of(given, login.user)
    if request.param == "logged out":
        change(given, session, revoked_at=later(-1))
    elif request.param == "expired":
        change(given, session, expires_at=later(-1))
    elif request.param == "of a disabled user":
        as_role("owner").post(f"/api/users/{login.user.id}/disable")
    else:
        login.exchange(token)
        long_ago(given, login.user)
    return token, request.param != "used before"


def test_a_refresh_token_that_is_no_longer_good_takes_no_units_of_the_account(dead, login, given, limited, app):
    token, _ = dead
    principal = principal_of(login.user)
    limited(20)
    for _ in range(5):
        assert login.exchange(token)[0] == 401
    limits = app.extensions["gatepost"].limits
    with app.test_request_context():
        for _ in range(2):
            limits.spend_of_principal(principal, 10)
        with pytest.raises(Problem, match="rate_limited"):
            limits.spend_of_principal(principal, 1)


@pytest.mark.both_databases
def test_a_token_of_a_session_that_is_over_or_that_was_made_up_keeps_no_writer_waiting(
        dead, login, app, given, monkeypatch):
    token, over = dead
    other = Login(app, given.user(password=PASSWORD)).first["refresh_token"]
    if not over:
        assert login.exchange(token)[0] == 401, "this one had its turn to write: it ended its family"
    transact, requests = given.database.transact, threading.current_thread()

    def refuse(work, **options):
        if threading.current_thread() is requests:
            pytest.fail("it took a turn to write")
        return transact(work, **options)  # a chore's

    monkeypatch.setattr(given.database, "transact", refuse)
    for one in (token, other[:-5] + "AAAAA"):
        assert login.exchange(one)[0] == 401


@pytest.mark.parametrize("units", [1, 10, 19])
def test_a_login_and_a_refresh_leave_half_of_the_accounts_units(units, login, limited, app):
    limited(units)
    assert login.exchange(login.first["refresh_token"])[0] == 200
    limited(units)
    assert Login(app, login.user).works(login.first["access_token"])
