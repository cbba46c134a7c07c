"""A page in a browser, with both servers: the refresh cookie from login to logout, and answers without a body on a
persistent connection."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.cookies import SimpleCookie
from urllib.parse import urlsplit

import pytest

from tests.databases import new_database
from tests.incidents.load import SERVERS
from tests.running import PASSWORD, Instance, Served

pytestmark = pytest.mark.slow

LOGIN = {"email": "admin@example.org", "password": PASSWORD, "cookie": True}


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def instance(request, tmp_path_factory) -> Instance:
    environment = {"GATEPOST_RATE_LIMITS": "off", "GATEPOST_TRUSTED_PROXIES": "1"}
    if request.param == "postgres":
        environment["GATEPOST_DATABASE_URL"] = new_database("postgres", request, migrated=False)
    return Instance(tmp_path_factory.mktemp("made") / "instance", environment).made()


@pytest.fixture(scope="module", params=SERVERS)
def service(request, instance) -> Iterator[Served]:
    with instance.served(*SERVERS[request.param]) as served:
        yield served


class Browser:
    """A persistent connection, and a jar with one cookie."""

    def __init__(self, service):
        self.connection = http.client.HTTPConnection(urlsplit(service.url).netloc, timeout=60)
        self.jar, self.set = {}, []

    def close(self):
        self.connection.close()

    def send(self, method, path, body=None, **headers):
        """Sends a request on the same connection. Returns (status, headers, body)."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.jar:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.jar.items())
        if body is not None:
            sent["Content-Type"] = "application/json"
        self.connection.request(method, path, None if body is None else json.dumps(body), sent)
        answer = self.connection.getresponse()
        self.set = answer.headers.get_all("Set-Cookie") or []
        for one in self.set:
            (name, morsel), = SimpleCookie(one).items()
            if morsel["max-age"] == "0":
                self.jar.pop(name, None)
            else:
                self.jar[name] = morsel.value
        return answer.status, answer.headers, answer.read()


@pytest.fixture
def browser(service):
    with closing(Browser(service)) as made:
        yield made


def test_from_login_to_logout(browser):
    status, _, body = browser.send("POST", "/api/login", LOGIN)
    assert status == 200 and b"refresh_token" not in body
    assert list(browser.jar) == ["gatepost_refresh"] and "SameSite=Strict" in browser.set[0]
    first = dict(browser.jar)
    status, _, body = browser.send("POST", "/api/token/refresh", Sec_Fetch_Site="same-origin")
    assert status == 200 and browser.jar != first and b"refresh_token" not in body
    bearer = f"Bearer {json.loads(body)['access_token']}"
    assert browser.send("GET", "/api/profile")[0] == 401
    assert browser.send("GET", "/api/profile", Authorization=bearer)[0] == 200
    assert browser.send("POST", "/api/logout", Sec_Fetch_Site="cross-site")[0] == 403
    last = dict(browser.jar)
    status, headers, body = browser.send("POST", "/api/v1/logout", {"all": False}, Sec_Fetch_Site="same-origin")
    assert (status, body, browser.jar) == (204, b"", {}) and "Content-Length" not in headers
    assert browser.send("GET", "/api/profile", Authorization=bearer)[0] == 401
    browser.jar = last
    assert browser.send("POST", "/api/token/refresh")[0] == 401
    assert browser.jar == {}, "the browser is told to forget it"


def test_over_https_at_a_trusted_proxy(browser):
    https = {"X_Forwarded_Proto": "https", "X_Forwarded_Host": "api.example.org"}
    assert browser.send("POST", "/api/login", LOGIN, **https)[0] == 200
    assert list(browser.jar) == ["__Secure-gatepost_refresh"] and "; Secure" in browser.set[0]
    assert browser.send("POST", "/api/token/refresh", Origin="https://api.example.org", **https)[0] == 200
    assert browser.send("POST", "/api/token/refresh", Origin="http://api.example.org", **https)[0] == 403
    assert browser.send("POST", "/api/token/refresh")[0] == 401, "it is no credential over plain HTTP"
    assert browser.send("POST", "/api/logout", Origin="https://api.example.org", **https)[0] == 204
    assert browser.jar == {}


