"""The start page: health, refusals and next steps for administrators; others go to their data."""

from __future__ import annotations

import re

import pytest

from blueprints.console import overview
from gatepost import Problem
from models.engine.errors import Unavailable
from models.tables import demo_row
from models.tables.backup import begin, note_made
from models.tables.user import User
from tests.apps import Given, close, make_app
from tests.http.console.pages import visit

PATH = "/console/overview"
HOSTILE = '"><script>alert(1)</script>{{ 7*7 }}'


def read(visitor, language: str = "en") -> str:
    answer = visitor.get(PATH, query_string={"lang": language})
    assert answer.status_code == 200, answer.text
    return answer.text


def steps(html: str) -> dict[str, bool]:
    """Returns the title of each next step, and whether it is done."""
    section = re.search(r'<section[^>]*aria-labelledby="next">.*?</section>', html, re.DOTALL)
    found = re.findall(r"<li><p>(.*?)</p>", section.group(), re.DOTALL) if section else []
    return {re.sub(r"<[^>]+>|done:", "", one).strip(): "done:" in one for one in found}


@pytest.mark.parametrize(("role", "status"), [
    ("user", 403), ("support", 403), ("editor", 403), ("manager", 403), ("developer", 200), ("owner", 200),
    ("admin", 200)])
def test_whoever_may_view_the_rules_sees_the_overview(role, status, app):
    answer = visit(app, role).get(PATH)
    assert answer.status_code == status
    assert visit(app).get(PATH).status_code == 303


def test_each_part_is_for_those_who_may_see_it(app):
    admin, developer = read(visit(app, "admin")), read(visit(app, "developer"))
    assert "Healthy" in admin and "Healthy" in developer
    assert "Recent refusals" in admin
    assert "Recent refusals" not in developer, "developers may not view the audit log"
    assert "Add a user" not in steps(developer), "developers may not create users"


def test_recent_refusals_are_listed_with_names_and_escaped(app, given, as_user):
    refused = given.user("user", name=HOSTILE)
    assert as_user(refused).post("/api/products", {"name": "N", "sku": "n", "price": 1, "currency": "EUR"}
                                 ).status_code == 403
    app.extensions["gatepost"].audit_writer.flush(early=True)
    html = read(visit(app, "admin"))
    assert "product.create" in html
    assert "<script>alert" not in html
    assert "&gt;&lt;script&gt;alert(1)" in html
    assert "/console/audit?result=refused" in html


def test_next_steps_are_ticked_off_and_then_go_away(app, given: Given, monkeypatch):
    services = app.extensions["gatepost"]
    admin = visit(app, "admin")
    with given.database.connected():
        services.database.transact(lambda: demo_row.mark(given.tenant_id, User))
    html = read(admin)
    assert steps(html) == {"Make the first backup": False, "Change a rule": False, "Add a user": False}
    assert "gatepost backup" in html and 'href="/console/try"' in html
    given.user("user")
    assert steps(read(admin))["Add a user"] is True
    services.database.transact(lambda: note_made(begin() or "", "/backups/one", "0" * 64, 1, 0.1))
    assert steps(read(admin))["Make the first backup"] is True
    monkeypatch.setitem(overview._steps, "/console/try", overview.Step(
        "/console/try", "policy.view", overview._steps["/console/try"].title, overview._steps["/console/try"].about,
        lambda call: True))
    assert steps(read(admin)) == {}


@pytest.mark.parametrize("error", [Problem("forbidden", "Not <now>."), Unavailable("away")])
def test_a_part_that_fails_says_so_and_the_others_stay(error, app, monkeypatch):
    def fails(call):
        raise error

    name = "overview_health.html"
    monkeypatch.setitem(overview._parts, name, overview.Part(PATH, "policy.view", name, fails))
    monkeypatch.setitem(overview._steps, "/console/running", overview.Step(
        PATH, "policy.view", overview._steps["/console/running"].title, overview._steps["/console/running"].about,
        fails))
    html = read(visit(app, "admin"))
    assert ("Not &lt;now&gt;." if isinstance(error, Problem) else "The database did not answer.") in html
    assert "Recent refusals" in html
    assert "Make the first backup" not in steps(html)


def test_without_the_features_of_its_parts_it_has_the_others(instance_folder, database_url):
    made = make_app(instance_folder, database_url, without=["health", "public", "audit"])
    try:
        html = read(visit(made, "admin"))
        assert "Healthy" not in html and "Recent refusals" not in html
        assert "Change a rule" in steps(html)
    finally:
        close(made)


def test_it_is_in_german_too(app):
    html = read(visit(app, "admin"), "de")
    assert "Übersicht" in html and "Letzte Ablehnungen" in html
