"""The login of the console: an opaque cookie, a row of the sessions, and no page of another user."""

from __future__ import annotations

import pytest

from models.base import Rows, later
from models.tables.audit import Audit
from models.tables.session import CONSOLE, Session
from tests.apps import PASSWORD, close, make_app
from tests.http.console.pages import COOKIE, Seen, visit

LOGIN = "/console/login"


def typed(visitor, user, password=PASSWORD, **more):
    return visitor.post(LOGIN, {"email": user.email, "password": password, **more})


def session_of(given, user):
    with given.database.connected():
        return Rows(Session, given.tenant_id).select().where(Session.owner_id == user.id).order_by(Session.id)[-1]


def change(given, session, **values):
    given.database.transact(lambda: Session.update(values).where(Session.id == session.id).execute())


@pytest.fixture
def member(given):
    return given.user("owner", password=PASSWORD)


@pytest.fixture
def visitor(app):
    return visit(app)


def test_a_login_gives_a_cookie_that_no_script_reads_and_goes_to_the_page_that_was_wanted(visitor, member, given):
    answer = typed(visitor, member, _next="/console/why?permission=article.view")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/console/why?permission=article.view")
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith(f"{COOKIE}=gc_") and all(
        word in cookie for word in ("HttpOnly", "SameSite=Strict", "Path=/console"))
    session = session_of(given, member)
    assert session.kind == CONSOLE and session.token_hash not in cookie
    assert visitor.get("/console/why").status_code == 200


def test_over_https_the_cookie_is_bound_to_the_host(visitor, member):
    answer = visitor.client.post(LOGIN, data={"email": member.email, "password": PASSWORD},
                                 headers={"Origin": "https://localhost"}, base_url="https://localhost")
    assert answer.headers["Set-Cookie"].startswith(f"__Host-{COOKIE}=gc_")
    assert all(word in answer.headers["Set-Cookie"] for word in ("Secure", "Path=/;"))


def test_a_wrong_password_draws_the_form_again_with_the_address_and_is_recorded(visitor, member, given, app):
    answer = typed(visitor, member, "a short walk")
    assert (answer.status_code, Seen.of(answer).form(LOGIN).fields["email"]) == (401, member.email)
    assert "E-mail or password is wrong." in answer.text and "a short walk" not in answer.text
    app.extensions["gatepost"].audit_writer.flush(early=True)
    with given.database.connected():
        row = Audit.select().where(Audit.resource_id == member.id).get()
    assert (row.action, row.result) == ("create", "failed")


@pytest.mark.parametrize("wanted", ["//evil.example", "https://evil.example/console", "/api/articles", "\\evil",
                                    "/console/../api", "/console//evil.example", "javascript:alert(1)", "/consoles",
                                    "/console\r\nX: y", "?next"])
def test_a_login_leads_nowhere_but_to_the_console(wanted, visitor, member):
    answer = typed(visitor, member, _next=wanted)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/console")
    assert "evil" not in visitor.get(LOGIN, query_string={"next": wanted}).text


@pytest.mark.parametrize(("headers", "status"), [
    ({"Origin": "https://evil.example"}, 403),
    ({"Origin": "null"}, 403),
    ({"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost"}, 403),
    ({"Sec-Fetch-Site": "same-site"}, 403),
    ({"Sec-Fetch-Site": "same-origin"}, 303),
    ({"Origin": "http://localhost"}, 303),
    ({}, 403),
], ids=["another origin", "no origin", "across sites", "a neighbour", "the same by fetch metadata", "the same",
        "nobody says"])
def test_a_form_is_taken_from_pages_of_this_origin_alone(headers, status, app, member):
    visitor = visit(app)
    answer = visitor.client.post(LOGIN, data={"email": member.email, "password": PASSWORD}, headers=headers)
    assert (answer.status_code, "Set-Cookie" in answer.headers) == (status, status == 303)


def test_a_login_ends_the_session_that_the_browser_had(visitor, member, given):
    typed(visitor, member)
    first, token = session_of(given, member), visitor.client.get_cookie(COOKIE, path="/console").value
    typed(visitor, member)
    assert visitor.client.get_cookie(COOKIE, path="/console").value != token
    with given.database.connected():
        assert Session.by_id(first.id).revoked_at is not None


def test_a_logout_ends_the_session_and_takes_the_cookie_back(visitor, member, given):
    typed(visitor, member)
    token = visitor.client.get_cookie(COOKIE, path="/console").value
    answer = visitor.post("/console/logout")
    assert (answer.status_code, answer.headers["Location"], answer.headers["Clear-Site-Data"]) == (
        303, LOGIN, '"cache"')
    assert visitor.client.get_cookie(COOKIE, path="/console") is None
    visitor.client.set_cookie(COOKIE, token, path="/console")
    assert visitor.get("/console/why").headers["Location"] == f"{LOGIN}?next=/console/why"


