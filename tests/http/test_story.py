"""What the service is for, as one story: an article from its draft to its readers, and the callers who never see it."""

from __future__ import annotations

import pytest

from tests.apps import PASSWORD, Caller, Scenario, scenarios
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


@scenarios(
    Scenario("a guest reads what is published", "guest", "GET", "/api/articles/{published}"),
    Scenario("a guest does not find a draft", "guest", "GET", "/api/articles/{draft}", status=404, code="not_found"),
    Scenario("a guest changes nothing", "guest", "PATCH", "/api/articles/{published}", {"title": "X"}, status=401,
             code="unauthenticated"),
    Scenario("another user reads what is published", "user", "GET", "/api/articles/{published}"),
    Scenario("another user changes nothing", "user", "PATCH", "/api/articles/{published}", {"title": "X"},
             status=403, code="forbidden"),
    Scenario("another user deletes nothing", "user", "DELETE", "/api/articles/{published}", status=403,
             code="forbidden"),
    Scenario("another user publishes nothing", "user", "POST", "/api/articles/{published}/publish", status=403,
             code="forbidden"),
    Scenario("another user does not find a draft", "user", "GET", "/api/articles/{draft}", status=404,
             code="not_found"),
    Scenario("another user cannot change a draft that is not found", "user", "PATCH", "/api/articles/{draft}",
             {"title": "X"}, status=404, code="not_found"),
    Scenario("a manager is another user here", "manager", "PATCH", "/api/articles/{published}", {"title": "X"},
             status=403, code="forbidden"),
    Scenario("an editor reads a draft", "editor", "GET", "/api/articles/{draft}"),
    Scenario("an admin reads a draft", "admin", "GET", "/api/articles/{draft}"),
)
def test_each_role_may_do_to_another_users_articles_what_the_table_says(as_role, names, scenario):
    scenario.play(as_role(scenario.who), **names)


@pytest.mark.parametrize("role", ["user", "editor", "owner", "admin"])
@pytest.mark.parametrize("which", ["published", "draft"])
@pytest.mark.parametrize(("method", "path"), [
    ("GET", ""), ("PUT", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/publish"), ("GET", "/shares"),
    ("PUT", "/shares"),
])
def test_no_role_of_another_tenant_finds_anything(as_role, names, role, which, method, path):
    bodies = {"PUT": {"title": "X", "slug": "x", "body": "X"}, "PATCH": {"title": "X"}}
    if path == "/shares":
        bodies = {"PUT": {"grantee": "role:user", "right": "manage"}}
    body = [bodies[method]] if method in bodies else []
    answer = as_role(role, tenant="other").call(method, f"/api/articles/{names[which]}{path}", *body)
    # A role that the policy allows this for no object is refused before the row is looked up.
    if answer.status_code != 403:
        check_problem(answer, 404, "not_found")
    else:
        assert role == "user"


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
