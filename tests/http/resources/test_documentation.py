"""The pages with the OpenAPI documents work without any other host."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from urllib.parse import urljoin

import pytest

from tests.apps import close, make_app, new_instance
from tests.databases import new_database
from tests.http.described import check_headers, check_problem


@pytest.fixture(scope="module")
def database_url(request: pytest.FixtureRequest) -> str:
    """One database is enough: the documents come only from the code."""
    return new_database("sqlite", request)


def test_the_page_refers_to_nothing_but_its_own_assets(client):
    page = client.get("/docs")
    assert page.mimetype == "text/html"
    references = re.findall(r'(?:src|href)="([^"]*)"', page.text)
    assert references
    for reference in references:
        # Relative links, so that they work below any path.
        assert reference.startswith(("docs/", "api/openapi", "data:", "#")), reference
        if reference.startswith(("docs/", "api/")):
            assert client.get(f"/{reference}").status_code == 200


def test_the_list_of_errors_refers_to_nothing_but_the_pages_beside_it(client):
    references = re.findall(r'(?:src|href)="([^"]*)"', client.get("/docs/errors").text)
    assert {"../docs#start", "page.css", "../api/openapi.json"} <= set(references)
    for reference in references:
        if not reference.startswith("data:"):
            assert client.get(urljoin("/docs/errors", reference)).status_code == 200, reference


def test_a_reader_without_scripts_is_told_how_to_log_in_and_where_the_description_is(client):
    page = client.get("/docs").text
    assert re.search(r'<noscript>.*<a href="api/openapi.json">.*</noscript>', page, re.S)
    assert '/api/login' in page and '"password"' in page
    for form in re.findall(r"<form[^>]*>", page):
        assert 'method="post"' in form, "a password would stand in the URL"


NEVER = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
PAGES = {
    "/docs": "script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src data:; ",
    "/docs/errors": "style-src 'self'; img-src data:; ",
    "/api/articles": "",
    "/nope": "",
}


@pytest.mark.parametrize("path", PAGES)
def test_a_browser_loads_for_an_answer_what_it_needs_and_nothing_else(client, path):
    answer = client.get(path)
    assert answer.headers["Content-Security-Policy"] == f"default-src 'none'; {PAGES[path]}{NEVER}"
    assert (answer.headers["X-Frame-Options"], answer.headers["Referrer-Policy"]) == ("DENY", "no-referrer")


@pytest.mark.parametrize("path", ["/", "/docs", "/docs/errors"])
def test_a_page_uses_no_device_and_is_held_by_no_other_page(client, path):
    headers = client.get(path, headers=BROWSER).headers
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert "camera=()" in headers["Permissions-Policy"]
    assert "geolocation=()" in headers["Permissions-Policy"]


def test_the_page_prepares_what_rapidoc_reads_only_once(client):
    page, script = client.get("/docs").text, client.get("/docs/page.js")
    assert script.mimetype == "text/javascript"
    # In this order: the page chooses colours before RapiDoc draws anything.
    assert page.index('src="docs/page.js" type="module"') < page.index('src="docs/rapidoc-min.js" defer')


def test_no_script_of_the_page_stores_anything(client):
    for name in ("page.js", "session.js", "explorer.js", "description.js"):
        script = client.get(f"/docs/{name}").text
        assert not re.search(r"localStorage|sessionStorage|indexedDB|document\.cookie|\.innerHTML", script), name
    assert 'persist-auth="false"' in client.get("/docs").text

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


@pytest.mark.parametrize("accept", [None, "*/*", "application/json", "application/json, text/html;q=0.9", ";;;"])
def test_the_root_links_to_the_documents_for_programs(client, accept):
    answer = client.get("/", headers={} if accept is None else {"Accept": accept})
    check_headers(answer)
    assert answer.get_json() == {"links": {
        "documentation": "/docs", "openapi": "/api/openapi.json", "health": "/api/health"}}
    assert "Accept" in answer.headers["Vary"].split(", ")
    for path in answer.get_json()["links"].values():
        assert client.get(path).status_code == 200


@pytest.mark.parametrize("accept", [BROWSER["Accept"], "text/html", "text/*"])
def test_browsers_get_a_page_that_leads_there(client, accept):
    answer = client.get("/", headers={"Accept": accept})
    check_headers(answer)
    assert answer.mimetype == "text/html"
    assert "Accept" in answer.headers["Vary"].split(", ")
    assert re.findall(r'<a href="([^"]*)"', answer.text) == ["/docs", "/api/openapi.json", "/api/health"]
    assert client.get("/", headers={"Accept": accept, "If-None-Match": answer.headers["ETag"]}).status_code == 304


def test_the_front_page_runs_no_script_and_applies_no_style_but_its_own(client):
    answer = client.get("/", headers=BROWSER)
    style, = re.findall("<style>(.*?)</style>", answer.text, re.S)
    allowed = b64encode(sha256(style.encode()).digest()).decode()
    assert answer.headers["Content-Security-Policy"] == (
        f"default-src 'none'; style-src 'sha256-{allowed}'; img-src data:; {NEVER}")
    assert "style=" not in answer.text
    assert "<script" not in answer.text


def test_the_front_page_is_there_for_head_and_in_no_other_type(client):
    head, got = client.head("/", headers=BROWSER), client.get("/", headers=BROWSER)
    assert (head.status_code, head.data, head.headers["ETag"]) == (200, b"", got.headers["ETag"])
    check_problem(client.get("/", headers={"Accept": "text/plain"}), 406, "not_acceptable")
    check_problem(client.get("/", headers={"Accept": "application/json;q=0, text/html;q=0"}), 406, "not_acceptable")


def test_the_setting_turns_the_documents_off(database_url, tmp_path):
    app = make_app(new_instance(tmp_path / "instance", database_url, "default"), database_url, docs="off")
    for path in ("/docs", "/docs/errors", "/docs/page.css", "/api/openapi.json", "/api/openapi-3.0.json"):
        check_problem(app.test_client().get(path), 404, "not_found")
    assert app.test_client().get("/").get_json() == {"links": {"health": "/api/health"}}
    assert re.findall(r'<a href="([^"]*)"', app.test_client().get("/", headers=BROWSER).text) == ["/api/health"]
    close(app)


@pytest.mark.parametrize(("settings", "headers", "shown"), [
    ({}, {"Host": "gate.example:8000"}, "http://gate.example:8000"),
    ({}, {"Host": "$(reboot).example"}, "http://localhost"),
    ({"public_url": "https://api.example.org/gate"}, {"Host": "other.example"}, "https://api.example.org/gate"),
    ({"trusted_proxies": 1}, {"X-Forwarded-Host": "front.example", "X-Forwarded-Proto": "https"},
     "https://front.example")], ids=["host", "no host", "public_url", "proxy"])
def test_the_commands_of_the_page_name_the_service_as_its_reader_reaches_it(
        database_url, tmp_path, settings, headers, shown):
    app = make_app(new_instance(tmp_path / "instance", database_url, "default"), database_url, **settings)
    page = app.test_client().get("/docs", headers=headers).text
    assert set(re.findall(r'<span class="base">([^<]*)</span>', page)) == {shown}
    close(app)
