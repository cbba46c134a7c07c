"""Service tokens and scopes: a program has the permissions of its owner that its scopes cover, and no others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models.base import DAY, later
from models.tables.service_token import ServiceToken
from tests.apps import Caller
from tests.running import Instance


def issue(caller, *scopes, **more):
    answer = caller.post("/api/tokens", {"name": "ci", "scopes": list(scopes), **more})
    assert answer.status_code == 201, answer.get_data(as_text=True)
    return answer.get_json()


def program(caller, *scopes):
    return Caller(caller.client, caller.user, issue(caller, *scopes)["token"])


def test_a_token_is_shown_once_and_only_its_hash_is_kept(as_role, given):
    made = issue(as_role("user"), "read:articles")
    assert set(made) == {"id", "name", "scopes", "expires_at", "last_used_at", "token"}
    prefix, id, secret = made["token"].split("_", 2)
    assert (prefix, id) == ("gp", made["id"]) and len(secret) == 43
    shown = as_role("user").get("/api/tokens").get_json()["items"]
    assert all("token" not in each and secret not in str(each) for each in shown)
    assert secret not in str(given.found(ServiceToken, made["id"]).__data__)


@pytest.mark.parametrize(("scopes", "method", "path", "status"), [
    (["read:articles"], "GET", "/api/articles", 200),
    (["read:articles"], "POST", "/api/articles", 403),
    (["read:articles"], "GET", "/api/products", 403),
    (["read:articles"], "GET", "/api/profile", 403),
    (["read:profile"], "GET", "/api/profile", 200),
    (["read:profile"], "PATCH", "/api/profile", 403),
    (["write:profile"], "PATCH", "/api/profile", 200),
    (["write:articles"], "GET", "/api/articles", 200),
    (["write:articles"], "POST", "/api/articles", 201),
    (["read:products", "read:articles"], "GET", "/api/products", 200),
    (["manage:articles"], "GET", "/api/users", 403),
    ([], "GET", "/api/articles", 403),
    ([], "GET", "/api/health", 403),
    (["read:articles"], "POST", "/api/tokens", 403),
])
def test_scopes_narrow(scopes, method, path, status, as_user):
    editor = as_user("editor")
    body = {"/api/articles": {"title": "T", "slug": f"scope-{editor.id[-12:]}", "body": "b"},
            "/api/profile": {"name": "New"}, "/api/tokens": {"name": "x", "scopes": []}}.get(path)
    answer = program(editor, *scopes).call(method, path, **({} if method == "GET" else {"body": body}))
    assert answer.status_code == status, answer.get_data(as_text=True)
    if status == 403:
        assert answer.get_json()["code"] == "insufficient_scope"


@pytest.mark.parametrize("scope", ["write:articles", "manage:articles"])
def test_scopes_never_widen(scope, as_user, given):
    theirs = given.article("draft")
    reader = program(as_user("user"), scope)
    assert reader.get(f"/api/articles/{theirs.id}").status_code == 404
    published = given.article()
    answer = reader.patch(f"/api/articles/{published.id}", {"title": "Mine now"})
    assert (answer.status_code, answer.get_json()["code"]) == (403, "forbidden")


@pytest.mark.parametrize(("path", "scope"), [
    ("/api/profile", "read:profile"), ("/api/products", "read:products"), ("/api/audit", None)])
def test_the_challenge_names_the_scope_that_would_do(path, scope, as_user):
    answer = program(as_user("owner"), "read:articles").get(path)
    assert answer.status_code == 403
    named = "" if scope is None else f', scope="{scope}"'
    assert answer.headers["WWW-Authenticate"] == f'Bearer error="insufficient_scope"{named}'


def test_an_access_token_with_scopes_is_narrowed_as_well(as_user):
    narrow = as_user("editor", scope="read:articles")
    assert narrow.get("/api/articles").status_code == 200
    assert narrow.get("/api/profile").get_json()["code"] == "insufficient_scope"
    assert as_user("editor", scope="").get("/api/articles").status_code == 403


@pytest.mark.parametrize("scopes", [["read:articles", "read:nothing"], ["*"], ["article.view"], ["READ:ARTICLES"]])
def test_an_unknown_scope_is_refused_by_name(scopes, as_role):
    answer = as_role("admin").post("/api/tokens", {"name": "ci", "scopes": scopes})
    problem = answer.get_json()
    assert (answer.status_code, problem["code"]) == (400, "unknown_scope")
    assert problem["errors"][0]["pointer"] == f"/scopes/{len(scopes) - 1}"


def test_a_token_expires(as_user, given):
    user = as_user("user")
    made = issue(user, "read:articles", expires_in=60)
    assert later(50) < made["expires_at"] < later(70)
    caller = Caller(user.client, user.user, made["token"])
    assert caller.get("/api/articles").status_code == 200

    def end():
        ServiceToken.update({ServiceToken.expires_at: later(-1)}).where(ServiceToken.id == made["id"]).execute()

    given.database.transact(end)
    answer = caller.get("/api/articles")
    assert (answer.status_code, answer.get_json()["code"]) == (401, "token_expired")
    assert answer.headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'


@pytest.mark.parametrize(("most", "lasts"), [(365, 90), (90, 90), (30, 30)])
def test_a_token_lasts_ninety_days_unless_said_otherwise_and_never_longer_than_the_setting_allows(
        most, lasts, app, as_user, monkeypatch):
    services, user = app.extensions["gatepost"], as_user("user")
    monkeypatch.setattr(services, "settings", replace(services.settings, token_max_days=most))
    assert later(lasts * DAY - 60) < issue(user)["expires_at"] < later(lasts * DAY + 1)
    assert issue(user, expires_in=most * DAY)["expires_at"] > later(most * DAY - 60)
    for seconds in (most * DAY + 1, 2**62):
        answer = user.post("/api/tokens", {"name": "ci", "scopes": [], "expires_in": seconds})
        fault, = answer.json["errors"]
        assert (answer.status_code, answer.json["code"], fault["pointer"]) == (400, "invalid_field", "/expires_in")
        assert fault["meta"] == {"min": 60, "max": most * DAY}


def test_a_token_without_end_of_before_keeps_working(as_user, given):
    user = as_user("user")
    made = issue(user, "read:articles")

    def unend():
        ServiceToken.update({ServiceToken.expires_at: None}).where(ServiceToken.id == made["id"]).execute()

    given.database.transact(unend)
    assert Caller(user.client, user.user, made["token"]).get("/api/articles").status_code == 200
    assert user.get("/api/tokens").json["items"][0]["expires_at"] is None


@pytest.mark.both_databases
def test_its_use_is_stored_by_a_background_job_and_not_again_within_a_minute(app, as_user, given):
    user, trail = as_user("user"), app.extensions["gatepost"].audit_writer
    made = issue(user, "read:articles")
    caller = Caller(user.client, user.user, made["token"])
    trail.flush()
    assert caller.get("/api/articles").status_code == 200
    trail.flush()
    first = given.found(ServiceToken, made["id"]).last_used_at
    assert first is not None
    for _ in range(3):
        assert caller.get("/api/articles").status_code == 200
    trail.flush()
    found = given.found(ServiceToken, made["id"])
    assert (found.last_used_at, found.version) == (first, 1)


def test_a_user_sees_and_deletes_their_own_tokens_and_an_owner_those_of_all(as_user, as_role):
    mine, other = as_user("user"), as_user("user")
    made = issue(mine, "read:articles")
    assert [each["id"] for each in mine.get("/api/tokens").get_json()["items"]] == [made["id"]]
    assert other.get("/api/tokens").get_json()["items"] == []
    assert other.delete(f"/api/tokens/{made['id']}").status_code == 404
    assert as_role("owner").delete(f"/api/tokens/{made['id']}").status_code == 204
    assert mine.get("/api/tokens").get_json()["items"] == []


def test_its_secret_is_never_kept_for_a_repeated_request(as_role):
    answer = as_role("user").post("/api/tokens", {"name": "ci", "scopes": []}, headers={"Idempotency-Key": "k1"})
    assert (answer.status_code, answer.get_json()["code"]) == (400, "idempotency_unsupported")


def test_a_program_gets_the_long_pages_of_services(as_user):
    assert program(as_user("user"), "read:articles").get("/api/articles?limit=200").status_code == 200
    assert as_user("user").get("/api/articles?limit=200").status_code == 400


@pytest.mark.slow
def test_an_operator_makes_lists_and_revokes_them(tmp_path):
    instance = Instance(tmp_path / "instance").made()
    made = instance.run("token", "add", "admin@example.org", "--name", "ci", "--scope", "read:articles", "--days", "9")
    text = made.stdout.split()[1]
    with instance.served() as served:
        assert served.call("GET", "/api/articles", token=text)[0] == 200
        assert served.call("GET", "/api/profile", token=text)[1]["code"] == "insufficient_scope"
        listed = instance.run("token", "list", "admin@example.org").stdout
        id = text.split("_")[1]
        assert listed.startswith(f"{id}  ci: read:articles, until ") and text not in listed
        assert instance.run("token", "revoke", id).returncode == 0
        assert served.call("GET", "/api/articles", token=text)[0] == 401
    assert instance.run("token", "add", "admin@example.org", "--name", "short", "--scope", "read:articles").stdout
    assert instance.run("token", "add", "admin@example.org", "--scope", "read:articles", "--days", "0").stdout
    listed = instance.run("token", "list", "admin@example.org").stdout.splitlines()
    assert later(89 * DAY) < listed[0].split("until ")[1].split(",")[0] < later(91 * DAY)
    assert "for good" in listed[1]
    assert "2 service tokens are valid, 1 of them without end" in instance.run("doctor").stdout
    for wrong in (("add", "admin@example.org", "--scope", "read:nothing"), ("add", "nobody@example.org", "--scope",
                  "read:articles"), ("list", "nobody@example.org"), ("revoke", id), ("revoke", "x")):
        done = instance.run("token", *wrong)
        assert done.returncode == 1 and "There is no" in done.stderr
