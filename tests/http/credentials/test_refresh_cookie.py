"""The refresh token of a page's login as a cookie: endpoints that set it and accept it, and refused origins."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.cookies import SimpleCookie
from threading import Barrier

import pytest

from gatepost.http.credentials import sessions
from gatepost.http.operations.limits import Limits
from models.base import Rows, later
from models.engine.errors import Contended
from models.tables.audit import Audit, of_tenant
from tests.apps import PASSWORD, Given, close, make_app, new_instance
from tests.databases import new_database
from tests.http.credentials.stored_sessions import change, long_ago, sessions_of

NAME, SECURE_NAME = "gatepost_refresh", "__Secure-gatepost_refresh"
REFRESH, LOGOUT = "/api/token/refresh", "/api/logout"


class Page:
    """A page in a browser: it logs in, and sends its cookie."""

    def __init__(self, app, user, **login):
        self.app, self.user, self.cookie = app, user, None
        self.login = self.post("/api/login", {"email": user.email, "password": PASSWORD, "cookie": True}, **login)
        assert self.login.status_code == 200, self.login.text
        self.access = self.login.json["access_token"]

    def post(self, path, body=None, *, cookie=None, headers=None, **more):
        """Sends a request, and keeps the cookie of the answer, like a browser."""
        cookie = self.cookie if cookie is None else cookie
        headers = {**({"Cookie": f"{NAME}={cookie}"} if cookie is not None else {}), **(headers or {})}
        if body is not None:
            more["json"] = body
        answer = self.app.test_client(use_cookies=False).post(path, headers=headers, **more)
        if (morsel := cookie_of(answer)) is not None:
            self.cookie = morsel.value if morsel["max-age"] != "0" else None
        return answer

    def works(self, access=None):
        headers = {"Authorization": f"Bearer {access or self.access}"}
        return self.app.test_client().get("/api/profile", headers=headers).status_code == 200


def cookie_of(answer):
    """Returns the one cookie that an answer sets; None if it sets none."""
    found = answer.headers.getlist("Set-Cookie")
    assert len(found) <= 1
    return next(iter(SimpleCookie(found[0]).values())) if found else None


def is_cleared(answer):
    morsel = cookie_of(answer)
    return morsel is not None and (morsel.value, morsel["max-age"], morsel["path"]) == ("", "0", "/api")


@pytest.fixture
def page(app, given):
    return Page(app, given.user(password=PASSWORD))


@pytest.fixture
def settle(app, monkeypatch):
    """`settle(public_url="…")` gives the app these settings from now on."""
    services = app.extensions["gatepost"]

    def settle(**values):
        settings = replace(services.settings, **values)
        monkeypatch.setattr(services, "settings", settings)
        monkeypatch.setattr(app, "mount", settings.mount)

    return settle


def live_of(given, user):
    return [session for session in sessions_of(given, user) if session.revoked_at is None]


@pytest.mark.parametrize("more", [{}, {"cookie": False}], ids=["nothing", "false"])
def test_another_login_sets_none_and_answers_as_ever(more, app, given):
    user = given.user(password=PASSWORD)
    answer = app.test_client().post("/api/login", json={"email": user.email, "password": PASSWORD, **more})
    assert "Set-Cookie" not in answer.headers and "refresh_token" in answer.json
    again = app.test_client().post(REFRESH, json={"refresh_token": answer.json["refresh_token"]})
    assert again.status_code == 200 and "refresh_token" in again.json and "Set-Cookie" not in again.headers


@pytest.mark.parametrize("value", ["yes", 1, None, "true"])
def test_what_is_neither_true_nor_false_asks_for_nothing(value, app, given):
    answer = app.test_client().post("/api/login", json={
        "email": given.user(password=PASSWORD).email, "password": PASSWORD, "cookie": value})
    assert (answer.status_code, answer.json["errors"][0]["pointer"]) == (400, "/cookie")


def test_a_refused_login_sets_none(app, given):
    answer = app.test_client().post("/api/login", json={
        "email": given.user(password=PASSWORD).email, "password": "wrong wrong wrong", "cookie": True})
    assert answer.status_code == 401 and "Set-Cookie" not in answer.headers


@pytest.mark.parametrize(("public_url", "sent_to", "name", "path"), [
    ("", "http://localhost", NAME, "/api"), ("", "https://localhost", SECURE_NAME, "/api"),
    ("https://api.example.org", "http://127.0.0.1:8000", SECURE_NAME, "/api"),
    ("https://example.org/gate/", "http://127.0.0.1:8000", SECURE_NAME, "/gate/api"),
    ("http://intranet.test", "http://intranet.test", NAME, "/api"),
    ("http://intranet.test", "https://intranet.test", SECURE_NAME, "/api")])
def test_over_https_it_is_secure_and_says_so_in_its_name(public_url, sent_to, name, path, page, settle):
    settle(public_url=public_url)
    answer = page.post("/api/login", {"email": page.user.email, "password": PASSWORD, "cookie": True},
                       base_url=sent_to)
    morsel = cookie_of(answer)
    assert (morsel.key, morsel["path"], bool(morsel["secure"])) == (name, path, name == SECURE_NAME)
    other = {NAME, SECURE_NAME} - {name}
    for sent, status in ((name, 200), (other.pop(), 401)):
        again = page.post(REFRESH, base_url=sent_to, headers={"Cookie": f"{sent}={morsel.value}"})
        assert again.status_code == status, "a cookie of the other name is none"
    cleared = page.post(REFRESH, base_url=sent_to, headers={"Cookie": f"{name}=gr_made-up"})
    assert cookie_of(cleared).key == name and cookie_of(cleared)["path"] == path


@pytest.mark.parametrize(("trusted", "name"), [(1, SECURE_NAME), (0, NAME)], ids=["trusted", "not trusted"])
def test_a_proxy_says_whether_it_is_https_where_it_is_trusted(trusted, name, tmp_path, request):
    url = new_database("sqlite", request)
    app = make_app(new_instance(tmp_path / "instance", url, "default"), url, trusted_proxies=trusted)
    try:
        page = Page(app, Given(app, "default").user(password=PASSWORD), headers={"X-Forwarded-Proto": "https"})
        assert cookie_of(page.login).key == name
    finally:
        close(app)


@pytest.mark.both_databases
def test_a_login_that_is_repeated_in_its_transaction_sets_the_cookie_of_the_session_that_is_kept(
        app, given, monkeypatch):
    tries, open_session = [], sessions.open_session

    def in_the_way(call, user):
        tries.append(user)
        answer = open_session(call, user)
        if len(tries) == 1:
            raise Contended("the transaction is repeated")
        return answer

    monkeypatch.setattr(sessions, "open_session", in_the_way)
    page = Page(app, given.user(password=PASSWORD))
    assert len(tries) == 2 and page.post(REFRESH).status_code == 200


def test_a_login_makes_a_session_of_its_own_whatever_cookie_it_has(page, given):
    first = page.cookie
    again = page.post("/api/login", {"email": page.user.email, "password": PASSWORD, "cookie": True})
    assert cookie_of(again).value[:39] != first[:39]
    assert len(live_of(given, page.user)) == 2


# Renewing it

def test_a_refresh_by_cookie_answers_by_cookie(page):
    first = page.cookie
    answer = page.post(REFRESH)
    assert answer.status_code == 200 and page.works(answer.json["access_token"])
    assert set(answer.json) == {"access_token", "token_type", "expires_in", "scope"}
    assert page.cookie != first and page.cookie not in answer.text
    assert page.post(REFRESH, {}).status_code == 200, "a body may be sent, without the token"


def test_the_path_with_the_version_takes_it_too(page):
    assert page.post("/api/v1/token/refresh").status_code == 200
    assert cookie_of(page.post("/api/v1/token/refresh"))["path"] == "/api"
    assert page.post("/api/v1/logout").status_code == 204


def test_it_lasts_as_long_as_the_session(page, given):
    session, = sessions_of(given, page.user)
    change(given, session, absolute_expires_at=later(3600))
    assert 3000 <= int(cookie_of(page.post(REFRESH))["max-age"]) <= 3600


@pytest.mark.both_databases
def test_tabs_that_refresh_at_once_are_given_the_same_cookie(page):
    barrier, token = Barrier(8), page.cookie

    def go(_):
        barrier.wait()
        return page.app.test_client(use_cookies=False).post(REFRESH, headers={"Cookie": f"{NAME}={token}"})

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(go, range(8)))
    assert [answer.status_code for answer in answers] == [200] * 8
    made = {cookie_of(answer).value for answer in answers}
    assert len(made) == 1 and token not in made
    assert page.post(REFRESH, cookie=made.pop()).status_code == 200


def test_a_tab_that_comes_late_does_not_put_an_older_cookie_back(page):
    first = page.cookie
    for _ in range(3):
        assert page.post(REFRESH).status_code == 200
    newest = page.cookie
    assert cookie_of(page.post(REFRESH, cookie=first)).value == newest
    assert page.post(REFRESH).status_code == 200


def test_a_cookie_that_comes_back_after_its_grace_ends_the_session(page, given):
    first = page.cookie
    assert page.post(REFRESH).status_code == 200
    newest = page.cookie
    long_ago(given, page.user)
    answer = page.post(REFRESH, cookie=first)
    assert (answer.status_code, answer.json["code"], is_cleared(answer)) == (401, "invalid_token", True)
    assert page.post(REFRESH, cookie=newest).status_code == 401
    assert live_of(given, page.user) == []


def test_body_and_cookie_together_are_refused_and_neither_is_used_up(page):
    token = page.cookie
    answer = page.post(REFRESH, {"refresh_token": token})
    assert (answer.status_code, answer.json["code"]) == (400, "invalid_field")
    assert answer.json["errors"][0]["pointer"] == "/refresh_token" and "Set-Cookie" not in answer.headers
    assert page.post(REFRESH).status_code == 200


def test_without_either_a_page_has_to_log_in_and_a_body_lacks_its_field(app):
    client = app.test_client()
    nothing = client.post(REFRESH)
    assert (nothing.status_code, nothing.json["code"]) == (401, "unauthenticated")
    assert nothing.headers["WWW-Authenticate"] == "Bearer" and "Set-Cookie" not in nothing.headers
    empty = client.post(REFRESH, json={})
    assert (empty.status_code, empty.json["code"]) == (400, "missing_field")
    assert empty.json["errors"][0]["pointer"] == "/refresh_token"
    other = client.post(REFRESH, headers={"Cookie": f"session=1; x{NAME}=gr_1; {NAME}x=gr_2; {SECURE_NAME}=gr_3"})
    assert other.status_code == 401 and other.json["code"] == "unauthenticated", "other cookies are none of ours"


def test_no_other_cookie_hides_or_brings_one(page):
    token = page.cookie
    for index, header in enumerate((f'a="; {NAME}={token}', f"{NAME}={token};", f"=; ;;{NAME}={token};a",
                                    f"{NAME} = {token}")):
        answer = page.post(REFRESH, headers={"Cookie": header})
        assert answer.status_code == 200, (index, answer.text)
    for header in (f"a={NAME}={token}", f"a, {NAME}={token}", f"{NAME}", f"{NAME.upper()}={token}"):
        assert page.post(REFRESH, headers={"Cookie": header}).status_code == 401


def test_two_cookies_that_differ_are_refused_and_ours_is_not_cleared(page):
    token = page.cookie
    for first, second in ((token, "gr_planted"), ("gr_planted", token)):
        for path in (REFRESH, LOGOUT):
            answer = page.post(path, headers={"Cookie": f"{NAME}={first}; a=b; {NAME}={second}"})
            assert (answer.status_code, answer.json["code"]) == (400, "invalid_header")
            assert answer.json["errors"][0]["header"] == "Cookie" and "Set-Cookie" not in answer.headers
    twice = page.post(REFRESH, headers={"Cookie": f"{NAME}={token}; {NAME}={token}"})
    assert twice.status_code == 200


@pytest.mark.parametrize("value", [
    "", "gr_", "x", "gr_" + "A" * 101, "A" * 15_000, "gr_\xe4\xff", '"', "gr_00000000-0000-7000-8000-000000000000_x",
    "gp_00000000-0000-7000-8000-000000000000_x", "%00", "a=b=c", "\\303\\244"], ids=lambda value: value[:12] or "none")
@pytest.mark.parametrize("path", [REFRESH, LOGOUT])
def test_what_is_no_refresh_token_is_401_and_is_cleared(value, path, page):
    answer = page.post(path, cookie=value)
    assert (answer.status_code, answer.json["code"], is_cleared(answer)) == (401, "invalid_token", True)


@pytest.mark.parametrize("path", [REFRESH, LOGOUT])
@pytest.mark.parametrize("why", ["expired", "ended", "forged", "disabled", "the key of another"])
def test_what_is_no_longer_good_is_401_and_is_cleared(why, path, page, given, as_role):
    session, = sessions_of(given, page.user)
    token = page.cookie
    if why == "disabled":
        assert as_role("owner").post(f"/api/users/{page.user.id}/disable").status_code == 200
    elif why == "forged":
        token = token[:-30] + "A" * 30
    elif why == "the key of another":
        token = token[:3] + sessions_of(given, Page(page.app, given.user(password=PASSWORD)).user)[0].id + token[39:]
    else:
        change(given, session, **{{"expired": "expires_at", "ended": "revoked_at"}[why]: later(-1)})
    answer = page.post(path, cookie=token)
    assert (answer.status_code, answer.json["code"], is_cleared(answer)) == (401, "invalid_token", True)


def test_a_refresh_by_cookie_takes_the_units_of_the_account_and_keeps_the_cookie_beyond_them(page, app, monkeypatch):
    services = app.extensions["gatepost"]
    monkeypatch.setattr(services, "limits", Limits(replace(services.settings, rate_limits=True, principal_units=15)))
    for _ in range(5):
        assert page.post(REFRESH, cookie="gr_" + "A" * 101).status_code == 401
    page.cookie = cookie_of(page.login).value
    answers = [page.post(REFRESH) for _ in range(3)]
    assert answers[0].status_code == 200
    assert answers[-1].status_code == 429 and "Set-Cookie" not in answers[-1].headers
    assert page.cookie is not None


def test_a_user_whose_role_the_policy_has_lost_keeps_the_cookie(page, given):
    def work(role):
        user = Rows(type(page.user), given.tenant_id).find(page.user.id)
        user.role = role
        Rows(type(user), given.tenant_id).save(user)

    given.database.transact(lambda: work("nobody"))
    answer = page.post(REFRESH)
    assert (answer.status_code, answer.json["code"]) == (403, "forbidden") and "Set-Cookie" not in answer.headers
    given.database.transact(lambda: work("user"))
    assert page.post(REFRESH).status_code == 200


# Refused origins

FOREIGN = [
    ({"Sec-Fetch-Site": "cross-site"}, 403), ({"Sec-Fetch-Site": "same-site"}, 403),
    ({"Sec-Fetch-Site": ""}, 403), ({"Sec-Fetch-Site": "same-origin, cross-site"}, 403),
    ({"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost"}, 403),
    ({"Origin": "https://evil.example"}, 403), ({"Origin": "null"}, 403), ({"Origin": ""}, 403),
    ({"Origin": "https://localhost"}, 403), ({"Origin": "http://localhost:8080"}, 403),
    ({"Origin": "http://localhost.evil.example"}, 403), ({"Origin": "http://["}, 403),
    ({"Origin": "http://localhost:99999"}, 403), ({"Origin": "//localhost"}, 403),
    ({"Sec-Fetch-Site": "same-origin"}, 200), ({"Sec-Fetch-Site": "none"}, 200),
    ({"Sec-Fetch-Site": "same-origin", "Origin": "https://behind.a.proxy"}, 200),
    ({"Origin": "http://localhost"}, 200), ({"Origin": "http://LOCALHOST:80"}, 200), ({}, 200),
]


@pytest.mark.parametrize(("headers", "status"), FOREIGN, ids=str)
def test_a_page_of_another_origin_can_neither_log_in_nor_renew_nor_end_it(headers, status, page, given):
    token = page.cookie
    login = {"email": page.user.email, "password": PASSWORD, "cookie": True}
    answers = [page.post("/api/login", login, headers=headers), page.post(REFRESH, cookie=token, headers=headers)]
    if status == 403:
        bearer = {"Authorization": f"Bearer {page.access}"}
        answers += [page.post(LOGOUT, cookie=token, headers={**headers, **more}) for more in ({}, bearer)]
    for answer in answers:
        assert answer.status_code == status, answer.text
        if status == 403:
            assert answer.json["code"] == "forbidden" and "Set-Cookie" not in answer.headers
    if status == 403:
        assert len(live_of(given, page.user)) == 1
        assert page.post(REFRESH, cookie=token).status_code == 200
    else:
        assert page.post(LOGOUT, headers=headers).status_code == 204


@pytest.mark.parametrize(("origin", "status"), [
    ("https://api.example.org", 200), ("https://api.example.org:443", 200), ("http://api.example.org", 403),
    ("https://example.org", 403), ("http://localhost", 403)])
def test_the_origin_of_the_setting_counts_where_there_is_one(origin, status, page, settle):
    settle(public_url="https://api.example.org/gate")
    answer = page.post(REFRESH, headers={"Cookie": f"{SECURE_NAME}={page.cookie}", "Origin": origin})
    assert answer.status_code == status


def test_a_token_in_the_body_is_taken_from_every_origin(app, given):
    user = given.user(password=PASSWORD)
    headers = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
    answer = app.test_client().post("/api/login", json={"email": user.email, "password": PASSWORD}, headers=headers)
    token = answer.json["refresh_token"]
    assert app.test_client().post(REFRESH, json={"refresh_token": token}, headers=headers).status_code == 200


def test_no_page_of_another_origin_may_send_credentials(page, app, monkeypatch):
    live = app.extensions["gatepost"].live
    monkeypatch.setattr(live, "current", replace(live.current, cors_origins="https://page.example"))
    asked = {"Origin": "https://page.example", "Access-Control-Request-Method": "POST"}
    for answer in (app.test_client().options(REFRESH, headers=asked),
                   page.post(REFRESH, headers={"Origin": "https://page.example"})):
        assert answer.headers["Access-Control-Allow-Origin"] == "https://page.example"
        assert "Access-Control-Allow-Credentials" not in answer.headers
    assert answer.status_code == 403


@pytest.mark.parametrize(("method", "path"), [
    ("GET", "/api/profile"), ("PATCH", "/api/profile"), ("GET", "/api/sessions"), ("POST", "/api/articles"),
    ("POST", "/api/profile/password"), ("POST", "/api/tokens"), ("GET", "/api/profile/export")])
def test_it_is_a_credential_nowhere_else(method, path, page, app):
    headers = {"Cookie": f"{NAME}={page.cookie}", "Sec-Fetch-Site": "same-origin"}
    answer = app.test_client(use_cookies=False).open(path, method=method, json={}, headers=headers)
    assert (answer.status_code, answer.json["code"]) == (401, "unauthenticated")
    bearer = app.test_client().get(path, headers={"Authorization": f"Bearer {page.cookie}"})
    assert bearer.status_code in (401, 405)


def test_drafts_are_hidden_from_a_reader_who_has_it_alone(page, app, given):
    draft = given.article("draft", owner_id=page.user.id)
    answer = app.test_client(use_cookies=False).get(f"/api/articles/{draft.id}", headers={
        "Cookie": f"{NAME}={page.cookie}"})
    assert answer.status_code == 404


# Logging out

def test_a_page_whose_access_token_is_over_logs_out_by_it(page, given):
    token = page.cookie
    answer = page.post(LOGOUT)
    assert (answer.status_code, is_cleared(answer), answer.data) == (204, True, b"")
    assert live_of(given, page.user) == [] and not page.works()
    again = page.post(REFRESH, cookie=token)
    assert again.status_code == 401 and is_cleared(again)
    with given.database.connected():
        row = of_tenant(given.tenant_id).where(Audit.principal == f"user:{page.user.id}",
                                               Audit.action == "logout").first()
    assert row is not None and row.result == "allowed" and token not in repr(row.__data__)


def test_it_ends_this_session_or_all(page, app, given):
    other = Page(app, page.user)
    assert page.post(LOGOUT).status_code == 204
    assert other.works() and not page.works()
    third = Page(app, page.user)
    assert other.post(LOGOUT, {"all": True}).status_code == 204
    assert not other.works() and not third.works() and live_of(given, page.user) == []


def test_beside_an_access_token_both_sessions_end_and_it_is_cleared(page, app, given):
    other = Page(app, page.user)
    answer = page.post(LOGOUT, cookie=other.cookie, headers={"Authorization": f"Bearer {page.access}"})
    assert (answer.status_code, is_cleared(answer)) == (204, True)
    assert not page.works() and not other.works() and live_of(given, page.user) == []


def test_beside_an_access_token_any_cookie_is_cleared_and_nobody_else_is_logged_out(page, app, given):
    other = Page(app, given.user(password=PASSWORD))
    bearer = {"Authorization": f"Bearer {page.access}"}
    both = {"Cookie": f"{NAME}={other.cookie}; {NAME}=gr_planted", **bearer}
    answer = page.post(LOGOUT, headers=both)
    assert (answer.status_code, is_cleared(answer)) == (204, True)
    assert other.works() and not page.works()


def test_without_a_cookie_nothing_is_cleared(page):
    answer = page.app.test_client().post(LOGOUT, headers={"Authorization": f"Bearer {page.access}"})
    assert answer.status_code == 204 and "Set-Cookie" not in answer.headers
    assert page.app.test_client().post(LOGOUT).status_code == 401


def test_an_access_token_that_is_sent_must_be_good_all_the_same(page, given):
    answer = page.post(LOGOUT, headers={"Authorization": "Bearer not.a.token"})
    assert (answer.status_code, answer.json["code"]) == (401, "invalid_token")
    assert len(live_of(given, page.user)) == 1


# Logs, and keys for repetition

def test_no_log_has_it(page, caplog):
    with caplog.at_level(logging.DEBUG):
        tokens = [page.cookie]
        for path, more in ((REFRESH, {}), (REFRESH, {"headers": {"Sec-Fetch-Site": "cross-site"}}), (LOGOUT, {})):
            page.post(path, **more)
            tokens.append(page.cookie or tokens[-1])
    text = caplog.text + "".join(repr(record.__dict__) for record in caplog.records)
    assert not any(token[-65:] in text for token in tokens)


def test_a_key_for_repetitions_is_refused_as_for_every_login(page):
    for path in (REFRESH, LOGOUT):
        answer = page.post(path, headers={"Idempotency-Key": "k"})
        assert (answer.status_code, answer.json["code"]) == (400, "idempotency_unsupported")
