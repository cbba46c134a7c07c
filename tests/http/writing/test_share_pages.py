"""The shares of one object come in pages like every list, and are bounded."""

from __future__ import annotations

import pytest

from gatepost.http.writing import sharing
from models.base import new_id
from tests.apps import NO_ROW


def path(row):
    return f"/api/articles/{row.id}/shares"


@pytest.fixture(scope="module")
def editor(as_role):
    return as_role("editor")


@pytest.fixture(scope="module")
def many(given):
    """An article with 45 shares, and another beside it."""
    row, other = given.article("draft"), given.article("draft")
    given.share("article", other, "role:support")
    given.share("product", row, "role:support")  # the same id, of another resource
    for number in range(45):
        given.share("article", row, f"group:g{number:02}")
    return row


def test_the_first_page_has_twenty_and_says_where_to_go_on(editor, many):
    answer = editor.get(path(many))
    page = answer.get_json()
    assert [item["grantee"] for item in page["items"]] == [f"group:g{number:02}" for number in range(20)]
    assert set(page["items"][0]) == {"grantee", "right", "granted_by", "created_at"}
    assert (page["has_next"], page["has_prev"], page["prev_cursor"]) == (True, False, None)
    assert f'<{path(many)}?cursor={page["next_cursor"]}>; rel="next"' in answer.headers["Link"]


@pytest.mark.both_databases
@pytest.mark.parametrize("limit", [1, 7, 45, 100])
def test_a_walk_meets_each_once_in_either_direction(editor, many, limit):
    found, query, page = [], "", {}
    while page.get("has_next", True):
        page = editor.get(f"{path(many)}?limit={limit}{query}").get_json()
        found += [item["grantee"] for item in page["items"]]
        query = f"&cursor={page['next_cursor']}"
    assert found == [f"group:g{number:02}" for number in range(45)]
    back, query, page = [], "&sort=-created_at", {}
    page = editor.get(f"{path(many)}?limit={limit}{query}").get_json()
    back += [item["grantee"] for item in page["items"]]
    while page["has_next"]:
        page = editor.get(f"{path(many)}?limit={limit}{query}&cursor={page['next_cursor']}").get_json()
        back += [item["grantee"] for item in page["items"]]
    assert back == found[::-1]


def test_what_is_shared_anew_answers_the_first_page(editor, many, as_user):
    row, page = many, editor.get(path(many)).get_json()
    put = editor.put(path(row), {"grantee": "group:g00", "right": "read"})
    assert put.status_code == 200
    assert put.get_json()["items"] == page["items"]
    assert set(put.get_json()) == set(page)


def test_a_cursor_belongs_to_one_object(editor, many, given):
    other = given.article("draft")
    cursor = editor.get(f"{path(many)}?limit=1").get_json()["next_cursor"]
    answer = editor.get(f"{path(other)}?limit=1&cursor={cursor}")
    assert (answer.status_code, answer.get_json()["code"]) == (400, "cursor_mismatch")


@pytest.mark.parametrize("query", ["limit=0", "limit=1000", "cursor=x", "shared=only", "grantee=group:g00",
                                   "sort=grantee", "page=1&cursor=x"])
def test_what_a_list_refuses_is_refused_here(editor, many, query):
    assert editor.get(f"{path(many)}?{query}").status_code == 400


@pytest.mark.both_databases
def test_an_object_has_so_many_shares_and_no_more(editor, given, monkeypatch):
    monkeypatch.setattr(sharing, "MOST_SHARES", 3)
    row = given.article("draft")
    for number in range(3):
        assert editor.put(path(row), {"grantee": f"group:g{number}", "right": "read"}).status_code == 200
    refused = editor.put(path(row), {"grantee": "group:g3", "right": "read"})
    assert (refused.status_code, refused.get_json()["code"]) == (409, "conflict")
    assert refused.get_json()["detail"] == "An object has at most 3 shares."
    assert editor.put(path(row), {"grantee": "group:g2", "right": "write"}).status_code == 200, "it is one of the three"
    assert editor.delete(f"{path(row)}?grantee=group:g0").status_code == 204
    assert editor.put(path(row), {"grantee": "group:g3", "right": "read"}).status_code == 200


@pytest.mark.parametrize("sent", [{"granted_by": NO_ROW}, {"created_at": "2026-01-01T00:00:00.000000Z"},
                                  {"granted_by": new_id(), "created_at": None}, {"granted_by": ["a"]}])
def test_who_granted_and_when_cannot_be_made_up(editor, given, sent):
    row = given.article("draft")
    answer = editor.put(path(row), {"grantee": "role:user", "right": "read", **sent})
    assert answer.status_code == 400
    assert {one["code"] for one in answer.get_json()["errors"]} == {"read_only_field"}
    assert editor.get(path(row)).get_json()["items"] == []


def test_a_share_can_be_sent_back_as_it_was_read(editor, given):
    row = given.article("draft")
    editor.put(path(row), {"grantee": "role:user", "right": "read"})
    [item] = editor.get(path(row)).get_json()["items"]
    assert item["granted_by"] == editor.id
    assert editor.put(path(row), {**item, "right": "write"}).get_json()["items"] == [{**item, "right": "write"}]
