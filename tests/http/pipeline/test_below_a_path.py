"""A path in `public_url`: all links of the service are below this path, which a proxy removes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from flask import Flask
from werkzeug.test import Client

from tests.apps import PASSWORD, Given, close, make_app, new_instance
from tests.crawl import ADMIN, Crawl, Send, crawled
from tests.databases import new_database
from tests.running import ROOT, SERVICE

BASE = "http://intranet.test/gate"
PAGES = sorted((ROOT / "blueprints").rglob("*.html"))
# These need parameters, a change of the rules, a finished job, a setting, a password manager, or a second factor.
NOT_COME_TO = {
    "/.well-known/change-password", "/.well-known/jwks.json", "/api/admin/policy/explain",
    "/api/admin/policy/explain/<id>", "/api/admin/policy/versions/<version>", "/api/admin/policy/visible",
    "/api/admin/policy/who", "/api/jobs/<id>/file", "/console/history/<version>/revert",
    "/console/login/code/<token>", "/console/people/<id>/remove-second-factor", "/console/<path:unknown>", "/metrics"}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Flask]:
    url = new_database("sqlite", request)
    folder: Path = new_instance(tmp_path_factory.mktemp("below") / "instance", url, "default")
    made = make_app(folder, url, public_url=BASE, policy_edit="on")
    given = Given(made, "default")
    admin = given.user("admin", email=ADMIN, password=PASSWORD)
    for _ in range(30):
        given.article("published")
    given.category()
    given.comment()
    given.contact_message()
    given.order()
    given.page()
    given.service_token(admin)
    tasks = {task.name: task for task in made.extensions["gatepost"].background._tasks}
    tasks["writing the policy history"].attempt()
    yield made
    close(made)


def through_a_proxy(app: Flask) -> Send:
    """Removes the path, and answers nothing outside of it."""
    client = Client(app, use_cookies=False)

    def send(method, path, headers, body):
        parts = urlsplit(path)
        if not parts.path.startswith("/gate/"):
            return 404, [("Content-Type", "text/plain")], b"outside"
        answer = client.open(parts.path.removeprefix("/gate"), method=method, headers=dict(headers), data=body,
                             query_string=parts.query)
        return answer.status_code, list(answer.headers), answer.data

    return send


@pytest.fixture(scope="module")
def crawl(app: Flask) -> Crawl:
    return crawled(through_a_proxy(app), BASE, PASSWORD, rules=False)


def test_everything_that_is_handed_out_is_below_it_and_answers(crawl):
    assert "\n".join(crawl.faults) == ""


def test_every_page_of_the_service_was_come_to(app, crawl):
    routes = app.url_map.bind("intranet.test")
    came = {routes.match(urlsplit(url).path.removeprefix("/gate"), "GET")[0] for url in crawl.seen}
    assert {rule.rule for rule in app.url_map.iter_rules()
            if "GET" in rule.methods and rule.endpoint not in came} <= NOT_COME_TO


def test_the_cookie_of_a_login_goes_nowhere_else(app):
    form = {"email": ADMIN, "password": PASSWORD}
    for base, path in (("http://intranet.test", "/gate/console"), ("https://intranet.test", "/")):  # `__Host-` needs /
        answer = app.test_client().post("/console/login", data=form, base_url=base, headers={"Sec-Fetch-Site": "none"})
        assert f"; Path={path};" in answer.headers["Set-Cookie"] + ";"


@pytest.mark.parametrize("proxies", [0, 1])
def test_what_a_request_says_of_the_path_is_not_read(app, proxies, monkeypatch, tmp_path, request):
    url = new_database("sqlite", request)
    plain = make_app(new_instance(tmp_path / "instance", url, "default"), url, trusted_proxies=proxies)
    try:
        headers = {"X-Forwarded-Prefix": "/evil", "X-Script-Name": "/evil", "X-Forwarded-Host": "api.example.org"}
        for one, root in ((plain, ""), (app, "/gate")):
            answer = one.test_client().get("/console/audit", headers=headers)
            assert answer.headers["Location"] == f"{root}/console/login?next=/console/audit"
            assert one.test_client().get("/", headers=headers).json["links"]["health"] == f"{root}/api/health"
    finally:
        close(plain)


@pytest.mark.parametrize(("referer", "next"), [
    ("https://intranet.test/gate/console/people", "/console/people"), ("https://intranet.test/gate", "/console"),
    ("https://evil.example/gate/console//evil.example", "/console"), ("https://evil.example//evil.example", "/console"),
    ("https://intranet.test/gate/gate/console", "/console")])
def test_after_a_login_the_page_is_drawn_from_which_a_form_was_sent(app, referer, next):
    answer = app.test_client().post("/console/logout", headers={"Referer": referer, "Sec-Fetch-Site": "same-origin"})
    assert answer.headers["Location"] == f"/gate/console/login?next={next}"


def test_no_page_names_a_path_that_does_not_begin_with_that_of_the_service():
    path = re.compile(r'(?:href|src|action|formaction)="/[^"]*"|.{16}/console\b')
    named = [f"{file.name}: {found}" for file in PAGES for found in path.findall(file.read_text("utf-8"))
             if not found.endswith(("{{ root }}/console", '= root ~ "/console', 'has("/console'))]
    assert named == []


def test_no_module_but_one_knows_how_a_path_becomes_one_of_clients():
    told = {str(file.relative_to(ROOT)) for file in SERVICE
            if re.search(r"\.root_path|SCRIPT_NAME\"\] =|settings\.url\b|\[\"Location\"\] = f?\"|\"Location\": f?\"",
                         file.read_text("utf-8"))}
    assert told == {"gatepost/http/request/urls.py", "gatepost/http/pipeline/application.py",
                    "gatepost/commands/server.py"}
