"""Cursors over HTTP: signed, bound to their list, authorised afresh, and keeping the snapshot of their walk."""

import string

import pytest

from tests.apps import close, make_app, new_instance


@pytest.fixture(scope="module", autouse=True)
def posts(given):
    return [given.article(title=f"Post {number}") for number in range(6)]


@pytest.fixture
def cursor(client):
    return client.get("/api/articles?limit=2").get_json()["next_cursor"]


def code(client, query):
    answer = client.get("/api/articles", query_string=query)
    assert answer.status_code == 400, answer.get_json()
    problem = answer.get_json()
    assert {fault["code"] for fault in problem["errors"]} <= {problem["code"]}
    return problem["code"]


def test_every_change_of_a_single_character_is_invalid(client, cursor):
    for at, original in enumerate(cursor):
        other = "A" if original != "A" else "B"
        assert code(client, {"cursor": cursor[:at] + other + cursor[at + 1:]}) == "invalid_cursor"


def test_a_spare_bit_of_the_encoding_is_a_change_too(client, cursor):
    # The last character of a signature of 32 bytes carries four bits; its neighbours decode alike.
    for other in set(string.ascii_letters + string.digits + "-_") - {cursor[-1]}:
        assert code(client, {"cursor": cursor[:-1] + other}) == "invalid_cursor"


@pytest.mark.parametrize("name", ["cursor", "after", "before"])
def test_every_truncation_is_invalid(client, cursor, name):
    for at in range(0, len(cursor), 1 if name == "cursor" else 37):
        assert code(client, {name: cursor[:at]}) == "invalid_cursor"


@pytest.mark.parametrize("text", ["null", "0", "-1", "'", "1 OR 1=1", "e30", "..", "W10.W10", "x" * 9000, "\x00",
                                  "é", "🪑"])
def test_anything_else_is_invalid(client, text):
    if len(text) < 8000:  # longer URLs are refused as such
        assert code(client, {"cursor": text}) == "invalid_cursor"


def test_a_cursor_with_characters_around_it_is_invalid(client, cursor):
    for text in (f" {cursor}", f"{cursor} ", f"{cursor}=", f"{cursor}\n", f'"{cursor}"'):
        assert code(client, {"cursor": text}) == "invalid_cursor"


@pytest.mark.parametrize("query", [
    {"sort": "title"}, {"sort": "created_at"}, {"status": "published"}, {"title__contains": "Post"}, {"q": "post"},
    {"category": "none"}, {"created_at__gte": "2020-01-01T00:00:00Z"},
])
def test_another_question_is_a_mismatch(client, cursor, query):
    assert code(client, {**query, "cursor": cursor}) == "cursor_mismatch"


def test_another_collection_is_a_mismatch(client, cursor):
    answer = client.get("/api/products", query_string={"cursor": cursor})
    assert (answer.status_code, answer.get_json()["code"]) == (400, "cursor_mismatch")


def test_another_tenant_is_a_mismatch(as_role, cursor):
    answer = as_role("user", tenant="other").get("/api/articles", query_string={"cursor": cursor})
    assert (answer.status_code, answer.get_json()["code"]) == (400, "cursor_mismatch")


def test_a_cursor_of_one_tenant_is_refused_in_another(as_role, client, cursor):
    query = {"limit": 2, "cursor": cursor}
    for _ in range(2):
        assert client.get("/api/articles", query_string=query).status_code == 200
        assert code(as_role("user", tenant="other"), query) == "cursor_mismatch"


# The parsed rest of a query is reused with the next cursor, and with nothing else.


@pytest.mark.parametrize(("query", "expected"), [
    ("limit=2&after={c}&after={c}", "invalid_parameter"),
    ("limit=2&after={c}&%61fter={c}", "invalid_parameter"),
    ("limit=2&after={c}&cursor=other", "pagination_conflict"),
    ("limit=2&after={c}&%63ursor=other", "pagination_conflict"),
    ("limit=2&after={c}&cursor=", "pagination_conflict"),
    ("limit=2&after={c}&cursor", "pagination_conflict"),
    ("limit=2&after={c}&before={c}", "pagination_conflict"),
    ("limit=2&after={c}&page=1", "pagination_conflict"),
    ("limit=2&after={c}x", "invalid_cursor"),
    ("limit=2&before={c}x", "invalid_cursor"),
    ("limit=2&after=", "invalid_cursor"),
    ("limit=2&after={c}&colour=red", "unknown_parameter"),
    ("limit=0&after={c}", "invalid_parameter"),
])
def test_a_query_whose_rest_is_known_is_checked_all_the_same(client, cursor, query, expected):
    for _ in range(2):
        for known in ("limit=2", f"limit=2&after={cursor}", f"limit=2&before={cursor}", f"limit=2&cursor={cursor}"):
            assert client.get(f"/api/articles?{known}").status_code == 200
        assert code(client, query.format(c=cursor)) == expected


