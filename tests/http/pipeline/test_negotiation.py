"""The promises of HTTP itself: representations, HEAD, OPTIONS, compression, and the headers for browsers."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from gatepost.http.openapi.headers import ANSWERED
from tests.apps import Scenario, close, make_app, new_instance, scenarios
from tests.databases import new_database

GZIP = {"Accept-Encoding": "gzip"}


@pytest.fixture(scope="module")
def database_url(request: pytest.FixtureRequest) -> str:
    """One database is enough, because these tests are about headers."""
    return new_database("sqlite", request)


@pytest.fixture(scope="module", autouse=True)
def rows(given) -> None:
    for _ in range(30):
        given.article()


def articles(name: str, accept: str, status: int = 200, code: str | None = None) -> Scenario:
    return Scenario(name, "guest", "GET", "/api/articles", headers={"Accept": accept}, status=status, code=code)


@scenarios(
    articles("anything", "*/*"),
    articles("JSON", "application/json"),
    articles("any application type", "application/*"),
    articles("a browser", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    articles("nothing intelligible", ";;;"),
    articles("nothing at all", ""),
    articles("HTML only", "text/html", 406, "not_acceptable"),
    articles("problems only", "application/problem+json", 406, "not_acceptable"),
    articles("anything but JSON", "application/json;q=0, */*", 406, "not_acceptable"),
    Scenario("an error needs no consent", "guest", "GET", "/api/profile", headers={"Accept": "application/json"},
             status=401, code="unauthenticated"),
    Scenario("an unknown path", "guest", "GET", "/api/nope", headers={"Accept": "text/html"}, status=404,
             code="not_found"),
    Scenario("no body, no type", "guest", "POST", "/api/contact", body={}, headers={"Accept": "text/html"}, status=406,
             code="not_acceptable"),
)
def test_data_is_json_for_a_client_that_takes_json(as_role, scenario):
    scenario.play(as_role(scenario.who))


BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
PROMETHEUS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"


@pytest.mark.parametrize(("path", "accept", "status"), [
    ("/docs", BROWSER, 200), ("/docs", "text/*", 200), ("/docs", ";;;", 200), ("/docs", "", 200),
    ("/docs", "application/json", 406), ("/docs", "text/html;q=0, */*", 406), ("/docs/errors", "image/png", 406),
    ("/docs/rapidoc-min.js", "*/*", 200), ("/docs/page.css", "text/css,*/*;q=0.1", 200),
    ("/docs/rapidoc-min.js", "text/javascript", 200), ("/docs/rapidoc-min.js", "image/png", 406),
    ("/api/openapi.json", "application/json;charset=utf-8", 200), ("/api/openapi.json", "text/html", 406),
    ("/", BROWSER, 200), ("/", "application/json", 200), ("/", "image/png", 406),
    ("/metrics", PROMETHEUS, 404), ("/metrics", "application/json", 406),
])
def test_a_page_or_a_file_is_answered_to_a_client_that_takes_its_type(client, path, accept, status):
    answer = client.get(path, headers={"Accept": accept})
    assert answer.status_code == status, answer.text
    assert status != 406 or answer.get_json()["code"] == "not_acceptable"


@pytest.mark.parametrize(("accept", "status"), [
    (BROWSER, 200), ("text/csv", 200), ("application/x-ndjson, text/csv;q=0", 200), ("application/json", 406),
    ("text/csv;q=0, application/x-ndjson;q=0, */*", 406),
])
def test_an_export_is_a_file_that_the_client_takes(as_role, accept, status):
    answer = as_role("editor").get("/api/articles/export", headers={"Accept": accept})
    assert answer.status_code == status
    assert status == 406 or answer.mimetype in ("text/csv", "application/x-ndjson")


@pytest.mark.parametrize("headers", [{}, GZIP], ids=["plain", "gzip"])
@pytest.mark.parametrize("path", ["/api/articles", "/docs/rapidoc-min.js"])
def test_a_304_has_the_vary_of_its_200(client, path, headers):
    # A cache keeps the newer answer's headers, and would send gzip to a client that cannot read it (RFC 9111 section
    # 4.3.4).
    sent = client.get(path, headers=headers)
    unmodified = client.get(path, headers={"If-None-Match": sent.headers["ETag"], **headers})
    assert unmodified.status_code == 304
    assert unmodified.headers["Vary"] == sent.headers["Vary"] == "Authorization, Accept-Encoding"


@pytest.mark.parametrize("path", ["/api/articles", "/api/health/live", "/api/nope", "/api/profile", "/docs",
                                  "/api/articles/export", "/api/openapi.json"])
@pytest.mark.parametrize("headers", [{}, GZIP], ids=["plain", "gzip"])
def test_head_answers_what_get_answers_without_the_body(client, path, headers):
    headers = {"X-Request-ID": "one", **headers}
    got, head = client.get(path, headers=headers), client.head(path, headers=headers)
    assert (head.status, head.get_data()) == (got.status, b"")
    assert dict(head.headers) == dict(got.headers)


@pytest.mark.parametrize(("path", "methods"), [
    ("/api/articles", {"GET", "HEAD", "OPTIONS", "POST"}),
    ("/api/login", {"OPTIONS", "POST"}),
    ("/api/health", {"GET", "HEAD", "OPTIONS"}),
])
def test_options_says_which_methods_there_are(client, path, methods):
    answer = client.options(path)
    assert (answer.status_code, answer.get_data()) == (204, b"")
    assert {each.strip() for each in answer.headers["Allow"].split(",")} == methods
    assert "Content-Type" not in answer.headers


def test_large_answers_are_compressed_for_a_client_that_asks(client):
    plain, pressed = client.get("/api/articles"), client.get("/api/articles", headers=GZIP)
    assert len(plain.get_data()) > 1024 and "Content-Encoding" not in plain.headers
    assert pressed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(pressed.get_data()) == plain.get_data()
    assert int(pressed.headers["Content-Length"]) == len(pressed.get_data()) < len(plain.get_data())
    for answer in (plain, pressed):
        assert {each.strip() for each in answer.headers["Vary"].split(",")} == {"Authorization", "Accept-Encoding"}


def test_an_error_that_is_compressed_says_so_to_caches(client):
    answer = client.get("/api/articles?" + "&".join(f"unknown{number}=1" for number in range(60)), headers=GZIP)
    assert (answer.status_code, answer.headers["Content-Encoding"]) == (400, "gzip")
    assert {"Accept-Language", "Accept-Encoding"} == set(answer.headers["Vary"].split(", "))


@pytest.mark.parametrize("accept", ["", "br", "gzip;q=0", "identity"])
def test_a_client_that_does_not_ask_gets_it_plain(client, accept):
    assert "Content-Encoding" not in client.get("/api/articles", headers={"Accept-Encoding": accept}).headers


def test_small_answers_are_never_compressed(client):
    assert "Content-Encoding" not in client.get("/api/health", headers=GZIP).headers


def test_a_stream_is_compressed_as_it_comes(as_role):
    editor = as_role("editor")
    plain, pressed = editor.get("/api/articles/export"), editor.get("/api/articles/export", headers=GZIP)
    assert pressed.headers["Content-Encoding"] == "gzip"
    rows = [json.loads(line) for line in gzip.decompress(pressed.get_data()).splitlines()]
    assert rows == [json.loads(line) for line in plain.get_data().splitlines()]
    assert len(rows) >= 30


def test_a_compressed_page_is_known_again_by_its_tag(client):
    tag = client.get("/api/articles", headers=GZIP).headers["ETag"]
    assert client.get("/api/articles", headers={**GZIP, "If-None-Match": tag}).status_code == 304
    assert client.get("/api/articles", headers={"If-None-Match": tag}).status_code == 304


@pytest.mark.parametrize("path", ["/api/articles", "/api/nope", "/docs", "/api/health/live"])
def test_every_answer_is_treated_carefully_by_browsers(client, path):
    headers = client.get(path).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "Strict-Transport-Security" not in headers
    assert not [name for name, _ in headers if name.startswith("Access-Control-")]


PAGE = "https://app.example.org"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Flask]:
    """An app that pages of the origin PAGE may call, behind a proxy that terminates TLS."""
    url = new_database("sqlite", request)
    instance: Path = new_instance(tmp_path_factory.mktemp("shared") / "instance", url, "default")
    made = make_app(instance, url, cors_origins=PAGE, hsts_seconds=3600, trusted_proxies=1)
    yield made
    close(made)


def test_pages_of_a_named_origin_may_read_answers_and_their_headers(shared):
    headers = shared.test_client().get("/api/articles", headers={"Origin": PAGE}).headers
    assert headers["Access-Control-Allow-Origin"] == PAGE
    # All described headers, except cookies, which browsers hide from pages (Fetch standard, forbidden headers).
    assert ANSWERED.keys() - {"Set-Cookie"} <= set(headers["Access-Control-Expose-Headers"].split(", "))
    assert "Origin" in headers["Vary"]
    assert "Access-Control-Allow-Credentials" not in headers


def test_a_preflight_is_answered_without_credentials(shared):
    asked = {"Origin": PAGE, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    answer = shared.test_client().options("/api/articles", headers=asked)
    assert answer.status_code == 204
    assert "POST" in answer.headers["Access-Control-Allow-Methods"]
    assert "Authorization" in answer.headers["Access-Control-Allow-Headers"]


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "https://app.example.org.evil.example"])
def test_pages_of_other_origins_may_not(shared, origin):
    headers = shared.test_client().get("/api/articles", headers={"Origin": origin}).headers
    assert "Access-Control-Allow-Origin" not in headers
    assert "Origin" in headers["Vary"], "a cache must not hand this answer to the named origin"


@pytest.mark.parametrize(("scheme", "sent"), [("https", True), ("http", False)])
def test_https_only_is_said_over_https_alone(shared, scheme, sent):
    headers = shared.test_client().get("/api/health/live", headers={"X-Forwarded-Proto": scheme}).headers
    assert (headers.get("Strict-Transport-Security") == "max-age=3600") is sent


def test_the_address_behind_a_trusted_proxy_counts_and_no_other(shared, app):
    from flask import request

    for made, known in ((shared, "198.51.100.7"), (app, "127.0.0.1")):
        with made.test_client() as client:
            client.get("/api/health/live", headers={"X-Forwarded-For": "203.0.113.1, 198.51.100.7"})
            assert request.remote_addr == known
