"""Sensitive changes: the user's own e-mail address and a new token need the password, or a recent login."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import count

import pytest

from gatepost.http.credentials import step_up
from gatepost.http.operations import counters
from gatepost.http.operations.limits import Limits
from gatepost.http.request.identity import service_token
from models.base import later
from models.tables.audit import Audit, of_tenant
from models.tables.service_token import ServiceToken
from models.tables.session import Session
from models.tables.user import User
from tests.apps import PASSWORD, Caller

OTHER = "another walk along the shore"
_numbers = count(1)


def address():
    return f"moved{next(_numbers)}@example.org"


@pytest.fixture
def later_on(as_user, given):
    """`later_on("editor")` returns a caller with `PASSWORD` whose login is too old."""
    def caller(role="user", **more):
        made = as_user(role, password=PASSWORD, **more)

        def age():
            return Session.update({Session.created_at: later(-step_up.FRESH - 1)}).where(
                Session.owner_id == made.id).execute()

        assert given.database.transact(age) == 1
        return made

    return caller


@pytest.fixture
def program(given):
    """A service token of a caller, with scopes."""
    def caller(of, *scopes):
        id, token_hash, text = service_token()
        given.row(ServiceToken(id=id, name="ci", token_hash=token_hash, scopes=list(scopes), owner_id=of.id))
        return Caller(of.client, of.user, text)

    return caller


def profile(caller, email, **more):
    return caller.patch("/api/profile", {"email": email, **more})


def own_patch(caller, email, **more):
    return caller.patch(f"/api/users/{caller.id}", {"email": email, **more})


def own_put(caller, email, **more):
    return caller.put(f"/api/users/{caller.id}", {"name": "N", "email": email, **more})


def imported(caller, *lines):
    return caller.post("/api/users/import", data="\n".join(json.dumps(line) for line in lines),
                       content_type="application/x-ndjson")


def own_import(caller, email, **more):
    return imported(caller, {"id": caller.id, "email": email, **more})


def token(caller, email="", **more):
    return caller.post("/api/tokens", {"name": "ci", "scopes": ["read:articles"], **more})


WAYS = {"profile": (profile, "user"), "PATCH": (own_patch, "user"), "PUT": (own_put, "user"),
        "import": (own_import, "owner"), "token": (token, "user")}
ways = pytest.mark.parametrize("way", WAYS)


def done(answer):
    return answer.status_code in (200, 201)


def refused(way, answer, word):
    """True if the refusal points at the password and says what is wrong with it."""
    fault, = answer.json["errors"]
    status = 400 if way == "import" else 403
    assert (answer.status_code, answer.json["code"]) == (status, "invalid_body" if way == "import" else "forbidden")
    return (fault["code"], fault["pointer"]) == ("forbidden", "/current_password") and word in fault["detail"]


@ways
def test_it_takes_no_password_while_the_login_is_fresh(way, as_user):
    change, role = WAYS[way]
    assert done(change(as_user(role), address()))


@ways
def test_later_on_it_takes_the_right_one(way, later_on, given):
    change, role = WAYS[way]
    caller, email = later_on(role), address()
    assert refused(way, change(caller, email), "needs your current password")
    assert refused(way, change(caller, email, current_password=None), "needs your current password")
    assert refused(way, change(caller, email, current_password=OTHER), "is wrong")
    assert given.found(User, caller.id).email == caller.user.email
    answer = change(caller, email, current_password=PASSWORD)
    assert done(answer), answer.get_data(as_text=True)
    assert PASSWORD not in answer.get_data(as_text=True)
    assert given.found(User, caller.id).email == (caller.user.email if way == "token" else email)


@pytest.fixture(scope="module")
def open_to_programs(under):
    return under("", {"scopes.csv": "p2, write:profile, token.create"})


@ways
def test_a_service_token_takes_it_always(way, as_user, program, open_to_programs):
    change, role = WAYS[way]
    owner, email = as_user(role, password=PASSWORD), address()
    made = program(owner, "write:profile", "manage:users")
    caller = Caller(open_to_programs.test_client(), owner.user, made.token)
    assert refused(way, change(caller, email), "needs your current password")
    assert done(change(caller, email, current_password=PASSWORD))


@ways
def test_an_account_without_a_password_cannot_prove_itself(way, later_on, given):
    change, role = WAYS[way]
    caller = later_on(role)
    given.database.transact(lambda: User.update({User.password_hash: "!"}).where(User.id == caller.id).execute())
    assert refused(way, change(caller, address(), current_password=PASSWORD), "is wrong")


@pytest.mark.parametrize("way", ["profile", "PATCH", "PUT", "import"])
def test_the_same_address_in_other_letters_takes_none(way, later_on):
    change, role = WAYS[way]
    caller = later_on(role)
    assert done(change(caller, caller.user.email.upper()))


def test_other_fields_of_ones_own_take_none(later_on):
    caller = later_on()
    assert caller.patch("/api/profile", {"name": "Ada"}).status_code == 200
    assert caller.patch(f"/api/users/{caller.id}", {"name": "Ada"}).status_code == 200


@pytest.mark.parametrize("role", ["owner", "admin"])
def test_who_manages_users_gives_others_an_address_without_a_password(role, later_on, given):
    caller, others = later_on(role), [given.user(), given.user(), given.user()]
    assert caller.patch(f"/api/users/{others[0].id}", {"email": address()}).status_code == 200
    assert caller.put(f"/api/users/{others[1].id}", {"name": "N", "email": address()}).status_code == 200
    assert imported(caller, {"id": others[2].id, "email": address()}).status_code == 200


@pytest.mark.parametrize("ask", [
    lambda caller, other: caller.patch(f"/api/users/{other.id}", {"name": "N", "current_password": PASSWORD}),
    lambda caller, other: caller.post("/api/users", {"name": "N", "email": address(), "password": OTHER,
                                                     "current_password": PASSWORD}),
    lambda caller, other: imported(caller, {"id": other.id, "name": "N", "current_password": PASSWORD}),
    lambda caller, other: imported(caller, {"name": "N", "email": address(), "password": OTHER,
                                            "current_password": PASSWORD})],
    ids=["PATCH", "POST", "import", "import of a new row"])
def test_ones_password_goes_with_no_other_account(ask, as_user, given):
    answer = ask(as_user("owner"), given.user())
    fault, = answer.json["errors"]
    assert (answer.status_code, fault["code"], fault["pointer"]) == (400, "invalid_field", "/current_password")


def test_in_a_csv_file_only_ones_own_line_has_a_password_in_its_column(later_on, given):
    caller, other = later_on("owner"), given.user()
    mine, theirs = address(), address()
    text = f"id,email,current_password\n{caller.id},{mine},{PASSWORD}\n{other.id},{theirs},\n"
    answer = caller.post("/api/users/import", data=text, content_type="text/csv")
    assert (answer.status_code, answer.json["updated"]) == (200, 2), answer.get_data(as_text=True)
    assert given.found(User, caller.id).email == mine and given.found(User, other.id).email == theirs


def test_of_a_file_that_may_skip_lines_only_ones_own_is_left_out(later_on, given):
    caller, other = later_on("owner"), given.user()
    lines = ({"id": caller.id, "email": address(), "current_password": OTHER}, {"id": other.id, "name": "Ben"})
    answer = caller.post("/api/users/import?on_error=skip", data="\n".join(map(json.dumps, lines)),
                         content_type="application/x-ndjson")
    assert (answer.json["updated"], answer.json["failed"]) == (1, 1)
    assert given.found(User, caller.id).email == caller.user.email and given.found(User, other.id).name == "Ben"


@ways
def test_a_password_that_changes_meanwhile_is_checked_again(way, later_on, given, monkeypatch):
    change, role = WAYS[way]
    caller, verify = later_on(role), step_up.passwords.verify

    def changed_after(password, kept):
        right = verify(password, kept)
        given.database.transact(lambda: User.update({User.password_hash: "another"}).where(
            User.id == caller.id).execute())
        return right

    monkeypatch.setattr(step_up.passwords, "verify", changed_after)
    assert refused(way, change(caller, address(), current_password=PASSWORD), "needs your current password")
    assert given.found(User, caller.id).email == caller.user.email


@pytest.mark.both_databases
def test_no_writer_waits_while_the_password_is_hashed(later_on, given, monkeypatch):
    caller, verify, within = later_on(), step_up.passwords.verify, []

    def watched(password, kept):
        within.append(given.database.in_transaction())
        return verify(password, kept)

    monkeypatch.setattr(step_up.passwords, "verify", watched)
    assert profile(caller, address(), current_password=PASSWORD).status_code == 200
    assert within == [False]


# Guesses, and their answers and audit events


@pytest.fixture
def limited(app, monkeypatch):
    """The app with new counters and three guesses a minute."""
    services = app.extensions["gatepost"]
    monkeypatch.setattr(counters, "monotonic", lambda: 0.0)  # a minute lasts as long as the test
    monkeypatch.setattr(services, "limits", Limits(replace(services.settings, rate_limits=True, login_attempts=3)))
    return app


@ways
def test_a_wrong_password_is_a_guess_of_it(way, limited, later_on, given):
    change, role = WAYS[way]
    caller = later_on(role)
    codes = [change(caller, address(), current_password=OTHER).json["errors"] for _ in range(3)]
    assert [fault["code"] for faults in codes for fault in faults] == ["forbidden"] * 3
    last = change(caller, address(), current_password=PASSWORD)
    assert (last.status_code, last.json["code"]) == (429, "rate_limited")
    limited.extensions["gatepost"].audit_writer.flush(early=True)
    with given.database.connected():
        assert of_tenant(given.tenant_id).where(Audit.principal == f"user:{caller.id}", Audit.resource == "session",
                                                Audit.action == "refuse").count() == 1
    login = limited.test_client().post("/api/login", json={"email": caller.user.email, "password": PASSWORD})
    assert login.status_code == 429, "they are guesses of the same password"


def test_a_file_is_no_way_to_guess_on_after_a_refusal(limited, later_on):
    caller = later_on("owner")
    lines = [{"id": caller.id, "email": address(), "current_password": f"{OTHER} {number}"} for number in range(5)]
    answer = caller.post("/api/users/import?on_error=skip", data="\n".join(map(json.dumps, lines)),
                         headers={"Content-Type": "application/x-ndjson"})
    assert (answer.status_code, answer.json["code"]) == (429, "rate_limited")
    assert int(answer.headers["Retry-After"]) > 0


def test_a_right_password_is_no_guess_and_a_missing_one_is_none_either(limited, later_on):
    caller = later_on()
    for _ in range(4):
        assert token(caller).status_code == 403
        assert token(caller, current_password=PASSWORD).status_code == 201


@ways
def test_the_trail_has_a_wrong_one_as_a_failure_once_and_never_what_was_sent(way, later_on, given, app, caplog):
    change, role = WAYS[way]
    caller = later_on(role)
    change(caller, address(), current_password=OTHER)
    app.extensions["gatepost"].audit_writer.flush(early=True)
    with given.database.connected():
        rows = [row for row in of_tenant(given.tenant_id).where(Audit.principal == f"user:{caller.id}")]
    assert [(row.result, row.reason, row.resource_id) for row in rows] == [
        ("failed", "invalid_credentials", caller.id)]
    assert OTHER not in caplog.text and OTHER not in str([row.__data__ for row in rows])


def test_the_trail_has_a_missing_one_as_a_refusal(later_on, given, app):
    caller = later_on()
    assert token(caller).status_code == 403
    app.extensions["gatepost"].audit_writer.flush(early=True)
    with given.database.connected():
        row, = of_tenant(given.tenant_id).where(Audit.principal == f"user:{caller.id}")
    assert (row.result, row.reason, row.resource, row.action) == ("refused", "forbidden", "token", "create")


def test_a_repeated_request_is_answered_alike(later_on):
    caller, headers = later_on(), {"Idempotency-Key": "move"}
    body = {"email": address(), "current_password": PASSWORD}
    first, again = (caller.patch("/api/profile", body, headers=headers) for _ in range(2))
    assert (first.status_code, again.status_code) == (200, 200) and first.data == again.data
    assert again.headers["Idempotency-Replayed"] == "true"


def test_a_new_address_leaves_other_sessions_as_they_are(as_user, given):
    caller = as_user(password=PASSWORD)
    other = given.session(caller.user)
    assert profile(caller, address()).status_code == 200
    assert given.found(Session, other.id).revoked_at is None


def test_the_documentation_has_it_where_it_is_sent_and_nowhere_else(client):
    document = client.get("/api/openapi.json").json
    named = {name for name, schema in document["components"]["schemas"].items()
             if "current_password" in schema.get("properties", {})}
    assert not named & {"User", "ServiceToken"} and len(named) >= 4
