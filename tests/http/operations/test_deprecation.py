"""A deprecation on an endpoint, parameter or field: announced, described, counted, and 410 after its sunset."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from flask import Flask
from marshmallow import Schema

from gatepost.http.operations.deprecation import Deprecation
from models.tables.deprecated_use import uses
from tests.apps import close, fresh_registry, make_app
from tests.databases import new_database

OLD = Deprecation(since=date(2026, 11, 1), sunset=date(2100, 1, 1), successor="/docs#q")
GONE = Deprecation(since=date(2020, 1, 1), sunset=date(2021, 1, 1), successor="/docs#q")


@pytest.fixture(scope="module")
def database_url(request: pytest.FixtureRequest) -> str:
    return new_database("sqlite", request)


@pytest.fixture(scope="module")
def app(instance_folder: Path, database_url: str) -> Iterator[Flask]:
    """An app with a deprecated and a removed parameter of article lists, and a deprecated field of a new article."""
    with fresh_registry():
        made = make_app(instance_folder, database_url)
    declared = {(verb, name): announced for verb, name, announced in (
        ("GET", "title__contains", OLD), ("GET", "title__startswith", GONE), ("POST", "language", OLD))}
    for _, _, endpoints in made.extensions["gatepost"].registry.endpoints():
        for endpoint in endpoints:
            for (method, name), announced in declared.items():
                schema: Schema | None = endpoint.query if method == "GET" else endpoint.body
                if endpoint.path == "/api/articles" and endpoint.method == method and schema is not None:
                    schema.fields[name].metadata = {**schema.fields[name].metadata, **announced.metadata()}
    yield made
    close(made)


def counted(app: Flask) -> dict[tuple[str, str], int]:
    services = app.extensions["gatepost"]
    services.deprecated_uses.store()
    with services.database.connected():
        return {(use.endpoint, use.client): use.count for use in uses(services.guest_tenant)}


def announces(answer) -> bool:
    if "Deprecation" not in answer.headers:
        return False
    assert answer.headers["Deprecation"] == "@1793491200"  # 2026-11-01 in the form of RFC 9745
    assert answer.headers["Sunset"].endswith(" GMT")
    assert 'rel="successor-version"' in answer.headers["Link"]
    return True


def test_a_deprecated_endpoint_says_so_and_is_counted_by_client(app, as_role):
    for who in ("guest", "user", "user"):
        assert announces(as_role(who).get("/api/ping"))
    found = counted(app)
    assert found["GET /api/ping", "guest"] == 1
    assert found["GET /api/ping", f"user:{as_role('user').id}"] == 2


def test_a_deprecated_parameter_says_so_only_when_it_is_sent(app, as_role, given):
    for _ in range(3):
        given.article()
    guest = as_role("guest")
    assert not announces(guest.get("/api/articles?limit=2"))
    answer = guest.get("/api/articles?title__contains=Article&limit=2")
    assert answer.status_code == 200
    assert announces(answer)
    assert 'rel="next"' in answer.headers["Link"], "the links of the page are there too"
    assert counted(app)["GET /api/articles?title__contains", "guest"] == 1


def test_a_deprecated_field_says_so_only_when_it_is_sent(app, as_role):
    editor = as_role("editor")
    article = {"title": "T", "body": "B"}
    assert not announces(editor.post("/api/articles", {**article, "slug": "one"}))
    answer = editor.post("/api/articles", {**article, "slug": "two", "language": "en"})
    assert answer.status_code == 201
    assert announces(answer)
    assert counted(app)["POST /api/articles#/language", f"user:{editor.id}"] == 1


def test_after_its_day_it_is_gone(as_role):
    answer = as_role("guest").get("/api/articles?title__startswith=A")
    assert (answer.status_code, answer.get_json()["code"]) == (410, "gone")
    assert answer.headers["Sunset"] == "Fri, 01 Jan 2021 00:00:00 GMT"


def test_a_read_of_what_is_deprecated_writes_nothing_itself(app, as_role, monkeypatch):
    database = app.extensions["gatepost"].database
    monkeypatch.setattr(database, "transact", lambda work: pytest.fail("a read wrote"))
    assert as_role("guest").get("/api/ping").status_code == 200


def test_the_description_says_what_is_deprecated(client):
    document = client.get("/api/openapi.json").get_json()
    paths, shared = document["paths"], document["components"]["parameters"]
    assert paths["/api/ping"]["get"]["deprecated"] is True
    named = [shared[each["$ref"].rpartition("/")[2]] if "$ref" in each else each
             for each in paths["/api/articles"]["get"]["parameters"]]
    parameters = {each["name"]: each for each in named}
    old = parameters["title__contains"]
    assert old.get("deprecated") or old["schema"].get("deprecated")
    assert "deprecated" not in str(parameters["status"])
