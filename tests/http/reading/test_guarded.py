"""Hidden fields: filters, sorts, fields, searches, counts, order, cursors and errors do not reveal them.

Only the user and callers with `user.manage` see the user's e-mail, department, groups, state and times.
"""

import pytest


@pytest.fixture(scope="module")
def people(given, as_user):
    """Two users: `me` is an ordinary user who may not see the hidden fields of `spy`."""
    me = as_user("user", name="Me", email="me@secret.example", department="research", groups=["readers"])
    spy = given.user("user", name="Spy", email="spy@secret.example", department="secrets", active=False,
                     groups=["spies"], created_at="2020-01-01T00:00:00.000000Z")
    return {"me": me, "spy": spy}


def names(answer):
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return [row["name"] for row in answer.get_json()["items"]]


@pytest.mark.parametrize("query", [
    "email=spy@secret.example", "email=nobody@secret.example", "email__startswith=spy", "department=secrets",
    "department=nowhere", "active=false", "created_at__lt=2021-01-01T00:00:00Z", "email=spy@secret.example&name=Spy",
    "groups__has=spies", "groups__has=none", "name=Spy&active=false", "name__contains=py&department__isnull=false",
])
def test_a_filter_on_a_guarded_field_finds_no_other_user(people, query):
    answer = people["me"].get(f"/api/users?{query}")
    assert names(answer) == []
    assert answer.get_json()["has_next"] is False
    counted = people["me"].get(f"/api/users?{query}&page=1").get_json()
    assert (counted["items"], counted["total"], counted["has_next"]) == ([], 0, False)


@pytest.mark.parametrize("query", ["email=me@secret.example", "email__startswith=", "email__startswith=m",
                                   "active=true", "groups__has=readers",
                                   "department=research", "created_at__gte=2021-01-01T00:00:00Z",
                                   "department__isnull=false"])
def test_a_filter_on_a_guarded_field_finds_oneself(people, query):
    if query == "email__startswith=":
        assert people["me"].get(f"/api/users?{query}").status_code == 400
    else:
        assert names(people["me"].get(f"/api/users?{query}")) == ["Me"]
        assert people["me"].get(f"/api/users?{query}&page=1").get_json()["total"] == 1


@pytest.mark.parametrize("query", ["email=spy@secret.example", "department=secrets", "active=false&name=Spy",
                                   "groups__has=spies",
                                   "created_at__lt=2021-01-01T00:00:00Z"])
def test_a_role_that_manages_users_filters_by_every_field(people, as_role, query):
    for role in ("owner", "admin"):
        assert names(as_role(role).get(f"/api/users?{query}")) == ["Spy"]


@pytest.mark.parametrize("sort", ["email", "-email", "created_at", "-created_at", "updated_at", "-updated_at"])
def test_a_user_cannot_sort_by_a_field_that_they_do_not_see(people, as_role, sort):
    for more in ("", "&email=spy@secret.example", "&email=nobody@secret.example", "&name=Spy", "&page=1"):
        answer = people["me"].get(f"/api/users?sort={sort}{more}")
        assert (answer.status_code, answer.get_json()["code"]) == (400, "invalid_parameter")
        assert answer.get_json()["errors"][0]["parameter"] == "sort"
    assert as_role("admin").get(f"/api/users?sort={sort}").status_code == 200


@pytest.mark.both_databases
def test_a_cursor_of_an_administrator_shows_a_user_nothing_more(people, as_role):
    admin, me = as_role("admin"), people["me"]
    sorted_by_email = admin.get("/api/users?sort=email&limit=1").get_json()["next_cursor"]
    assert me.get(f"/api/users?sort=email&cursor={sorted_by_email}").status_code == 400
    assert me.get(f"/api/users?cursor={sorted_by_email}").get_json()["code"] == "cursor_mismatch"
    by_state = admin.get("/api/users?department=secrets&limit=1&sort=name").get_json()
    assert [row["name"] for row in by_state["items"]] == ["Spy"]
    cursor_of_admin = admin.get("/api/users?limit=1&sort=name").get_json()["next_cursor"]
    rows = me.get(f"/api/users?limit=100&sort=name&cursor={cursor_of_admin}").get_json()["items"]
    assert all(row.keys() == {"id", "name", "role"} for row in rows if row["name"] != "Me")


GUARDED = ("tenant_id", "owner_id", "version", "created_at", "updated_at", "email", "department", "groups", "active")


def test_fields_that_are_named_are_still_hidden(people):
    rows = people["me"].get(f"/api/users?limit=100&fields=id,name,{','.join(GUARDED)}").get_json()["items"]
    assert {row["name"] for row in rows} >= {"Me", "Spy"}
    for row in rows:
        assert set(row) == ({"id", "name", *GUARDED} if row["name"] == "Me" else {"id", "name"})
    item = people["me"].get(f"/api/users/{people['spy'].id}?fields=email,groups").get_json()
    assert item == {}