@pytest.mark.parametrize(("one", "other"), [("cursor", "after"), ("after", "cursor"), ("%61fter", "cursor")])
def test_a_cursor_by_both_names_is_compared_on_every_page(client, cursor, one, other):
    following = client.get(f"/api/articles?limit=2&after={cursor}").get_json()["next_cursor"]
    for same in (cursor, following):
        assert client.get(f"/api/articles?limit=2&{one}={same}&{other}={same}").status_code == 200
    assert code(client, f"limit=2&{one}={cursor}&{other}={following}") == "pagination_conflict"


def test_first_goes_with_after_though_the_rest_is_the_same(client, cursor):
    assert client.get(f"/api/articles?first=2&after={cursor}").status_code == 200
    assert code(client, f"first=2&before={cursor}") == "pagination_conflict"
    assert client.get(f"/api/articles?last=2&before={cursor}").status_code == 200
    assert code(client, f"last=2&after={cursor}") == "pagination_conflict"
    assert code(client, "last=2") == "pagination_conflict"


@pytest.mark.parametrize("path", ["/api/articles/{id}", "/api/articles/export", "/api/health", "/api/ping"])
def test_where_there_are_no_pages_a_cursor_is_an_unknown_parameter(as_role, posts, cursor, path):
    admin, path = as_role("admin"), path.format(id=posts[0].id)
    assert admin.get(path).status_code == 200
    for _ in range(2):
        answer = admin.get(path, query_string={"cursor": cursor})
        assert (answer.status_code, answer.get_json()["errors"][0]["code"]) == (400, "unknown_parameter")


def test_a_day_later_it_has_expired(app, client, cursor, monkeypatch):
    cursors = app.extensions["gatepost"].cursors
    clock = cursors._clock
    monkeypatch.setattr(cursors, "_clock", lambda: clock() + 23 * 3600)
    assert client.get("/api/articles", query_string={"cursor": cursor}).status_code == 200
    monkeypatch.setattr(cursors, "_clock", lambda: clock() + 24 * 3600 + 1)
    assert code(client, {"cursor": cursor}) == "cursor_expired"


def test_the_cursor_of_another_instance_is_invalid(tmp_path, database_url, cursor):
    other = make_app(new_instance(tmp_path / "instance", database_url, "default"), database_url)
    try:
        assert code(other.test_client(), {"cursor": cursor}) == "invalid_cursor"
    finally:
        close(other)


def test_size_fields_and_expansions_may_change_on_the_way(client, cursor):
    answer = client.get("/api/articles", query_string={"cursor": cursor, "limit": 3, "fields": "title",
                                                       "expand": "category"}).get_json()
    assert [row["title"] for row in answer["items"]] == ["Post 3", "Post 2", "Post 1"]


def test_filters_may_be_written_in_another_order(client):
    first = client.get("/api/articles?limit=1&status=published&title__contains=Post").get_json()
    again = client.get(f"/api/articles?cursor={first['next_cursor']}&title__contains=Post&limit=1&status=published")
    assert [row["title"] for row in again.get_json()["items"]] == ["Post 4"]


@pytest.mark.both_databases
def test_one_token_works_in_both_directions(client, cursor):
    before = client.get("/api/articles", query_string={"before": cursor, "limit": 5}).get_json()
    assert [row["title"] for row in before["items"]] == ["Post 5"]
    assert (before["has_next"], before["has_prev"]) == (True, False)


def test_the_same_page_has_the_same_cursor_for_a_while(client, cursor):
    assert client.get("/api/articles?limit=2").get_json()["next_cursor"] == cursor


@pytest.mark.both_databases
def test_a_snapshot_lasts_for_the_whole_walk(client, given):
    first = client.get("/api/articles?snapshot=true&limit=2&sort=-title").get_json()
    given.article(title="Post 00 came later")
    seen, page = list(first["items"]), first
    while page["next_cursor"] is not None:
        page = client.get(f"/api/articles?limit=2&sort=-title&cursor={page['next_cursor']}").get_json()
        seen += page["items"]
    assert [row["title"] for row in seen] == [f"Post {number}" for number in reversed(range(6))]
    while page["prev_cursor"] is not None:
        page = client.get(f"/api/articles?limit=2&sort=-title&before={page['prev_cursor']}").get_json()
        assert "Post 00 came later" not in [row["title"] for row in page["items"]]
    now = client.get("/api/articles?snapshot=true&sort=-title").get_json()
    assert "Post 00 came later" in [row["title"] for row in now["items"]]


@pytest.mark.parametrize("value", ["", "1", "yes", "TRUE", "2026-01-01T00:00:00Z"])
def test_a_snapshot_is_asked_for_with_true(client, value):
    assert code(client, {"snapshot": value}) == "invalid_parameter"
