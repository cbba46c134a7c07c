"""ETags: they save reads (`If-None-Match`) and guard writes (`If-Match`)."""

from __future__ import annotations

import pytest

from tests.http.described import check_problem


@pytest.fixture
def article(given):
    return given.article("draft", title="Before")


@pytest.fixture
def editor(as_role):
    return as_role("editor")


@pytest.mark.parametrize(("sent", "status"), [
    ('"1"', 304), ('W/"1"', 304), ('"0", "1"', 304), ('W/"0",W/"1"', 304), ("*", 304), (' "1" ', 304),
    ('"2"', 200), ('"1-abc"', 200), ('""', 200), ('"a,b"', 200),
])
def test_a_read_is_saved_where_the_client_has_it(article, editor, sent, status):
    answer = editor.get(f"/api/articles/{article.id}", headers={"If-None-Match": sent})
    assert answer.status_code == status
    assert answer.headers["ETag"] == '"1"'
    if status == 304:
        assert answer.data == b""
        assert "Content-Type" not in answer.headers


@pytest.mark.parametrize("path", ["/api/articles", "/api/articles?page=1&page_size=2", "/api/openapi.json", "/docs",
                                  "/docs/rapidoc-min.js", "/api/profile"])
def test_every_read_has_a_tag_that_saves_it(article, editor, path):
    tag = editor.get(path).headers["ETag"]
    assert editor.get(path, headers={"If-None-Match": tag}).status_code == 304
    assert editor.get(path, headers={"If-None-Match": '"other"'}).status_code == 200


def test_a_partial_view_has_a_tag_of_its_own_and_still_guards_a_write(article, editor):
    one = f"/api/articles/{article.id}"
    tag = editor.get(f"{one}?fields=id,title").headers["ETag"]
    assert tag.startswith('"1-')
    assert editor.get(one, headers={"If-None-Match": tag}).status_code == 200
    assert editor.patch(one, {"title": "After"}, headers={"If-Match": tag}).status_code == 200


@pytest.mark.parametrize(("sent", "status"), [
    ('"1"', 200), ('"7", "1"', 200), ("*", 200), ('"1-0123456789abcdef"', 200),
    ('"2"', 412), ('W/"1"', 412), ('"7","8"', 412), ('"01"', 412), ('""', 412),
])
def test_a_write_is_guarded_by_the_version(article, editor, sent, status):
    answer = editor.patch(f"/api/articles/{article.id}", {"title": "After"}, headers={"If-Match": sent})
    if status == 200:
        assert (answer.status_code, answer.headers["ETag"]) == (200, '"2"')
    else:
        check_problem(answer, 412, "version_conflict")
        assert editor.get(f"/api/articles/{article.id}").get_json()["title"] == "Before"


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_every_kind_of_write_is_guarded(article, editor, method):
    body = editor.get(f"/api/articles/{article.id}").get_json() if method == "PUT" else {}
    answer = editor.call(method, f"/api/articles/{article.id}", body, headers={"If-Match": '"9"'})
    check_problem(answer, 412, "version_conflict")


def test_an_action_is_guarded_too(article, editor):
    answer = editor.post(f"/api/articles/{article.id}/publish", headers={"If-Match": '"9"'})
    check_problem(answer, 412, "version_conflict")
    assert editor.post(f"/api/articles/{article.id}/publish", headers={"If-Match": '"1"'}).status_code == 200


@pytest.mark.parametrize("header", ["If-Match", "If-None-Match"])
@pytest.mark.parametrize("sent", ["1", "abc", '"1', '1"', '"a" "b"', "W/1", ",", '"\x01"'])
def test_what_is_no_list_of_tags_is_refused(article, editor, header, sent):
    answer = editor.patch(f"/api/articles/{article.id}", {}, headers={header: sent})
    problem = check_problem(answer, 400, "invalid_header")
    assert problem["errors"][0]["header"] == header


def test_a_stranger_learns_nothing_from_preconditions(article, as_role):
    for headers in ({"If-Match": '"1"'}, {"If-Match": '"9"'}, {"If-None-Match": "*"}):
        check_problem(as_role("user").patch(f"/api/articles/{article.id}", {}, headers=headers), 404, "not_found")
