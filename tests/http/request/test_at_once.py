"""A removed permission is gone on the next request, in every process."""

from __future__ import annotations

import pytest

from tests.apps import PASSWORD, Caller
from tests.running import Instance


@pytest.fixture
def editor(app, given):
    """An editor who logged in with a password."""
    return logged_in(app, given.user("editor", password=PASSWORD))


def logged_in(app, user, password=PASSWORD):
    answer = app.test_client().post("/api/login", json={"email": user.email, "password": password})
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return Caller(app.test_client(), user, answer.get_json()["access_token"])


def refused(caller):
    answer = caller.get("/api/profile")
    return (answer.status_code, answer.get_json().get("code")) == (401, "invalid_token")


def test_a_lowered_role(editor, as_role, given):
    article = given.article("draft")
    assert editor.get(f"/api/articles/{article.id}").status_code == 200
    lowered = as_role("admin").patch(f"/api/users/{editor.id}", {"role": "user"})
    assert lowered.status_code == 200
    assert editor.get(f"/api/articles/{article.id}").status_code == 404
    assert editor.post(f"/api/articles/{given.article('draft', owner_id=editor.id).id}/publish").status_code == 403
    assert editor.get("/api/profile").get_json()["role"] == "user"


def test_a_disabled_user(editor, as_role, app):
    program = service(editor)
    assert as_role("admin").post(f"/api/users/{editor.id}/disable").status_code == 200
    assert refused(editor)
    assert program.get("/api/articles").status_code == 401
    assert as_role("admin").post(f"/api/users/{editor.id}/enable").status_code == 200
    assert refused(editor), "the session ended with the account"
    assert not refused(logged_in(app, editor.user))


def test_a_deleted_user(editor, as_role):
    assert as_role("admin").delete(f"/api/users/{editor.id}").status_code == 204
    assert refused(editor)


def test_a_logout_ends_this_session_alone(editor, app):
    other = logged_in(app, editor.user)
    assert editor.post("/api/logout").status_code == 204
    assert refused(editor) and not refused(other)


def test_a_logout_from_everywhere(editor, app):
    other = logged_in(app, editor.user)
    assert editor.post("/api/logout", {"all": True}).status_code == 204
    assert refused(editor) and refused(other)


def test_a_new_password_ends_the_other_sessions(editor, app):
    other = logged_in(app, editor.user)
    body = {"current_password": PASSWORD, "new_password": "another walk, another shore"}
    assert editor.post("/api/profile/password", body).status_code == 204
    assert refused(other) and not refused(editor)
    answer = app.test_client().post("/api/login", json={"email": editor.user.email, "password": PASSWORD})
    assert answer.get_json()["code"] == "invalid_credentials"
    assert not refused(logged_in(app, editor.user, body["new_password"]))


def service(caller, scopes=("read:articles",)):
    made = caller.post("/api/tokens", {"name": "ci", "scopes": list(scopes)})
    assert made.status_code == 201, made.get_data(as_text=True)
    return Caller(caller.client, caller.user, made.get_json()["token"])


def test_a_revoked_service_token(editor):
    program = service(editor)
    assert program.get("/api/articles").status_code == 200
    id = program.token.split("_")[1]
    assert editor.delete(f"/api/tokens/{id}").status_code == 204
    answer = program.get("/api/articles")
    assert (answer.status_code, answer.get_json()["code"]) == (401, "invalid_token")


@pytest.mark.slow
def test_in_another_process_too(tmp_path):
    instance = Instance(tmp_path / "instance", {"GATEPOST_RATE_LIMITS": "off"}).made()
    with instance.served() as here, instance.served() as there:
        admin = here.log_in()
        roles = {}
        for number, end in enumerate(ENDS):
            email = f"{number}@example.org"
            body = {"name": "Ada", "email": email, "password": PASSWORD, "role": "editor"}
            status, user = here.call("POST", "/api/users", body, admin)
            assert status == 201, user
            token = there.log_in(email)
            if end == "service token":
                status, made = there.call("POST", "/api/tokens", {"name": "ci", "scopes": ["read:articles"]}, token)
                assert status == 201
                ended, id = made["token"], made["id"]
            else:
                ended, id = token, user["id"]
            assert there.call("GET", "/api/articles", token=ended)[0] == 200
            end_it, at = ENDS[end], "/api/categories" if end == "role" else "/api/articles"
            end_it(here, instance, admin, token, id, email)
            answer = there.call("POST", at, {"name": "N", "slug": "n"}, ended) if end == "role" else there.call(
                "GET", at, token=ended)
            roles[end] = (answer[0], answer[1]["code"])
    expected = {end: (401, "invalid_token") for end in ENDS} | {"role": (403, "forbidden")}
    assert roles == expected


ENDS = {
    "role": lambda here, instance, admin, token, id, email: _ok(
        here.call("PATCH", f"/api/users/{id}", {"role": "user"}, admin)),
    "disable": lambda here, instance, admin, token, id, email: _ok(
        here.call("POST", f"/api/users/{id}/disable", None, admin)),
    "logout": lambda here, instance, admin, token, id, email: _ok(here.call("POST", "/api/logout", None, token)),
    "password of another session": lambda here, instance, admin, token, id, email: _ok(here.call(
        "POST", "/api/profile/password", {"current_password": PASSWORD, "new_password": "another long walk"},
        here.log_in(email))),
    "operator's password": lambda here, instance, admin, token, id, email: _done(
        instance.run("user", "password", email)),
    "operator's disable": lambda here, instance, admin, token, id, email: _done(instance.run("user", "disable", email)),
    "service token": lambda here, instance, admin, token, id, email: _ok(
        here.call("DELETE", f"/api/tokens/{id}", None, token)),
}


def _ok(answer):
    assert answer[0] in (200, 204), answer


def _done(process):
    assert process.returncode == 0, process.stderr