def test_two_tabs_that_refresh_at_once_go_on_with_one_cookie(service, browser):
    assert browser.send("POST", "/api/login", LOGIN)[0] == 200
    tabs = [Browser(service) for _ in range(6)]
    try:
        for tab in tabs:
            tab.jar = dict(browser.jar)
        with ThreadPoolExecutor(len(tabs)) as threads:
            statuses = list(threads.map(lambda tab: tab.send("POST", "/api/token/refresh")[0], tabs))
        assert statuses == [200] * len(tabs)
        assert len({tab.jar["gatepost_refresh"] for tab in tabs}) == 1
        assert tabs[0].send("POST", "/api/token/refresh")[0] == 200
    finally:
        for tab in tabs:
            tab.close()


@pytest.mark.parametrize("headers", [
    {"Cookie": "gatepost_refresh=" + "A" * 12_000}, {"Cookie": "gatepost_refresh=\xe4\xff"},
    {"Cookie": "=;;=; gatepost_refresh"}, {"Cookie": 'gatepost_refresh="gr_'}], ids=lambda sent: sent["Cookie"][:24])
def test_hostile_cookies_are_refused(headers, browser):
    for path in ("/api/token/refresh", "/api/logout"):
        status, _, body = browser.send("POST", path, **headers)
        assert status == 401 and json.loads(body)["code"] in ("invalid_token", "unauthenticated")


def test_a_logout_in_chunks_is_the_cookie_s(browser):
    """Waitress reads the head of such a request before its body. granian accepts none in chunks."""
    assert browser.send("POST", "/api/login", LOGIN)[0] == 200
    cookie = f"gatepost_refresh={browser.jar['gatepost_refresh']}"
    browser.connection.request("POST", "/api/logout", iter([b'{"all": ', b"false}"]), {
        "Cookie": cookie, "Content-Type": "application/json", "Transfer-Encoding": "chunked"}, encode_chunked=True)
    answer = browser.connection.getresponse()
    answer.read()
    ended = answer.status == 204
    assert ended or 400 <= answer.status < 500
    assert ("gatepost_refresh=;" in answer.headers.get("Set-Cookie", "")) == ended
    assert browser.send("POST", "/api/token/refresh")[0] == (401 if ended else 200)


def test_answers_without_a_body_end_where_they_say(browser, service):
    """Waitress closes the connection after each 204. After a 201 the connection continues."""
    bearer = {"Authorization": f"Bearer {service.log_in()}", "Prefer": "return=minimal"}
    for number in range(3):
        article = {"title": "t", "slug": f"n-{service.url.rpartition(':')[2]}-{number}", "body": "b"}
        status, headers, body = browser.send("POST", "/api/articles", article, **bearer)
        assert (status, headers["Content-Length"], headers["Content-Type"], body) == (201, "0", None, b"")
        assert headers["Preference-Applied"] == "return=minimal" and headers["ETag"]
        assert browser.connection.sock is not None
        status, headers, body = browser.send("PATCH", headers["Location"], {"title": "u"}, **bearer)
        assert (status, headers["Content-Length"], headers["Content-Type"], body) == (204, None, None, b"")
        assert headers["ETag"]


def test_what_is_sent_in_chunks_is_answered_in_the_form_that_it_prefers(browser, service):
    """Waitress checks the head first, and that answer has no preferred form. granian accepts none in chunks."""
    article = json.dumps({"title": "t", "slug": f"chunks-{service.url.rpartition(':')[2]}", "body": "b"}).encode()
    browser.connection.request("POST", "/api/articles", iter([article[:9], article[9:]]), {
        "Authorization": f"Bearer {service.log_in()}", "Content-Type": "application/json", "Prefer": "return=minimal",
        "Expect": "100-continue", "Transfer-Encoding": "chunked"}, encode_chunked=True)
    answer = browser.connection.getresponse()
    body = answer.read()
    made = answer.status == 201
    assert made or 400 <= answer.status < 500
    assert (answer.headers["Preference-Applied"] == "return=minimal", body == b"") == (made, made)
