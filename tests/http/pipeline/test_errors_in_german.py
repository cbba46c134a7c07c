"""Every kind of error in German: codes, pointers and headers equal the English ones."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote

import pytest

from gatepost.http.operations.limits import Limits
from models.engine.errors import Unavailable
from tests.apps import NO_ROW, Scenario, scenarios
from tests.http.described import check_problem

ARTICLE = {"title": "T", "slug": "s", "body": "B"}
NDJSON = {"Content-Type": "application/x-ndjson"}


@pytest.fixture(scope="module")
def there(given):
    """The id of an article for refusals, and an id without an article."""
    return {"article": given.article("published", slug="taken").id, "absent": NO_ROW}


@scenarios(
    Scenario("unknown route", "guest", "GET", "/api/nope", status=404, code="not_found"),
    Scenario("unknown path", "guest", "GET", "/nope", status=404, code="not_found"),
    Scenario("unknown version", "guest", "GET", "/api/v9/articles", status=400, code="unsupported_version"),
    Scenario("other version", "guest", "GET", "/api/articles", headers={"API-Version": "2"}, status=400,
             code="unsupported_version"),
    Scenario("wrong method", "guest", "PATCH", "/api/articles", status=405, code="method_not_allowed"),
    Scenario("guest", "guest", "POST", "/api/articles", ARTICLE, status=401, code="unauthenticated"),
    Scenario("bad token", "guest", "GET", "/api/articles", headers={"Authorization": "Bearer x"}, status=401,
             code="invalid_token"),
    Scenario("no token", "guest", "GET", "/api/articles", headers={"Authorization": "Basic x"}, status=401,
             code="invalid_token"),
    Scenario("wrong password", "guest", "POST", "/api/login", {"email": "x@example.org", "password": "x"},
             status=401, code="invalid_credentials"),
    Scenario("refresh", "guest", "POST", "/api/token/refresh", {"refresh_token": "x"}, status=401,
             code="invalid_token"),
    Scenario("not allowed", "user", "PATCH", "/api/articles/{article}", {"title": "T"}, status=403,
             code="forbidden"),
    Scenario("nothing of it allowed", "user", "GET", "/api/audit", status=403, code="forbidden"),
    Scenario("absent", "user", "GET", "/api/articles/{absent}", status=404, code="not_found"),
    Scenario("no id", "user", "GET", "/api/articles/x", status=400, code="invalid_parameter"),
    Scenario("no JSON for it", "user", "GET", "/api/articles", headers={"Accept": "text/html"}, status=406,
             code="not_acceptable"),
    Scenario("no such file", "admin", "GET", "/api/articles/export", headers={"Accept": "text/html"}, status=406,
             code="not_acceptable"),
    Scenario("clash", "editor", "POST", "/api/articles", {**ARTICLE, "slug": "taken"}, status=409,
             code="already_exists"),
    Scenario("wrong state", "editor", "POST", "/api/articles/{article}/approve", status=409,
             code="invalid_transition"),
    Scenario("dangling", "admin", "PATCH", "/api/articles/{article}", {"category_id": NO_ROW}, status=400,
             code="invalid_reference"),
    Scenario("changed since", "editor", "PATCH", "/api/articles/{article}", {"title": "T"},
             headers={"If-Match": '"99"'}, status=412, code="version_conflict"),
    Scenario("no tag", "editor", "PATCH", "/api/articles/{article}", {"title": "T"},
             headers={"If-Match": "99"}, status=400, code="invalid_header"),
    Scenario("another type", "editor", "POST", "/api/articles", ARTICLE, headers={"Content-Type": "text/plain"},
             status=415, code="unsupported_media_type"),
    Scenario("several faults", "editor", "POST", "/api/articles", {"slug": "No Slug", "extra": 1, "title": 7},
             status=400, code="invalid_body"),
    Scenario("missing", "editor", "POST", "/api/articles", {"title": "T", "slug": "s"}, status=400,
             code="missing_field"),
    Scenario("too long", "editor", "POST", "/api/articles", {**ARTICLE, "title": "T" * 2000}, status=400,
             code="invalid_field"),
    Scenario("too many", "user", "POST", "/api/orders", {"items": [{"product_id": NO_ROW, "quantity": 0}]},
             status=400, code="invalid_field"),
    Scenario("read-only", "user", "POST", "/api/articles", {**ARTICLE, "department": "x"}, status=400,
             code="read_only_field"),
    Scenario("common password", "guest", "POST", "/api/register",
             {"name": "N", "email": "n@example.org", "password": "password1"}, status=400, code="invalid_field"),
    Scenario("unknown scope", "user", "POST", "/api/tokens", {"name": "N", "scopes": ["x"]}, status=400,
             code="unknown_scope"),
    Scenario("no key", "editor", "POST", "/api/articles", ARTICLE, headers={"Idempotency-Key": "a b"},
             status=400, code="invalid_header"),
    Scenario("no key here", "guest", "POST", "/api/login", {"email": "x", "password": "x"},
             headers={"Idempotency-Key": "a"}, status=400, code="idempotency_unsupported"),
    Scenario("unknown parameter", "guest", "GET", "/api/articles?surprise=1", status=400, code="unknown_parameter"),
    Scenario("paging", "guest", "GET", "/api/articles?page=1&offset=1", status=400, code="pagination_conflict"),
    Scenario("size", "guest", "GET", "/api/articles?limit=0", status=400, code="invalid_parameter"),
    Scenario("offset", "guest", "GET", "/api/articles?offset=99999", status=400, code="offset_too_large"),
    Scenario("sort", "guest", "GET", "/api/articles?sort=x", status=400, code="invalid_parameter"),
    Scenario("fields", "guest", "GET", "/api/articles?fields=x", status=400, code="invalid_parameter"),
    Scenario("time", "guest", "GET", "/api/articles?created_at__lt=x", status=400, code="invalid_parameter"),
    Scenario("cursor", "guest", "GET", "/api/articles?cursor=x", status=400, code="invalid_cursor"),
    Scenario("encoding", "guest", "GET", "/api/articles?q=%ff", status=400, code="invalid_parameter"),
    Scenario("percent", "guest", "GET", "/api/articles?q=%", status=400, code="invalid_parameter"),
    Scenario("long URL", "guest", "GET", "/api/articles?q=" + "x" * 20_000, status=414, code="uri_too_long"),
    Scenario("permission", "admin", "GET", "/api/admin/policy/explain?as=guest&permission=x.y", status=400,
             code="invalid_parameter"),
    Scenario("share", "admin", "PUT", "/api/articles/{article}/shares", {"grantee": "x", "right": "x"},
             status=400, code="invalid_body"),
)
def test_an_error_says_the_same_in_german(as_role, there, scenario):
    english, german = (replace(scenario, headers={**scenario.headers, "Accept-Language": language}).play(
        as_role(scenario.who), **there) for language in ("en", "de"))
    same_in_german(english, german)


def same_in_german(english, german):
    """Checks that codes, pointers and headers are the same, and titles and details differ."""
    told, said = english.get_json(), german.get_json()
    assert german.mimetype == "application/problem+json"
    assert (english.headers["Content-Language"], german.headers["Content-Language"]) == ("en", "de")
    assert "Accept-Language" in german.headers["Vary"].split(", ")
    words = ("title", "detail")
    for one, other in zip([told, *told["errors"]], [said, *said["errors"]], strict=True):
        assert all(one[word] != other[word] for word in words if word in one), (one, other)
        ignored = {**dict.fromkeys(words), "errors": None, "request_id": None}
        assert one | ignored == other | ignored
    varying = ("X-Request-ID", "Content-Length", "Content-Language")
    assert [pair for pair in english.headers if pair[0] not in varying] == [
        pair for pair in german.headers if pair[0] not in varying]


@pytest.mark.parametrize("body", [
    b"", b"{", b'{"a": 1,}', b'{"a" 1}', b'{"a": 1 "b"}', b'{} {}', b'{"a": "', b'"\\x"', b'"\n"', b"[]", b"\xff",
    b'{"a": 1, "a": 2}', b'{"a": NaN}', b'{"a": 1e999}', b'{"a": 99999999999999999999}', b'{"a": "\\u0000"}',
    b'{"a": "\\ud800"}', b'{"\\u0000": 1}', b"[" * 100, b"[" * 100_000], ids=lambda body: repr(body[:20]))
def test_a_body_that_is_no_json_is_refused_in_german(as_role, body):
    english, german = (as_role("editor").post("/api/articles", data=body, headers={
        "Content-Type": "application/json", "Accept-Language": language}) for language in ("en", "de"))
    same_in_german(english, german)


@pytest.mark.parametrize("body", [
    b"a,b\n", b"title,title\n", b"title\n1,2\n", b'title\n"1', b'title\n"1"2\n', b"\n", b"title\n\xff\n",
    b"title\n\0\n"], ids=repr)
def test_a_file_that_is_no_csv_is_refused_in_german(as_role, body):
    english, german = (as_role("admin").post("/api/articles/import", data=body, headers={
        "Content-Type": "text/csv", "Accept-Language": language}) for language in ("en", "de"))
    same_in_german(english, german)


def test_a_body_that_is_too_large_is_refused_in_german(as_role):
    body = b"x" * (2**20 + 1)
    english, german = (as_role("editor").post("/api/articles", data=body, headers={
        "Content-Type": "application/json", "Accept-Language": language}) for language in ("en", "de"))
    assert german.status_code == 413
    same_in_german(english, german)


def test_the_challenge_and_the_allowed_methods_are_not_translated(as_role):
    guest = as_role("guest")
    refused = guest.get("/api/articles?lang=de", headers={"Authorization": "Bearer x"})
    assert refused.headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'
    assert set(guest.patch("/api/articles?lang=de").headers["Allow"].split(", ")) == {"GET", "HEAD", "OPTIONS", "POST"}


def test_a_scope_that_is_missing_is_named_in_german(as_user):
    narrow = as_user("user", scope="read:comments")
    english, german = (narrow.get("/api/profile", headers={"Accept-Language": each}) for each in ("en", "de"))
    assert german.status_code == 403
    same_in_german(english, german)


def test_a_key_that_was_used_for_something_else_is_refused_in_german(as_role):
    editor, key = as_role("editor"), {"Idempotency-Key": "once"}
    assert editor.post("/api/articles", {**ARTICLE, "slug": "once"}, headers=key).status_code == 201
    english, german = (editor.post("/api/articles", {**ARTICLE, "slug": "twice"}, headers={
        **key, "Accept-Language": language}) for language in ("en", "de"))
    assert german.status_code == 422
    same_in_german(english, german)


def test_a_caller_who_asks_too_often_is_answered_in_german(app, as_role, monkeypatch):
    services = app.extensions["gatepost"]
    monkeypatch.setattr(services, "limits", Limits(replace(services.settings, rate_limits=True, address_units=1)))
    as_role("guest").get("/api/articles")
    answer = as_role("guest").get("/api/articles?lang=de")
    assert check_problem(answer, 429)["title"] == "Zu viele Anfragen"
    assert answer.headers["Retry-After"] in answer.json["detail"]


def test_what_must_be_sent_is_asked_for_in_german(app, as_role, there, monkeypatch):
    services = app.extensions["gatepost"]
    monkeypatch.setattr(services, "settings", replace(services.settings, require_if_match=True))
    answer = as_role("editor").patch(f"/api/articles/{there['article']}?lang=de", {"title": "T"})
    assert check_problem(answer, 428)["title"] == "If-Match ist erforderlich"


@pytest.mark.parametrize(("raised", "status", "title"), [
    (Unavailable("x"), 503, "Der Dienst ist nicht verfügbar"),
    (RuntimeError("x"), 500, "Interner Fehler"),
], ids=["unavailable", "internal error"])
def test_errors_of_the_server_are_answered_in_german(app, as_role, monkeypatch, raised, status, title):
    def fail():
        raise raised

    monkeypatch.setitem(app.view_functions, "health.live", fail)
    answer = as_role("guest").get("/api/health/live?lang=de")
    assert check_problem(answer, status)["title"] == title


def test_gone_is_answered_in_german(as_role, after_sunset):
    answer = as_role("guest").get("/api/ping?lang=de")
    assert check_problem(answer, 410)["detail"] == "Verwenden Sie /api/health."


def test_head_says_the_language_too(as_role):
    answer = as_role("guest").call("HEAD", "/api/nope?lang=de")
    assert (answer.status_code, answer.headers["Content-Language"], answer.data) == (404, "de", b"")


def test_what_a_client_sends_is_never_translated(as_role):
    shown = "This is not an id."
    answer = as_role("guest").get(f"/api/articles?lang=de&{quote(shown)}=1")
    assert answer.json["errors"][0]["parameter"] == shown
    assert shown in answer.json["detail"]


def test_a_file_that_is_refused_is_refused_in_german(as_role):
    body = b'{"slug": "No Slug"}\n'
    english, german = (as_role("editor").post("/api/articles/import", data=body, headers={
        **NDJSON, "Accept-Language": language}) for language in ("en", "de"))
    assert german.json["detail"] == "1 Zeile kann nicht importiert werden; es wurde nichts importiert."
    same_in_german(english, german)
