"""*Why?*: the API's explanation, as a page."""

from __future__ import annotations

import pytest

from tests.http.console.pages import Seen, visit

HOSTILE = '"><script>alert(1)</script>\N{RIGHT-TO-LEFT OVERRIDE}'


def asked(visitor, **query):
    answer = visitor.get("/console/why", query_string={"lang": "en"} | query)
    assert answer.status_code == 200, answer.text
    return answer


def seen(visitor, **query):
    return Seen.of(asked(visitor, **query))


@pytest.fixture
def admin(app):
    return visit(app, "admin")


def test_what_is_allowed_names_the_line(admin):
    text = seen(admin, **{"as": "editor", "permission": "article.publish"}).text
    assert "editor may article.publish" in text and "Deciding rule" in text and "articles.csv:" in text


def test_what_is_refused_names_what_came_nearest_by_the_names_of_people(admin, given):
    ann, article = given.user(name="Ann Archer"), given.article("draft", owner_id=given.user(name="Bo Berg").id)
    text = seen(admin, **{"as": ann.email, "permission": "article.update", "id": article.id}).text
    assert f"Ann Archer, {ann.email} may not article.update on “{article.title}”" in text
    assert "Closest rules" in text and "Bo Berg" in text


def test_what_depends_on_the_object_says_so(admin):
    text = seen(admin, **{"as": "user", "permission": "article.update"}).text
    assert "depending on the object" in text and "Enter an object to get a definite answer." in text


@pytest.mark.parametrize(("query", "said"), [
    ({"as": "user", "permission": "article.publish"}, "status muss draft oder approved sein"),
    ({"as": "user", "permission": "article.update"}, "owner_id muss die Id des Aufrufers sein"),
    ({"as": "editor", "permission": "user.delete"}, "die Rolle der Person muss eine der Rollen des Aufrufers sein"),
    ({"as": "admin", "permission": "article.view"}, "jede Zeile"),
], ids=["state", "condition", "rank", "every row"])
def test_facts_are_said_in_german(query, said, admin):
    assert said in seen(admin, lang="de", **query).text


def test_the_reason_of_a_rule_in_code_is_said_in_german(admin, given):
    order = given.order(status="approved")
    text = seen(admin, lang="de", **{"as": "admin", "permission": "order.delete", "id": order.id}).text
    assert text.count("status ist approved: Nur eine") == 2, "as the reason, and among the rules"


@pytest.mark.parametrize(("query", "depends"), [
    ({"permission": "article.publish"}, True), ({"permission": "user.delete"}, True),
    ({"permission": "article.view"}, False), ({"permission": "stats.view"}, False)],
    ids=["state", "rank", "no rule in code", "no object"])
def test_what_a_rule_in_code_leaves_open_depends_on_the_object(query, depends, app):
    page = asked(visit(app, "developer"), **{"as": "owner"} | query)
    assert ("depending on the object" in page.text) == depends
    assert ('class="verdict if"' in page.text) == depends and "owner may" in Seen.of(page).text


def test_a_named_object_settles_what_a_rule_in_code_asks(admin, given):
    for status, kind in (("draft", "yes"), ("archived", "no")):
        page = asked(admin, **{"as": "owner", "permission": "article.publish", "id": given.article(status).id})
        assert f'class="verdict {kind}"' in page.text and "depending on the object" not in page.text


def test_a_name_finds_people_and_a_title_finds_objects(admin, given):
    cara = given.user(name="Cara Quill")
    article = given.article(title="An umbrella for two")
    found = seen(admin, **{"as": "quill", "permission": "article.view"})
    assert any(f"as={cara.id}" in link for link in found.links)
    found = seen(admin, **{"as": "user", "permission": "article.view", "id": "umbrella"})
    assert any(f"id={article.id}" in link and "as=user" in link for link in found.links)


@pytest.mark.parametrize(("query", "said"), [
    ({"as": "nobody-of-that-name", "permission": "article.view"}, "There is no such user or role"),
    ({"as": "user", "permission": "article.view", "id": "xyzzyxyzzy"}, "There is no such object"),
    ({"as": "user", "permission": "article.burn"}, "There is no such permission."),
    ({"as": "user", "permission": "article.view", "at": "teatime"}, "This is not a time"),
    ({"as": "user", "permission": "article.view", "ip": "nowhere"}, "This is not an IP address."),
    ({"as": "user", "permission": "article.view", "scope": "read:moons"}, "read:moons"),
], ids=["person", "object", "permission", "time", "address", "scope"])
def test_what_cannot_be_asked_is_said_in_words(query, said, admin):
    assert said in seen(admin, **query).text


def test_it_says_what_would_be_at_another_time(under):
    app = under(lines={"articles.csv": "p, support, article.publish, office_hours, allow"})
    asks, question = visit(app, "admin"), {"as": "support", "permission": "article.publish"}
    assert "support may article.publish" in seen(asks, **question, at="2026-11-20T12:00").text
    night = seen(asks, **question, at="2026-11-21T22:00")
    assert "support may not article.publish" in night.text and "2026-11-21 22:00" in night.text


def test_it_proposes_lines_and_leads_to_trying_them(admin, given):
    article = given.article("published")
    found = seen(admin, **{"as": "user", "permission": "article.publish", "id": article.id})
    assert "Rules that would allow it" in found.text
    assert any("add=p%2C+user%2C+article.publish%2C+published%2C+allow" in link or
               "add=p%2C%20user%2C%20article.publish%2C%20published%2C%20allow" in link for link in found.links)


def test_hostile_texts_are_texts(admin, given):
    user = given.user(name=HOSTILE[:60])
    article = given.article("draft", title=HOSTILE)
    answer = asked(admin, **{"as": user.email, "permission": "article.update", "id": article.id}).text
    assert "<script>alert" not in answer and "\N{RIGHT-TO-LEFT OVERRIDE}" not in answer and "\\u202e" in answer
    for name in ("as", "permission", "id", "at", "ip", "device", "scope"):
        query = {"as": "user", "permission": "article.view", name: HOSTILE}
        assert "<script>alert" not in asked(admin, **query).text


def test_another_tenant_s_people_and_objects_are_not_there(admin, elsewhere):
    other, article = elsewhere.user(name="Zed Elsewhere"), elsewhere.article(title="Zebra crossing")
    assert "no such" in seen(admin, **{"as": "Zed", "permission": "article.view"}).text
    assert "no such" in seen(admin, **{"as": "user", "permission": "article.view", "id": "Zebra"}).text
    assert other.email not in seen(admin, **{"as": other.id, "permission": "article.view"}).text
    assert article.title not in seen(admin, **{"as": "user", "permission": "article.view", "id": article.id}).text
