"""*Your account*: what every user sees and changes about themselves."""

from __future__ import annotations

import json

import pytest

from models.tables.session import Session
from models.tables.user import User
from tests.apps import PASSWORD, ROLES, close, make_app
from tests.http.console.pages import Seen, visit

ACCOUNT = "/console/account"
NEW = "nine slow ferries at dawn"


@pytest.fixture
def user(app, given):
    return visit(app, given.user(password=PASSWORD))


def live(given, user):
    with given.database.connected():
        return Session.select().where(Session.owner_id == user.id, Session.revoked_at.is_null()).count()


@pytest.mark.parametrize("role", [role for role in ROLES if role != "guest"])
def test_every_user_has_an_account_page(role, app):
    visitor = visit(app, role)
    page = visitor.page(ACCOUNT)
    assert visitor.user.email in page.text
    assert ACCOUNT in page.links, "the name in the frame leads to it"
    actions = {form.action.removeprefix(ACCOUNT) for form in page.forms}
    assert {"/change", "/password", "/language"} <= actions


def test_a_guest_logs_in_first(app):
    answer = visit(app).get(ACCOUNT)
    assert answer.headers["Location"] == "/console/login?next=/console/account"


@pytest.mark.parametrize("role", ["guest", "user"])
def test_password_managers_find_the_page_of_the_password(role, app):
    answer = visit(app, role).get("/.well-known/change-password")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/console/account")


def test_the_name_changes(user, given):
    form = next(one for one in user.page(ACCOUNT).forms if one.action.endswith("/change"))
    done = user.post(form.action, {**form.fields, "name": "Another Name"})
    assert done.headers["Location"] == f"{ACCOUNT}?saved=1"
    assert "Saved." in user.page(f"{ACCOUNT}?saved=1").text
    assert given.found(User, user.user.id).name == "Another Name"
    late = user.post(form.action, {**form.fields, "name": "From an old page"})
    assert late.status_code == 412
    assert "From an old page" in late.text


def test_a_new_password_needs_the_current_one_and_ends_the_other_sessions(user, given):
    given.session(user.user)
    sent = {"current_password": "wrong, and long enough", "new_password": NEW, "repeated": NEW}
    assert user.post(f"{ACCOUNT}/password", sent).status_code == 401
    differing = user.post(f"{ACCOUNT}/password", {**sent, "current_password": PASSWORD, "repeated": "another one"})
    assert differing.status_code == 400
    assert 'id="password-repeated-fault"' in differing.text
    weak = user.post(f"{ACCOUNT}/password", {"current_password": PASSWORD, "new_password": "x", "repeated": "x"})
    assert 'id="password-new_password-fault"' in weak.text
    before = live(given, user.user)
    assert user.post(f"{ACCOUNT}/password", {**sent, "current_password": PASSWORD}).status_code == 303
    assert before > live(given, user.user) == 1
    user.page(ACCOUNT)


def test_sessions_end_one_by_one_and_all_others_at_once(user, given):
    first, _ = given.session(user.user), given.session(user.user)
    page = user.page(ACCOUNT)
    assert f"{ACCOUNT}/sessions/{first.id}/end" in {form.action for form in page.forms}
    assert user.post(f"{ACCOUNT}/sessions/{first.id}/end").headers["Location"] == ACCOUNT
    assert given.found(Session, first.id).revoked_at is not None
    assert user.post(f"{ACCOUNT}/sessions/end-others").status_code == 303
    assert live(given, user.user) == 1
    assert user.get(ACCOUNT).status_code == 200


def test_the_session_of_another_user_is_not_ended(app, user, given):
    theirs = given.session(given.user())
    assert user.post(f"{ACCOUNT}/sessions/{theirs.id}/end").status_code == 404
    assert given.found(Session, theirs.id).revoked_at is None


def test_to_end_the_own_session_logs_out(user, given):
    with given.database.connected():
        own = Session.select().where(Session.owner_id == user.user.id, Session.kind == "console").get()
    assert user.post(f"{ACCOUNT}/sessions/{own.id}/end").headers["Location"] == "/console/login"
    assert user.get(ACCOUNT).status_code == 303


def test_a_token_is_listed_and_revoked(user, given):
    token = given.service_token(user.user, name="A nightly copy")
    assert "A nightly copy" in user.page(ACCOUNT).text
    assert user.post(f"{ACCOUNT}/tokens/{token.id}/end").status_code == 303
    assert "A nightly copy" not in user.page(ACCOUNT).text


def test_the_language_is_kept_in_this_browser(user):
    done = user.post(f"{ACCOUNT}/language", {"language": "de"})
    cookie = done.headers["Set-Cookie"]
    assert cookie.startswith("gatepost_language=de;")
    assert "Path=/console" in cookie
    assert "Ihr Konto" in user.get(ACCOUNT, headers={"Accept-Language": "en"}).text
    for other in ("", "xx", "<script>", "en\r\nX: y"):
        assert "Max-Age=0" in user.post(f"{ACCOUNT}/language", {"language": other}).headers["Set-Cookie"]
        assert "Your account" in user.get(ACCOUNT, headers={"Accept-Language": "en"}).text


def test_personal_data_can_be_downloaded(user):
    answer = user.get(f"{ACCOUNT}/export")
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert lines[-1]["about"] == "end"
    assert user.user.email in answer.text
    assert "attachment" in answer.headers["Content-Disposition"]
    assert answer.headers["Cache-Control"] == "no-store"


def test_a_guest_downloads_nothing(app):
    assert visit(app).get(f"{ACCOUNT}/export").status_code == 303


def test_without_privacy_there_is_no_download(instance_folder, database_url, given):
    app = make_app(instance_folder, database_url, without="privacy")
    try:
        page = Seen.of(visit(app, given.user()).get(ACCOUNT))
    finally:
        close(app)
    assert f"{ACCOUNT}/export" not in page.links


def test_foreign_pages_change_nothing(user, given):
    for form in ("change", "password", "language", "sessions/end-others"):
        answer = user.client.post(f"{ACCOUNT}/{form}", data={}, headers={"Origin": "https://evil.example"})
        assert answer.status_code == 403


def test_other_sessions_end_over_the_api(as_user, given):
    caller = as_user("user")
    given.session(caller.user)
    assert caller.post("/api/profile/end-other-sessions").status_code == 204
    assert live(given, caller.user) == 1
    assert caller.get("/api/profile").status_code == 200
    assert caller.client.post("/api/profile/end-other-sessions").status_code == 401
