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
    assert problem["errors"][0]["code"] == problem["code"]
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


def test_what_stands_around_a_cursor_is_part_of_it(client, cursor):
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


def test_one_token_works_in_both_directions(client, cursor):
    before = client.get("/api/articles", query_string={"before": cursor, "limit": 5}).get_json()
    assert [row["title"] for row in before["items"]] == ["Post 5"]
    assert (before["has_next"], before["has_prev"]) == (True, False)


def test_the_same_page_has_the_same_cursor_for_a_while(client, cursor):
    assert client.get("/api/articles?limit=2").get_json()["next_cursor"] == cursor


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
