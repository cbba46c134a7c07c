"""An article from its draft to its readers, as one story. The other tenant never sees it.

The access matrix tests the permissions of each role on articles of others.
"""

from __future__ import annotations

import pytest

from tests.apps import PASSWORD, Caller
from tests.http.described import check_problem


@pytest.fixture(scope="module")
def author(app, given):
    """A user who logged in with e-mail and password, as a client of the service does."""
    user = given.user("editor", password=PASSWORD)
    answer = app.test_client().post("/api/login", json={"email": user.email, "password": PASSWORD})
    assert answer.status_code == 200
    return Caller(app.test_client(), user, answer.get_json()["access_token"])


@pytest.fixture(scope="module")
def names(author):
    """The ids of the author's two articles: one published, one not."""
    made = {}
    for slug in ("published", "draft"):
        answer = author.post("/api/articles", {"title": slug.title(), "slug": f"story-{slug}", "body": "Words."})
        assert answer.status_code == 201
        made[slug] = answer.get_json()["id"]
    assert author.post(f"/api/articles/{made['published']}/publish").status_code == 200
    return made


def test_an_article_is_written_found_published_and_read_by_a_guest(author, as_role):
    made = author.post("/api/articles", {"title": "First light", "slug": "first-light", "body": "Morning."})
    assert made.status_code == 201
    article = made.get_json()
    assert (article["status"], article["owner_id"], article["version"]) == ("draft", author.id, 1)
    assert made.headers["Location"] == f"/api/articles/{article['id']}"

    listed = author.get(f"/api/articles?owner_id={author.id}").get_json()["items"]
    assert article in listed
    assert as_role("guest").get(f"/api/articles/{article['id']}").status_code == 404

    published = author.post(f"/api/articles/{article['id']}/publish")
    assert (published.status_code, published.get_json()["status"]) == (200, "published")
    read = as_role("guest").get(f"/api/articles/{article['id']}")
    public = {name: value for name, value in published.get_json().items() if name != "department"}
    assert (read.status_code, read.get_json()) == (200, public)


@pytest.mark.parametrize("role", ["user", "editor", "owner", "admin"])
def test_no_role_of_another_tenant_finds_anything(as_role, names, role):
    body, share = {"title": "X", "slug": "x", "body": "X"}, {"grantee": "role:user", "right": "manage"}
    for id in names.values():
        for method, path, *sent in (("GET", ""), ("PUT", "", body), ("PATCH", "", {"title": "X"}), ("DELETE", ""),
                                    ("POST", "/publish"), ("GET", "/shares"), ("PUT", "/shares", share)):
            answer = as_role(role, tenant="other").call(method, f"/api/articles/{id}{path}", *sent)
            # A role without this permission for any object is refused before the row is looked up.
            if answer.status_code != 403:
                check_problem(answer, 404, "not_found")
            else:
                assert role == "user", (method, path)


@pytest.mark.parametrize("role", ["user", "editor", "owner", "admin"])
def test_another_tenant_lists_and_counts_nothing(as_role, names, role):
    caller = as_role(role, tenant="other")
    page = caller.get("/api/articles?page=1").get_json()
    assert (page["items"], page["total"]) == ([], 0)
    assert caller.get("/api/articles?limit=100").get_json()["items"] == []
    assert caller.get("/api/articles?slug=story-published").get_json()["items"] == []


def test_another_tenant_may_use_the_same_slug_and_cannot_refer_across(as_role, given, names):
    foreign = as_role("editor", tenant="other")
    made = foreign.post("/api/articles", {"title": "T", "slug": "story-published", "body": "B"})
    assert made.status_code == 201
    category = given.category()
    answer = foreign.post("/api/articles", {"title": "T", "slug": "t", "body": "B", "category_id": category.id})
    check_problem(answer, 400, "invalid_reference")
    assert foreign.delete(f"/api/articles/{made.get_json()['id']}").status_code == 204