ENDS = {
    "the user is disabled": lambda caller, user: caller.post(f"/api/users/{user.id}/disable"),
    "the session is ended": lambda caller, user: [
        caller.delete(f"/api/sessions/{one['id']}") for one in
        caller.get(f"/api/sessions?owner_id={user.id}").get_json()["items"]],
}


@pytest.mark.parametrize("how", ENDS)
def test_a_session_ends_at_once_when(how, app, as_role, given):
    visitor = visit(app, given.user("editor"))
    assert visitor.get("/console/data").status_code == 200
    ENDS[how](as_role("admin"), visitor.user)
    assert visitor.get("/console").headers["Location"].startswith(LOGIN)


def test_an_idle_hour_ends_a_session_and_a_look_puts_that_off(app, given):
    visitor = visit(app, "owner")
    session = session_of(given, visitor.user)
    change(given, session, last_used_at=later(-300), expires_at=later(60))
    assert visitor.get("/console/why").status_code == 200
    app.extensions["gatepost"].audit_writer.flush()
    with given.database.connected():
        kept = Session.by_id(session.id)
    assert later(3500) < kept.expires_at < later(3700) and kept.version == session.version
    change(given, session, expires_at=later(-1))
    assert visitor.get("/console/why").status_code == 303


def test_no_look_puts_off_the_end_of_the_day(app, given):
    visitor = visit(app, "owner")
    session, end = session_of(given, visitor.user), later(90)
    change(given, session, last_used_at=later(-300), expires_at=later(60), absolute_expires_at=end)
    visitor.get("/console/why")
    app.extensions["gatepost"].audit_writer.flush()
    with given.database.connected():
        assert Session.by_id(session.id).expires_at == end


def test_the_cookie_is_no_credential_of_the_api_and_a_token_none_of_the_console(app, as_role, given):
    draft = given.article("draft")
    visitor = visit(app, "admin")
    visitor.client.set_cookie(COOKIE, visitor.client.get_cookie(COOKIE, path="/console").value, path="/")
    assert visitor.get(f"/api/articles/{draft.id}").status_code == 404
    caller = as_role("admin")
    assert app.test_client().get("/console/why", headers=caller.headers).headers["Location"].startswith(LOGIN)
    token = visitor.client.get_cookie(COOKIE, path="/console").value
    for sent in (token, token.replace("gc_", "gr_")):
        answer = visitor.client.post("/api/token/refresh", json={"refresh_token": sent})
        assert answer.status_code == 401
        assert visitor.get("/console/why", headers={"Authorization": f"Bearer {sent}"}).status_code == 200


@pytest.mark.parametrize("token", ["", "gc_", "gc_x", "x" * 4000, "gc_01930000-0000-7000-8000-000000000000_secret"])
def test_a_cookie_that_is_none_leads_to_the_login_and_is_taken_back(token, app):
    visitor = visit(app)
    visitor.client.set_cookie(COOKIE, token, path="/console")
    answer = visitor.get("/console/why")
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{LOGIN}?next=/console/why")
    assert visitor.client.get_cookie(COOKIE, path="/console") is None


def test_two_cookies_are_refused(app):
    client = app.test_client(use_cookies=False)
    answer = client.get("/console/why", headers={"Cookie": f"{COOKIE}=gc_a; {COOKIE}=gc_b"})
    assert answer.status_code == 400


@pytest.mark.parametrize(("role", "leads"), [("guest", LOGIN), ("admin", "/console/")])
def test_the_front_door_leads_to_the_first_page_that_one_may_see(role, leads, app):
    assert visit(app, role).get("/console").headers["Location"].startswith(leads)


def test_a_page_without_a_login_leads_to_it_and_back(app):
    answer = visit(app).get("/console/why?as=user&permission=article.view")
    assert answer.headers["Location"] == f"{LOGIN}?next=/console/why%3Fas%3Duser%26permission%3Darticle.view"


def test_a_setting_takes_the_console_away_without_trace(instance_folder, database_url):
    made = make_app(instance_folder, database_url, console=False)
    try:
        client = made.test_client()
        for path in ("/console", LOGIN, "/console/static/console.css"):
            answer = client.get(path)
            assert (answer.status_code, answer.mimetype) == (404, "application/problem+json")
        assert not [rule for rule in made.url_map.iter_rules() if "console" in rule.rule]
    finally:
        close(made)


def test_a_user_with_no_page_is_told_so(app, given):
    assert "No access" in visit(app, given.user("a-role-of-the-past")).page("/console").text
