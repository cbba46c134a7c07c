"""A path below `/console` that is no page: a page says so, to guests and to users."""

from __future__ import annotations

import pytest

from tests.databases import on_sqlite  # noqa: F401 - the same on each database
from tests.http.console.pages import Seen, visit


@pytest.mark.parametrize("path", ["/console/nothing", "/console/people/x/y/z", "/console/audit/", "/console/data/none",
                                  "/console/%3Cscript%3E", "/console/account/change"])
@pytest.mark.parametrize("who", ["guest", "admin"])
def test_an_unknown_path_is_a_page(path, who, app):
    answer = visit(app, who).get(path)
    assert answer.status_code == 404
    assert answer.content_type.startswith("text/html")
    seen = Seen.of(answer)
    assert "Not found" in seen.text
    assert "/console" in seen.links
    assert "<script>" not in answer.text


def test_other_methods_and_other_paths_are_as_before(app):
    admin = visit(app, "admin")
    assert admin.post("/console/nothing", {}).status_code == 404
    assert admin.client.delete("/console/nothing").status_code == 405
    for path in ("/nothing", "/consoles", "/api/console/nothing"):
        answer = admin.get(path)
        assert (answer.status_code, answer.content_type) == (404, "application/problem+json")