def test_what_is_hidden_is_hidden_in_every_representation(people, given):
    spy = people["spy"]
    article = given.article(owner_id=spy.id)
    for path in (f"/api/users/{spy.id}", f"/api/articles/{article.id}?expand=owner", "/api/users?name=Spy",
                 f"/api/articles?owner_id={spy.id}&expand=owner"):
        text = people["me"].get(path).get_data(as_text=True)
        assert spy.id in text
        assert "secret" not in text
        assert "2020-01-01" not in text


@pytest.mark.parametrize("query", ["password=x", "password_hash=x", "password_hash__startswith=$argon2",
                                   "token_version=0",
                                   "groups=x", "sort=password_hash", "fields=password", "fields=password_hash",
                                   "fields=token_version", "q=spy", "expand=owner"])
def test_a_field_that_no_role_sees_cannot_be_asked_for(as_role, query):
    assert as_role("admin").get(f"/api/users?{query}").status_code == 400


# Rows that the caller may not see


@pytest.fixture(scope="module")
def hidden(given):
    """One draft between two published articles, in a category of its own, and a comment that is not approved."""
    category = given.category(slug="attic")
    given.article(title="Middle a", category_id=category.id)
    draft = given.article("draft", title="Middle b secret", slug="secret-slug", body="The treasure is buried",
                          category_id=category.id, owner_id=given.user().id)
    given.article(title="Middle c", category_id=category.id)
    given.comment("pending", body="A treasure, they say")
    return draft


@pytest.mark.parametrize("query", [
    "slug=secret-slug", "slug=no-such-slug", "title=Middle b secret", "title__startswith=Middle b",
    "title__contains=secret",
    "status=draft", "status__in=draft,in_review", "q=treasure", "q=no-such-word",
    "published_at__isnull=true&category=attic",
    "status__ne=published", "owner_id={owner}", "category=attic&q=buried",
])
def test_a_hidden_row_answers_like_an_absent_one(client, as_role, hidden, query):
    query = query.format(owner=hidden.owner_id)
    for caller in (client, as_role("user")):
        answer = caller.get(f"/api/articles?{query}").get_json()
        assert answer == {"items": [], "next_cursor": None, "prev_cursor": None, "has_next": False, "has_prev": False}
        assert caller.get(f"/api/articles?page=1&{query}").get_json()["total"] == 0
        exact = caller.get(f"/api/articles?page=1&{query}", headers={"Prefer": "count=exact"}).get_json()
        assert exact["total"] == 0
    assert as_role("editor").get(f"/api/articles?page=1&{query}").get_json()["total"] == (
        0 if "no-such" in query else 1)


@pytest.mark.both_databases
def test_a_hidden_row_leaves_no_gap(client, hidden):
    first = client.get("/api/articles?category=attic&sort=title&limit=1").get_json()
    second = client.get(f"/api/articles?category=attic&sort=title&limit=1&cursor={first['next_cursor']}").get_json()
    assert [row["title"] for row in first["items"] + second["items"]] == ["Middle a", "Middle c"]
    assert second["has_next"] is False
    paged = client.get("/api/articles?category=attic&sort=title&limit=1&page=2").get_json()
    assert ([row["title"] for row in paged["items"]], paged["total"], paged["has_next"]) == (["Middle c"], 2, False)


@pytest.mark.both_databases
def test_a_cursor_at_a_hidden_row_shows_only_what_is_visible(client, as_role, hidden):
    at_draft = as_role("editor").get("/api/articles?category=attic&sort=title&limit=2").get_json()
    assert at_draft["items"][1]["id"] == hidden.id
    rest = client.get(f"/api/articles?category=attic&sort=title&limit=5&cursor={at_draft['next_cursor']}").get_json()
    assert [row["title"] for row in rest["items"]] == ["Middle c"]
    before = client.get(f"/api/articles?category=attic&sort=title&limit=5&before={at_draft['next_cursor']}").get_json()
    assert [row["title"] for row in before["items"]] == ["Middle a"]


def test_comments_are_searched_with_the_callers_eyes(client, as_role, hidden):
    assert client.get("/api/comments?q=treasure&page=1").get_json()["total"] == 0
    assert as_role("moderator").get("/api/comments?q=treasure&page=1").get_json()["total"] == 1


def test_a_shared_article_is_listed_for_its_grantee_only(as_user, given, hidden):
    friend, other = as_user("user"), as_user("user")
    given.share("article", hidden, f"user:{friend.id}")
    assert [row["id"] for row in friend.get("/api/articles?slug=secret-slug").get_json()["items"]] == [hidden.id]
    assert friend.get("/api/articles?page=1&q=treasure").get_json()["total"] == 1
    assert other.get("/api/articles?slug=secret-slug").get_json()["items"] == []
