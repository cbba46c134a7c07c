"""Users on the page *Rules*: one user as a column, and pages of the users who have rules of their own."""

from __future__ import annotations

import re
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest

from blueprints.policy.pages.rules import PERSONS
from tests.apps import Given
from tests.http.console.pages import visit
from tests.http.console.tables import HOSTILE, RULES, SCRIPT, seen, table


@pytest.fixture
def admin(app):
    return visit(app, "admin")


@pytest.fixture(scope="module")
def personal(app, under):
    """An app whose rules name `ann`, `bob` and a user of another tenant, with hostile texts."""
    given, elsewhere = Given(app, "default"), Given(app, "other")
    ann, bob = given.user("user", name="Ann Arbor"), given.user("editor", name=HOSTILE)
    far = elsewhere.user("user", name="Ann Afar")
    lines = (f"# {SCRIPT}\np, user:{ann.id}, article.publish, own, allow\n"
             f"p, user:{ann.id}, article.view, published, deny\np, user:{bob.id}, article.archive, own, allow\n"
             f"p, user:{far.id}, article.archive, own, allow\np, editor, article.submit, office_hours, deny\n")
    made = under("", {"articles.csv": lines, "roles.csv": f"g, user:{ann.id}, moderator\n"})
    return SimpleNamespace(app=made, ann=ann, bob=bob, far=far)


def test_a_person_is_one_more_column_with_their_own_lines_below(personal):
    admin = visit(personal.app, "admin")
    for person in (personal.ann.id, personal.ann.email):
        found = table(admin.get(f"{RULES}?{urlencode({'person': person, 'resource': 'article'})}"))
        assert found.columns[0].startswith("Ann Arbor") and len(found.columns) == 10
        cells = {row.head: row.cells[0] for row in found.rows}
        assert cells["publish"].text.endswith("article.publish: own")
        assert cells["view"].text.endswith("always not published"), "always, of the role that was lent"
        assert (cells["archive"].text, cells["publish"].cell) == (
            "never", f"user:{personal.ann.id} article.publish")
    text = seen(admin, person=personal.ann.id, resource="order").text
    assert "3 rules name this user." in text and "Rules about Ann Arbor" in text
    assert "deny article.view published" in text and "This user also has the permissions of the role moderator." in text


def test_the_lines_of_a_person_are_told_apart_from_those_of_the_role(personal):
    admin, key = visit(personal.app, "admin"), f"user:{personal.ann.id}"
    found = seen(admin, person=personal.ann.id, cell=f"{key} article.update")
    assert "through the role user" in found.text
    assert any(link.startswith(f"/console/why?as={personal.ann.id}") for link in found.links)
    assert "through the role" not in seen(admin, person=personal.ann.id, cell=f"{key} article.publish").text


def test_a_rule_names_the_users_whom_the_reader_may_see_and_shortens_the_ids_of_others(personal):
    text = visit(personal.app, "admin").get("/console/people/unused").text
    named = re.findall(r'user:<bdi title="([^"]+)">([^<]+)</bdi>, article', text)
    assert (personal.ann.id, "Ann Arbor") in named and {id for id, _ in named} == {personal.ann.id, personal.bob.id}
    assert "<script>alert" not in text and personal.far.id not in text


def test_a_part_of_a_name_finds_persons_with_lines_of_their_own(personal):
    admin = visit(personal.app, "admin")
    links = seen(admin, person="ARBOR").links
    assert [link for link in links if "person=0" in link] == [f"?person={personal.ann.id}"]
    assert {f"?person={one.id}" for one in (personal.ann, personal.bob)} <= set(seen(admin).links)


def test_somebody_without_lines_of_their_own_has_the_column_of_the_role(admin, given):
    eve = given.user("editor", name="Eve")
    found = table(admin.get(f"{RULES}?{urlencode({'person': eve.email})}"))
    editor = found.columns.index("editor")
    assert all(row.cells[0].text.partition(": ")[2] == row.cells[editor].text.partition(": ")[2]
               for row in found.rows)
    assert "No rule names this user." in seen(admin, person=eve.id).text


def test_nobody_of_another_tenant_is_told(personal):
    admin = visit(personal.app, "admin")
    for query in ({}, {"person": "Ann"}, {"person": personal.ann.id}, {"cell": "editor article.archive"},
                  {"person": personal.far.id}, {"person": personal.far.email}):
        text = admin.get(f"{RULES}?{urlencode(query)}").text
        assert "Afar" not in text
        assert (personal.far.id in text) == (personal.far.id in query.values()), "but as it was typed"


def test_hostile_names_and_comments_are_texts(personal):
    admin = visit(personal.app, "admin")
    for query in ({}, {"person": personal.bob.id}, {"person": personal.ann.id,
                                                    "cell": f"user:{personal.ann.id} article.publish"}):
        text = admin.get(f"{RULES}?{urlencode(query)}").text
        assert "<script>alert" not in text and "\N{RIGHT-TO-LEFT OVERRIDE}" not in text
        assert "&lt;script&gt;alert(1)" in text
    assert "\\u202eevil" in admin.get(RULES).text


def test_what_is_denied_is_marked(personal):
    text = seen(visit(personal.app, "admin"), cell="editor article.submit").text
    assert "not office_hours" in text and "p, editor, article.submit, office_hours, deny" in text


def test_hundreds_of_persons_come_page_by_page(app, under):
    given = Given(app, "default")
    people = [given.user(name=f"Person {number:03}") for number in range(2 * PERSONS + 10)]
    lines = "".join(f"p, user:{one.id}, article.publish, own, allow\n" for one in people)
    admin, offsets, found = visit(under("", {"articles.csv": lines}), "admin"), [0], []
    while offsets:
        page = seen(admin, offset=offsets.pop())
        shown = [link for link in page.links if link.startswith("?person=")]
        assert len(shown) <= PERSONS
        found += shown
        assert f"of {len(people)}" in page.text
        offsets += [int(link.rpartition("=")[2]) for link in page.links
                    if link.startswith("?offset=") and int(link.rpartition("=")[2]) >= len(found)]
    assert found == [f"?person={one.id}" for one in people]
