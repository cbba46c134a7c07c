"""The permissions in the profile: by the rules in force, within the scopes, with an ETag that changes with them."""

from __future__ import annotations

from fnmatch import fnmatchcase

import jwt
import pytest

from gatepost.http.request.environment import RequestEnvironment
from gatepost.http.request.identity import service_token
from tests.apps import PASSWORD, Caller

IN_THE_MORNING = {"stats.csv": "p, user, stats.view, office_hours, allow"}


def permissions(caller, **more):
    answer = caller.get("/api/profile", **more)
    assert answer.status_code == 200, answer.text
    return answer.json["permissions"]


def allowed(caller, permission):
    return any(fnmatchcase(permission, pattern) for pattern in permissions(caller))


@pytest.mark.parametrize("role", ["user", "editor", "owner", "admin"])
def test_they_are_those_of_an_access_token_of_now(role, app, given):
    user = given.user(role, password=PASSWORD)
    token = app.test_client().post("/api/login", json={"email": user.email, "password": PASSWORD}).json["access_token"]
    found = permissions(Caller(app.test_client(), user, token))
    assert found == jwt.decode(token, options={"verify_signature": False})["permissions"]
    assert (found == ["*"]) == (role == "admin") and any(fnmatchcase("profile.update", each) for each in found)


def test_a_change_of_the_profile_answers_them_too(as_user):
    editor = as_user("editor")
    changed = editor.patch("/api/profile", {"name": "Grace"})
    assert changed.json["permissions"] == permissions(editor)
    assert changed.headers["ETag"] == editor.get("/api/profile").headers["ETag"]
    minimal = editor.patch("/api/profile", {"name": "Hopper"}, headers={"Prefer": "return=minimal"})
    assert (minimal.status_code, minimal.data) == (204, b"")
    assert minimal.headers["ETag"] == editor.get("/api/profile").headers["ETag"]


@pytest.mark.parametrize(("scopes", "some", "none"), [
    (["read:profile"], {"profile.view"}, {"article.view", "profile.update", "article.update", "session.view"}),
    (["read:profile", "read:articles"], {"profile.view", "article.view"}, {"article.create", "article.publish"}),
    (["read:profile", "manage:users"], {"profile.view"}, {"article.create", "user.manage", "*"})],
    ids=["the profile", "articles", "more than its owner may"])
def test_a_service_token_has_what_its_owner_may_and_its_scopes_cover(scopes, some, none, app, given):
    user = given.user("editor")
    id, hashed, text = service_token()
    given.service_token(user, id=id, token_hash=hashed, scopes=scopes)
    program = Caller(app.test_client(), user, text)
    found = permissions(program)
    assert some <= set(found)
    assert not any(fnmatchcase(permission, pattern) for permission in none for pattern in found)


def test_a_scoped_access_token_is_cut_too(as_user):
    assert permissions(as_user("admin", scope="read:profile write:articles")) != ["*"]
    assert not allowed(as_user("admin", scope="read:profile"), "article.view")


def test_the_tag_changes_with_the_rules_and_still_guards_a_change(app, under, given, as_user):
    user = as_user("user")
    there = under("", {"stats.csv": "p, user, stats.view, always, allow"}).test_client()
    elsewhere = Caller(there, user.user, user.token)
    answer, other = user.get("/api/profile"), elsewhere.get("/api/profile")
    assert allowed(elsewhere, "stats.view") and not allowed(user, "stats.view")
    tag = answer.headers["ETag"]
    assert tag != other.headers["ETag"]
    assert user.get("/api/profile", headers={"If-None-Match": tag}).status_code == 304
    assert elsewhere.get("/api/profile", headers={"If-None-Match": tag}).status_code == 200
    for wanted in (tag, '"1"'):  # only the version guards it
        assert elsewhere.patch("/api/profile", {}, headers={"If-Match": wanted}).status_code == 200
    assert elsewhere.patch("/api/profile", {"name": "Once"}, headers={"If-Match": tag}).status_code == 200
    assert elsewhere.patch("/api/profile", {"name": "Twice"}, headers={"If-Match": tag}).status_code == 412


def test_the_tag_changes_with_the_hour_where_a_line_goes_by_it(under, as_user, monkeypatch):
    user = as_user("user")
    caller, seen = Caller(under("", IN_THE_MORNING).test_client(), user.user, user.token), {}
    monkeypatch.setattr(RequestEnvironment, "weekday", 1)
    for hour in (9, 22):
        monkeypatch.setattr(RequestEnvironment, "hour", hour)
        seen[hour] = caller.get("/api/profile")
    assert [any(fnmatchcase("stats.view", each) for each in answer.json["permissions"])
            for answer in seen.values()] == [True, False]
    assert seen[9].headers["ETag"] != seen[22].headers["ETag"]
