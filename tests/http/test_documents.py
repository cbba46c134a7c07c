"""The OpenAPI documents are valid, portable and complete; the page that shows them works without any other host."""

from __future__ import annotations

import json
import re

import pytest
from openapi_spec_validator import validate

from tests.apps import close, make_app, new_instance
from tests.databases import new_database
from tests.http.described import check_problem


@pytest.fixture(scope="module")
def database_url(request: pytest.FixtureRequest) -> str:
    """One database is enough: the documents come from the code alone."""
    return new_database("sqlite", request)


@pytest.mark.parametrize(("path", "version"), [("/api/openapi.json", "3.1"), ("/api/openapi-3.0.json", "3.0")])
def test_both_documents_are_valid(client, path, version):
    document = client.get(path).get_json()
    assert document["openapi"].startswith(version)
    validate(document)


@pytest.mark.parametrize("path", ["/api/openapi.json", "/api/openapi-3.0.json"])
def test_patterns_are_those_of_json_schema(client, path):
    patterns = re.findall(r'"pattern": ?"((?:[^"\\]|\\.)*)"', json.dumps(client.get(path).get_json()))
    assert patterns
    assert not [pattern for pattern in patterns if re.search(r"\\\\[AZz]", pattern)]


def test_every_operation_says_what_it_needs(client):
    document = client.get("/api/openapi.json").get_json()
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method != "parameters":
                assert operation["description"].startswith("Needs "), (method, path)
                assert operation["security"] == [{}, {"bearer": []}]


def test_the_page_refers_to_nothing_but_its_own_assets(client):
    page = client.get("/docs")
    assert page.mimetype == "text/html"
    references = re.findall(r'(?:src|href|spec-url)="([^"]*)"', page.text)
    assert references
    for reference in references:
        assert reference.startswith(("/docs", "/api/openapi", "data:")), reference
        if reference.startswith("/"):
            assert client.get(reference).status_code == 200
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "http" not in policy


def test_the_setting_turns_the_documents_off(database_url, tmp_path):
    app = make_app(new_instance(tmp_path / "instance", database_url, "default"), database_url, docs="off")
    for path in ("/docs", "/docs/errors", "/docs/page.css", "/api/openapi.json", "/api/openapi-3.0.json"):
        check_problem(app.test_client().get(path), 404, "not_found")
    close(app)
