"""`/api/sessions`: users list and end their active sessions. Owners also list and end those of others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models.base import later
from models.tables.audit import Audit, of_tenant
from models.tables.session import Session, revoke
from tests.apps import NO_ROW, PASSWORD, Caller

PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Mobile/15E148"


def logged_in(app, user, address="198.51.100.7", agent=PHONE):
    """A caller by a login with the password, and its tokens."""
    answer = app.test_client().post("/api/login", json={"email": user.email, "password": PASSWORD},
                                    headers={"User-Agent": agent}, environ_base={"REMOTE_ADDR": address})
    assert answer.status_code == 200
    return Caller(app.test_client(), user, answer.json["access_token"]), answer.json


def listed(caller, query=""):
    answer = caller.get(f"/api/sessions{query}")
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return answer.json["items"]


def test_a_session_says_when_from_where_and_with_what_it_was_opened_and_nothing_that_is_a_secret(app, given):
    caller, tokens = logged_in(app, given.user(password=PASSWORD))
    session, = listed(caller)
    assert set(session) == {"id", "created_at", "last_used_at", "address", "device", "kind", "current"}
    assert (session["address"], session["device"], session["kind"], session["current"]) == (
        "198.51.100.7", "mobile", "api", True)
    assert session["last_used_at"] == session["created_at"]
    kept = given.found(Session, session["id"])
    assert kept.token_hash not in str(session) and tokens["refresh_token"] not in str(session)


def test_none_is_shared_so_that_no_parameter_asks_for_those_that_are(as_role):
    answer = as_role("user").get("/api/sessions?shared=only")
    assert (answer.status_code, answer.json["code"]) == (400, "unknown_parameter")


@pytest.mark.parametrize("field", ["token_hash", "recent", "family", "owner_id", "expires_at", "allowed_actions"])
def test_no_other_column_of_it_can_be_asked_for(field, as_role):
    answer = as_role("user").get(f"/api/sessions?fields={field}")
    assert (answer.status_code, answer.json["code"]) == (400, "invalid_parameter")


def test_a_refresh_is_a_use_and_the_session_stays_where_it_was_opened(app, given):
    caller, tokens = logged_in(app, given.user(password=PASSWORD))
    answer = app.test_client().post("/api/token/refresh", json={"refresh_token": tokens["refresh_token"]},
                                    environ_base={"REMOTE_ADDR": "203.0.113.9"})
    assert answer.status_code == 200
    session, = listed(caller)
    assert session["last_used_at"] > session["created_at"]
    assert (session["address"], session["device"]) == ("198.51.100.7", "mobile")


def test_of_several_sessions_that_of_the_request_is_the_current_one(app, given):
    user = given.user(password=PASSWORD)
    callers = [logged_in(app, user)[0] for _ in range(3)]
    seen = [[session["current"] for session in listed(caller)] for caller in callers]
    assert seen == [[False, False, True], [False, True, False], [True, False, False]], "the newest comes first"


@pytest.mark.both_databases
def test_only_sessions_that_are_in_force_are_listed_counted_and_walked_through(as_user, given):
    caller = as_user()
    live = [given.session(caller.user) for _ in range(2)]
    over, ended = given.session(caller.user), given.session(caller.user)

    def end():
        Session.update({Session.expires_at: later(-1)}).where(Session.id == over.id).execute()
        revoke(given.tenant_id, Session.id == ended.id)

    given.database.transact(end)
    assert {one["id"] for one in listed(caller)} >= {one.id for one in live}
    page = caller.get("/api/sessions?page=1&limit=2").json
    assert (page["total"], page["has_next"], len(page["items"])) == (3, True, 2)
    first = caller.get("/api/sessions?limit=2").json
    second = caller.get(f"/api/sessions?limit=2&after={first['next_cursor']}").json
    walked = [one["id"] for one in (*first["items"], *second["items"])]
    assert len(walked) == 3 and {over.id, ended.id}.isdisjoint(walked) and not second["has_next"]
    for gone in (over, ended):
        assert caller.delete(f"/api/sessions/{gone.id}").status_code == 404


def test_statistics_count_those_in_force(as_user, given):
    caller = as_user("manager")
    before = caller.get("/api/admin/stats").json["collections"]["sessions"]["total"]
    ended = [given.session(caller.user) for _ in range(2)]
    given.database.transact(lambda: revoke(given.tenant_id, Session.id == ended[0].id))
    assert caller.get("/api/admin/stats").json["collections"]["sessions"]["total"] == before + 1


def test_an_ended_session_answers_nothing_more_neither_by_its_access_token_nor_by_its_refresh_token(app, given):
    user = given.user(password=PASSWORD)
    (here, _), (there, tokens) = logged_in(app, user), logged_in(app, user)
    lost, = [one for one in listed(here) if not one["current"]]
    assert here.delete(f"/api/sessions/{lost['id']}").status_code == 204
    assert (there.get("/api/profile").status_code, there.get("/api/profile").json["code"]) == (401, "invalid_token")
    renewed = app.test_client().post("/api/token/refresh", json={"refresh_token": tokens["refresh_token"]})
    assert renewed.status_code == 401
    assert [one["current"] for one in listed(here)] == [True]
    assert here.delete(f"/api/sessions/{lost['id']}").status_code == 404, "a session is ended once"


def test_to_end_the_current_session_is_to_log_out(app, given):
    caller, _ = logged_in(app, given.user(password=PASSWORD))
    session, = listed(caller)
    assert caller.delete(f"/api/sessions/{session['id']}").status_code == 204
    assert caller.get("/api/profile").status_code == 401


def test_a_setting_that_asks_for_a_precondition_asks_none_of_the_end_of_a_session(app, given, as_user, monkeypatch):
    services = app.extensions["gatepost"]
    monkeypatch.setattr(services, "settings", replace(services.settings, require_if_match=True))
    caller = as_user()
    assert caller.delete(f"/api/sessions/{given.session(caller.user).id}").status_code == 204


# Those of others


def test_a_user_neither_sees_nor_ends_sessions_of_others(as_user, given):
    caller, other = as_user(), given.user()
    theirs = given.session(other)
    assert theirs.id not in [one["id"] for one in listed(caller)]
    assert listed(caller, f"?owner_id={other.id}") == []
    refused, absent = caller.delete(f"/api/sessions/{theirs.id}"), caller.delete(f"/api/sessions/{NO_ROW}")
    assert refused.status_code == absent.status_code == 404
    assert refused.json["detail"] == absent.json["detail"]
    assert given.found(Session, theirs.id).revoked_at is None


def test_an_owner_sees_and_ends_those_of_one_user(as_user, as_role, given):
    other = as_user("editor")
    theirs, = listed(as_role("owner"), f"?owner_id={other.id}")
    assert not theirs["current"]
    assert as_role("owner").delete(f"/api/sessions/{theirs['id']}").status_code == 204
    assert other.get("/api/profile").status_code == 401


@pytest.mark.parametrize(("who", "whose", "status"), [
    ("owner", "admin", 403), ("owner", "owner", 204), ("owner", "support", 204), ("admin", "owner", 204),
    ("admin", "admin", 204)])
def test_a_user_ends_no_session_of_a_user_whose_role_they_neither_have_nor_inherit(who, whose, status, as_user, given):
    session = given.session(given.user(whose))
    answer = as_user(who).delete(f"/api/sessions/{session.id}")
    assert answer.status_code == status
    assert (given.found(Session, session.id).revoked_at is None) is (status == 403)


def test_rank_holds_also_where_a_policy_line_gives_everybody_every_session(under, given, as_user):
    generous, known = under("", {"session.csv": "p, user, session.*, always, allow"}), as_user()
    caller = Caller(generous.test_client(), known.user, known.token)
    editors, peers = (given.session(given.user(role)) for role in ("editor", "user"))
    answer = caller.delete(f"/api/sessions/{editors.id}")
    assert (answer.status_code, answer.json["code"]) == (403, "forbidden")
    assert caller.delete(f"/api/sessions/{peers.id}").status_code == 204


def test_a_session_of_another_tenant_is_absent(as_role, elsewhere):
    theirs = elsewhere.session(elsewhere.user())
    assert as_role("admin").delete(f"/api/sessions/{theirs.id}").status_code == 404
    assert listed(as_role("admin"), f"?owner_id={theirs.owner_id}") == []
    assert as_role("admin", "other").delete(f"/api/sessions/{theirs.id}").status_code == 204


@pytest.mark.parametrize("scope", ["read:profile write:profile", "manage:users", "read:users"])
def test_no_scope_covers_sessions(scope, as_user, given):
    narrow = as_user("admin", scope=scope)
    session = given.session(narrow.user)
    for answer in (narrow.get("/api/sessions"), narrow.delete(f"/api/sessions/{session.id}")):
        assert (answer.status_code, answer.json["code"]) == (403, "insufficient_scope")


def test_a_guest_has_none(client):
    assert client.get("/api/sessions").status_code == client.delete(f"/api/sessions/{NO_ROW}").status_code == 401


@pytest.mark.parametrize(("method", "path", "status"), [
    ("POST", "/api/sessions", 405), ("GET", f"/api/sessions/{NO_ROW}", 405), ("PATCH", f"/api/sessions/{NO_ROW}", 405),
    ("GET", "/api/sessions/export", 405), ("POST", "/api/sessions/import", 405),
    ("GET", f"/api/sessions/{NO_ROW}/shares", 404)])
def test_nothing_else_can_be_done_to_sessions(method, path, status, as_role):
    assert as_role("admin").call(method, path).status_code == status


def test_the_trail_says_who_ended_which_session(as_user, given):
    caller = as_user()
    session = given.session(caller.user)
    assert caller.delete(f"/api/sessions/{session.id}").status_code == 204
    with given.database.connected():
        row = of_tenant(given.tenant_id).where(Audit.resource_id == session.id).get()
    assert (row.principal, row.resource, row.action, row.result) == (
        f"user:{caller.id}", "session", "delete", "allowed")
