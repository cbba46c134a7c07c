"""The common parts of all console pages: headers, the frame in the caller's language, refusals as pages."""

from __future__ import annotations

import pytest

from blueprints.console.frame import readable, shortened, with_short_ids
from blueprints.console.navigation import entries
from models.engine.errors import Unavailable
from tests.apps import NO_ROW, ROLES
from tests.http.console.pages import Seen, visit

POLICY = {"default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "img-src": "'self' data:",
          "connect-src": "'self'", "form-action": "'self'", "frame-ancestors": "'none'", "base-uri": "'none'",
          "require-trusted-types-for": "'script'", "trusted-types": "console"}


def pages_of(app):
    return [rule.rule for rule in app.url_map.iter_rules()
            if rule.rule.startswith("/console") and "<" not in rule.rule and "GET" in rule.methods]


def test_a_page_is_kept_by_nobody_and_runs_and_shows_nothing_of_others(app):
    answer = visit(app, "admin").get("/console/why")
    told = dict(part.split(" ", 1) for part in answer.headers["Content-Security-Policy"].split("; "))
    assert told == POLICY
    assert (answer.headers["Cache-Control"], answer.headers["Referrer-Policy"], answer.headers["X-Frame-Options"]) == (
        "no-store", "same-origin", "DENY")
    assert "Cookie" in answer.headers["Vary"]


@pytest.mark.parametrize("role", ROLES)
def test_the_navigation_has_the_pages_that_a_role_may_see_and_no_other(role, app, as_role):
    visitor = visit(app, role)
    seen = Seen.of(visitor.get("/console", follow_redirects=True))
    for page in entries(app.extensions["gatepost"].registry.paths):
        answer = visitor.get(page.path)
        assert (page.path in seen.links) == (answer.status_code == 200), (page.path, answer.status_code)
        assert answer.status_code in (200, 303, 403)


def test_every_page_of_the_navigation_asks_for_the_permission_that_it_names(app):
    views = {rule.rule: app.view_functions[rule.endpoint].endpoint for rule in app.url_map.iter_rules()
             if "GET" in rule.methods}
    for page in entries(views):
        assert page.permission in (views[page.path].permission, None)


def test_no_page_is_in_the_description_of_the_api(client):
    assert not [path for path in client.get("/api/openapi.json").get_json()["paths"] if "console" in path]


@pytest.mark.parametrize("path", ["/console/nothing", "/console/static/nothing.css", "/console/static/..%2fframe.py"])
def test_what_is_not_there_is_a_problem_document(path, app):
    assert visit(app, "admin").get(path).status_code == 404


def test_a_refused_page_says_why_and_how_to_go_on(app):
    answer = visit(app, "user").get("/console/why")
    seen = Seen.of(answer)
    assert answer.status_code == 403 and "/console" in seen.links and "forbidden" in seen.text
    assert "You have the role user. An administrator can change your role, or the rules." in seen.text
    missing = Seen.of(visit(app, "admin").get(f"/console/people/{NO_ROW}"))
    assert "You have the role" not in missing.text, "no rule refused this"


def test_pages_speak_the_language_of_the_browser(app):
    answer = visit(app, "admin").get("/console/why", headers={"Accept-Language": "de"})
    assert 'lang="de"' in answer.text and "Abmelden" in answer.text


def test_a_page_asks_for_the_parameters_that_it_knows(app):
    assert visit(app, "admin").get("/console/why?whatever=1").status_code == 400


@pytest.mark.parametrize("path", ["/console", "/console/why", "/console/login"])
def test_head_is_answered_like_get(path, app):
    visitor = visit(app, "admin")
    assert visitor.client.head(path).status_code == visitor.get(path).status_code


@pytest.mark.parametrize(("text", "seen"), [
    ("plain", "plain"), ("a‮live", "a\\u202elive"), ("tab\there", "tab\\u0009here"), ("two\nlines", "two\nlines"),
    ("zero​width", "zero\\u200bwidth"), ("grüße 漢字 🎉", "grüße 漢字 🎉"),
])
def test_no_character_of_a_text_changes_what_is_seen(text, seen):
    assert readable(text) == seen


def test_ids_are_shown_by_their_ends_and_whole_on_asking():
    id = "01a20e65-5089-73da-8633-11a8483f438f"
    assert shortened(id) == "…483f438f"
    assert str(with_short_ids(f"<b> {id}")) == f'&lt;b&gt; <span title="{id}">…483f438f</span>'


@pytest.mark.parametrize("path", ["/console", "/console/why", "/console/login", "/console/static/console.css"])
def test_a_database_that_is_away_is_said_on_a_page(path, app, monkeypatch):
    visitor = visit(app, "admin")
    database = app.extensions["gatepost"].database

    def connected():
        raise Unavailable("away")

    monkeypatch.setattr(database, "connected", connected)
    answer = visitor.get(path)
    assert answer.status_code == (503 if "static" not in path else 200), answer.text
    assert path == "/console/static/console.css" or Seen.of(answer).tags
