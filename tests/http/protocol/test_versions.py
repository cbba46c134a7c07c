"""`/api/v1/…` is `/api/…`; every other version is refused by name, in the path and in the header."""

from __future__ import annotations

import pytest

from tests.http.described import check_problem


def test_both_paths_reach_the_same_rows(given, as_role):
    article = given.article()
    plain, versioned = (as_role("guest").get(f"{prefix}/articles/{article.id}") for prefix in ("/api", "/api/v1"))
    assert plain.status_code == 200
    assert plain.data == versioned.data
    assert plain.headers["ETag"] == versioned.headers["ETag"]


def test_a_row_made_by_one_path_is_found_by_the_other(as_role):
    made = as_role("editor").post("/api/v1/articles", {"title": "T", "slug": "by-v1", "body": "B"})
    assert made.status_code == 201
    assert as_role("editor").get(f"/api/articles/{made.get_json()['id']}").get_json() == made.get_json()


@pytest.mark.parametrize(("path", "header", "status"), [
    ("/api/articles", None, 200), ("/api/articles", "1", 200), ("/api/v1/articles", "1", 200),
    ("/api/articles", "9", 400), ("/api/articles", "0", 400), ("/api/articles", "v1", 400),
    ("/api/v1/articles", "9", 400), ("/api/v9/articles", "1", 400), ("/api/v9/articles", None, 400),
    ("/api/v9", None, 400), ("/api/v2/nope", None, 400),
])
def test_header_and_path_must_mean_version_one(as_role, path, header, status):
    answer = as_role("guest").get(path, headers={} if header is None else {"API-Version": header})
    assert answer.headers["API-Version"] == "1"
    if status == 200:
        assert answer.status_code == 200
    else:
        check_problem(answer, 400, "unsupported_version")


@pytest.mark.parametrize("path", ["/v1/articles", "/api/vx/articles", "/api/v/articles", "/api/v1articles"])
def test_what_only_looks_like_a_version_is_an_unknown_path(as_role, path):
    check_problem(as_role("guest").get(path), 404, "not_found")
