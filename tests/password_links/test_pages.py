"""The pages of one-time links: creating one, and choosing a password with it."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest

from gatepost.http.security import passwords
from models.tables.password_link import PasswordLink
from models.tables.user import User
from tests.apps import PASSWORD
from tests.http.console.pages import ORIGIN, Seen, visit

NEW = "nine slow ferries at dawn"
TYPED = {"new_password": NEW, "repeated": NEW}
PEOPLE = "/console/people"


@pytest.fixture
def admin(app):
    return visit(app, "admin")


def link(admin, user):
    page = f"{PEOPLE}/{user.id}/password-link"
    seen = Seen.of(admin.post(page))
    return next(tag["value"] for name, tag in seen.tags if name == "input" and tag.get("id") == "link")


def may_log_in(app, user, password=NEW):
    body = {"email": user.email, "password": password}
    return app.test_client().post("/api/login", json=body).status_code == 200


def is_kept(user, given):
    with given.database.connected():
        return PasswordLink.select().where(PasswordLink.owner_id == user.id).exists()


def test_a_new_user_is_invited_and_chooses_a_password(app, admin, given):
    listed = admin.page(PEOPLE)
    assert f"{PEOPLE}/new" in listed.links
    form = next(one for one in admin.page(f"{PEOPLE}/new").forms if one.action.endswith("/new"))
    made = admin.post(form.action, {**form.fields, "name": "Invited", "email": "i@example.org", "role": "editor"})
    assert made.status_code == 303, made.text
    offer = made.headers["Location"]
    user = given.found(User, offer.split("/")[3])
    assert (user.role, user.password_hash) == ("editor", passwords.UNUSABLE)
    assert offer == f"{PEOPLE}/{user.id}/password-link"
    assert "24 hours" in admin.page(offer).text
    path = link(admin, user)
    guest = visit(app)
    page = guest.page(path)
    assert user.email in str(page.tags)
    done = guest.post(path, TYPED)
    assert (done.status_code, done.headers["Location"]) == (303, "/console/password")
    assert "Password saved" in guest.page("/console/password").text
    assert may_log_in(app, user)
    assert "Set-Cookie" not in done.headers


def test_a_double_click_creates_one_user(admin, given):
    form = next(one for one in admin.page(f"{PEOPLE}/new").forms if one.action.endswith("/new"))
    sent = {**form.fields, "name": "Twice", "email": "twice@example.org"}
    assert [admin.post(form.action, sent).status_code for _ in range(2)] == [303, 303]


def test_faults_stand_beside_their_fields(admin, given):
    taken = given.user()
    answer = admin.post(f"{PEOPLE}/new", {"name": "N", "email": taken.email, "role": "wizard"})
    assert answer.status_code == 400
    assert 'id="role-fault"' in answer.text
    answer = admin.post(f"{PEOPLE}/new", {"name": "N", "email": taken.email, "role": "user"})
    assert answer.status_code == 409
    assert 'id="email-fault"' in answer.text


@pytest.mark.parametrize("method", ["get", "head"])
def test_looking_at_a_link_changes_nothing(method, app, admin, given):
    user = given.user()
    path = link(admin, user)
    for headers in ({}, {"Sec-Purpose": "prefetch;prerender"}, {"User-Agent": "a scanner of messages"}):
        assert getattr(app.test_client(), method)(path, headers=headers).status_code == 200
    assert is_kept(user, given)
    assert visit(app).post(path, TYPED).status_code == 303


TYPED_QUERY = urlencode(TYPED)
WAYS = {
    "GET with a query": lambda client, path: client.get(f"{path}?{TYPED_QUERY}"),
    "GET with a form": lambda client, path: client.get(path, data=TYPED),
    "GET as POST": lambda client, path: client.get(path, data=TYPED, headers={"X-HTTP-Method-Override": "POST"}),
    "HEAD with a form": lambda client, path: client.head(path, data=TYPED),
    "OPTIONS": lambda client, path: client.options(path, data=TYPED, headers=ORIGIN),
    "PUT": lambda client, path: client.put(path, data=TYPED, headers=ORIGIN),
    "PATCH": lambda client, path: client.patch(path, data=TYPED, headers=ORIGIN),
    "DELETE": lambda client, path: client.delete(path, data=TYPED, headers=ORIGIN),
    "POST with a query": lambda client, path: client.post(f"{path}?{TYPED_QUERY}", headers=ORIGIN),
    "POST of JSON": lambda client, path: client.post(path, json=TYPED, headers=ORIGIN),
    "POST of text": lambda client, path: client.post(path, data=TYPED_QUERY, content_type="text/plain", headers=ORIGIN),
    "POST with another user": lambda client, path: client.post(path, data={**TYPED, "email": "b@example.org"},
                                                               headers=ORIGIN),
    "POST with a target": lambda client, path: client.post(f"{path}?next=https://evil.example", data=TYPED,
                                                           headers=ORIGIN),
}


@pytest.mark.parametrize("way", WAYS)
def test_nothing_but_its_own_form_uses_a_link(way, app, admin, given):
    user = given.user(password=PASSWORD)
    path = link(admin, user)
    assert WAYS[way](app.test_client(), path).status_code < 500
    assert may_log_in(app, user, PASSWORD)
    assert visit(app).post(path, TYPED).status_code == 303


def test_a_link_does_not_outlive_its_user(app, admin, given):
    former = given.user()
    path = link(admin, former)
    sent = {"name": "The next one", "email": former.email, "role": "user"}
    given.database.transact(lambda: User.delete().where(User.id == former.id).execute())
    assert admin.post(f"{PEOPLE}/new", sent).status_code == 303
    assert visit(app).post(path, TYPED).status_code == 404
    assert not may_log_in(app, former)


def test_the_page_says_no_referrer_and_is_not_stored(app, admin, given):
    path = link(admin, given.user())
    guest = visit(app)
    answers = [guest.get(path), guest.post(path, {"new_password": "x", "repeated": "x"}), guest.get(f"{path}x"),
               guest.post(f"{path}x", TYPED), guest.post(path, TYPED), guest.get(path)]
    assert [answer.status_code for answer in answers] == [200, 400, 404, 404, 303, 404]
    for answer in answers:
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Cache-Control"] == "no-store"
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    resources = [tag.get("src") or tag.get("href") for name, tag in Seen.of(answers[0]).tags
                 if name in ("link", "script", "img")]
    assert all(one.startswith(("/console/static/", "data:")) for one in resources), resources


def test_invalid_links_get_one_page(app, admin, given):
    used, replaced = link(admin, given.user()), link(admin, user := given.user())
    link(admin, user)
    guest = visit(app)
    guest.post(used, TYPED)
    pages = {Seen.of(guest.get(path)).text.rpartition("request")[0] for path in
             (used, replaced, "/console/password/unknown", f"/console/password/{'A' * 43}")}
    assert len(pages) == 1, pages
    assert "This link is not valid." in pages.pop()


@pytest.mark.parametrize(("headers", "status"), [
    ({"Origin": "https://evil.example"}, 403), ({"Sec-Fetch-Site": "cross-site", "Origin": "null"}, 403),
    ({"Sec-Fetch-Site": "same-site", "Origin": "http://localhost"}, 403),
    ({"Sec-Fetch-Site": "same-origin", "Origin": "null"}, 303), ({"Origin": "null"}, 303), ({}, 303), (ORIGIN, 303)])
def test_a_form_of_another_origin_is_refused(headers, status, app, admin, given):
    path = link(admin, given.user())
    assert app.test_client().post(path, data=TYPED, headers=headers).status_code == status


def test_two_different_passwords_are_refused(app, admin, given):
    user = given.user()
    path = link(admin, user)
    answer = visit(app).post(path, {**TYPED, "repeated": "another one altogether"})
    assert answer.status_code == 400
    assert 'id="repeated-fault"' in answer.text
    assert NEW not in answer.text, "a password is not drawn again"
    assert is_kept(user, given)


def test_the_session_of_the_browser_does_not_matter(app, admin, given):
    user, other = given.user(), visit(app, "user")
    assert other.post(link(admin, user), TYPED).status_code == 303
    assert may_log_in(app, user)
    assert other.get("/console").status_code in (200, 303)
    assert not may_log_in(app, other.user)


def test_an_oversized_form_is_refused(app, admin, given):
    path = link(admin, given.user())
    assert visit(app).post(path, {**TYPED, "new_password": "x" * 40_000}).status_code == 413


def test_who_may_not_create_a_link_finds_no_button(app, given):
    user, boss = given.user(), given.user("admin")
    owner = visit(app, "owner")
    assert f"{PEOPLE}/{user.id}/password-link" in owner.page(f"{PEOPLE}/{user.id}").links
    assert f"{PEOPLE}/{boss.id}/password-link" not in owner.page(f"{PEOPLE}/{boss.id}").links
    refused = owner.post(f"{PEOPLE}/{boss.id}/password-link")
    assert refused.status_code == 403
    assert "/console/password/" not in refused.text
    assert visit(app, "support").get(f"{PEOPLE}/{user.id}/password-link").status_code == 403
    assert f"{PEOPLE}/new" not in visit(app, "support").page(PEOPLE).links
    assert visit(app).get(f"{PEOPLE}/{user.id}/password-link").status_code == 303


def test_the_current_password_stays_valid_until_the_use(app, admin, given):
    user = given.user(password=PASSWORD)
    link(admin, user)
    assert may_log_in(app, user, PASSWORD)


@pytest.mark.parametrize("token", ["%ff%fe", "%ed%a0%80", "%00", "..%2f..%2fetc", "%252e", "a" * 9000, "%F0%9F%98%80",
                                   "~", "+"])
def test_hostile_tokens_are_not_valid(token, app):
    for answer in (visit(app).get(f"/console/password/{token}"), visit(app).post(f"/console/password/{token}", TYPED)):
        assert answer.status_code in (400, 404, 414), answer.text


@pytest.mark.parametrize("raw", [b'{"token": "\\ud800", "new_password": "nine slow ferries"}',
                                 b'{"token": "x", "new_password": "\\udfff nine slow ferries"}', b"\xff", b"[]"])
def test_hostile_bodies_are_refused(raw, app):
    answer = app.test_client().post("/api/password-links", data=raw, content_type="application/json")
    assert answer.status_code in (400, 404), answer.text
