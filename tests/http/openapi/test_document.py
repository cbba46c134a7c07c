"""The OpenAPI documents are valid, portable and complete, and true for this instance."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest
from openapi_spec_validator import validate

from gatepost.collections.plugins.discovery import discover
from gatepost.http.openapi import document as described_by
from gatepost.http.openapi.document import Served, _document, document
from tests.apps import close, make_app, new_instance
from tests.databases import new_database
from tests.rule_files import edit

NAMES = Path(__file__).with_name("operations.txt")
METHODS = ("get", "put", "post", "patch", "delete")
COLLECTIONS = ("articles", "categories", "comments", "orders", "pages", "products", "users")


@pytest.fixture(scope="module")
def database_url(request: pytest.FixtureRequest) -> str:
    """One database is enough: the documents come only from the code and the rules."""
    return new_database("sqlite", request)


@cache
def as_described(version):
    """The document of the shipped service. Tests do not change it."""
    return json.loads(document(discover(), version))


@pytest.fixture(scope="module")
def described():
    return as_described("3.1.0")


def operations(described):
    return {operation["operationId"]: operation for item in described["paths"].values()
            for method, operation in item.items() if method in METHODS}


def parameters(described, operation):
    """Returns the parameters of an operation and of its path, by place and name."""
    held = next(item for item in described["paths"].values() if operation in item.values())
    found = [followed(described, one) for one in (*held.get("parameters", ()), *operation.get("parameters", ()))]
    return {(one["in"], one["name"]): one for one in found}


def followed(described, one):
    while "$ref" in one:
        _, *names = one["$ref"].split("/")
        one = described
        for name in names:
            one = one[name]
    return one


def schema(described, name):
    return described["components"]["schemas"][name]


def beside_references(described):
    if isinstance(described, list):
        described = dict(enumerate(described))
    if isinstance(described, dict):
        if "$ref" in described:
            yield from described.keys() - {"$ref"}
        for one in described.values():
            yield from beside_references(one)


@pytest.mark.parametrize(("path", "version"), [("/api/openapi.json", "3.1"), ("/api/openapi-3.0.json", "3.0")])
def test_both_documents_are_valid(client, path, version):
    found = client.get(path).get_json()
    assert found["openapi"].startswith(version)
    validate(found)


@pytest.mark.parametrize("path", ["/api/openapi.json", "/api/openapi-3.0.json"])
def test_patterns_are_those_of_json_schema(client, path):
    patterns = re.findall(r'"pattern": ?"((?:[^"\\]|\\.)*)"', json.dumps(client.get(path).get_json()))
    assert patterns
    assert not [pattern for pattern in patterns if re.search(r"\\\\[AZz]", pattern)]


def test_nothing_stands_beside_a_reference_where_it_would_be_passed_over(client, described):
    assert list(beside_references(client.get("/api/openapi-3.0.json").get_json())) == []
    assert "default" in beside_references(described)  # which 3.1 allows


def test_no_two_of_our_schemas_are_called_alike_with_different_values(described):
    assert [name for name in described["components"]["schemas"] if name[-1].isdigit()] == []


def test_operations_are_called_as_clients_know_them(described):
    """A changed name breaks each generated client: add to the list, and remove nothing."""
    named = [f"{method.upper()} {path} {operation['operationId']}" for path, item in described["paths"].items()
             for method, operation in item.items() if method in METHODS]
    assert sorted(named) == NAMES.read_text(encoding="utf-8").splitlines()
    assert len({name.rpartition(" ")[2] for name in named}) == len(named)


def test_every_operation_says_what_it_needs(described):
    for name, operation in operations(described).items():
        assert operation["description"].startswith("Needs "), name
        assert operation["summary"].endswith("."), name
        # The liveness probe takes no credentials; the metrics for Prometheus take a token of their own.
        assert ("401" in operation["responses"]) == (name != "health_live"), name


def test_no_get_has_a_body(described):
    assert [path for path, methods in described["paths"].items() if "requestBody" in methods.get("get", {})] == []


def test_a_token_is_needed_where_the_rules_give_a_guest_nothing(client):
    found = operations(client.get("/api/openapi.json").get_json())
    open_to_all, closed = [{}, {"bearer": []}], [{"bearer": []}]
    for name, wanted in (("articles_list", open_to_all), ("session_log_in", open_to_all), ("front_page", open_to_all),
                         ("articles_create", closed), ("users_list", closed), ("policy_explain", closed)):
        assert found[name]["security"] == wanted, name
    assert found["health_live"]["security"] == []


def test_the_document_follows_the_rules_that_are_in_force(database_url, tmp_path):
    instance = new_instance(tmp_path / "instance", database_url, "default")
    edit(instance / "policies", lines={"extra.csv": "p, guest, order.view, always, allow"})
    app = make_app(instance, database_url)
    found = operations(app.test_client().get("/api/openapi.json").get_json())
    assert found["orders_list"]["security"] == [{}, {"bearer": []}]
    close(app)


def test_the_server_is_the_one_that_answers(database_url, tmp_path):
    app = make_app(new_instance(tmp_path / "instance", database_url, "default"), database_url,
                   public_url="https://shop.example.org/gate")
    found = app.test_client().get("/api/openapi.json").get_json()
    assert found["servers"] == [{"url": "https://shop.example.org/gate"}]
    assert found["info"]["contact"]["url"] == "https://shop.example.org/gate"
    assert "](https://shop.example.org/gate/docs/errors)" in found["info"]["description"]
    close(app)
    nowhere = as_described("3.1.0")
    assert nowhere["servers"] == [{"url": "/"}] and "](/docs/errors)" in nowhere["info"]["description"]


def test_a_document_is_made_once_however_many_ask_for_it_at_a_time(app, monkeypatch):
    made, assemble = [], _document.__wrapped__
    monkeypatch.setattr(described_by, "_document", lambda *asked: (made.append(asked), assemble(*asked))[1])
    described_by._render.cache_clear()
    clients = [app.test_client() for _ in range(4)]
    with ThreadPoolExecutor(len(clients)) as pool:
        answers = [*pool.map(lambda one: one.get("/api/openapi-3.0.json").data, clients)]
    written = described_by._render.cache_info()
    assert (len(made), written.misses, written.hits, len(set(answers))) == (1, 1, 3, 1)


def test_rules_that_ask_for_the_circumstances_make_no_document_anew():
    registry, before = discover(), _document.cache_info().misses
    for permission in ("order.view", "user.view", "page.create"):
        found = operations(json.loads(document(registry, "3.1.0", Served(open_to_guests=frozenset({permission})))))
        assert {} in next(one["security"] for one in found.values() if permission in one["description"])
        assert found["audit_list"]["security"] == [{"bearer": []}]
    assert _document.cache_info().misses <= before + 1


def test_page_sizes_are_those_of_the_settings():
    found = json.loads(document(discover(), "3.1.0", Served(page_size=7, largest_page=70)))
    size = found["components"]["parameters"]["limit"]
    assert (size["schema"]["minimum"], size["schema"]["maximum"]) == (1, 70)
    assert size["description"] == "How many rows a page has at most. It has 7 unless given."
    assert "which it needs" in found["components"]["parameters"]["last"]["description"]


@pytest.mark.parametrize("version", ["3.1.0", "3.0.3"])
def test_what_is_refused_is_described_once(version):
    found = as_described(version)
    for name, operation in operations(found).items():
        for status, answer in operation["responses"].items():
            if status.startswith("4") or status == "default":
                assert set(answer) == {"$ref"}, (name, status)
    answers = found["components"]["responses"]
    assert {tuple(answer["content"]) for answer in answers.values() if "content" in answer} == {
        ("application/problem+json",), ("application/json",)}
    assert set(answers["Unauthorized"]["headers"]) >= {"X-Request-ID", "API-Version", "WWW-Authenticate"}


HEADERS = [
    ("articles_list", {"If-None-Match", "Prefer"}, {"ETag", "Link", "Preference-Applied"}),
    ("articles_get", {"If-None-Match"}, {"ETag"}),
    ("articles_create", {"Idempotency-Key"}, {"ETag", "Location", "Idempotency-Replayed"}),
    ("articles_replace", {"If-Match"}, {"ETag"}),
    ("articles_update", {"If-Match", "Idempotency-Key"}, {"ETag", "Idempotency-Replayed"}),
    ("articles_delete", {"If-Match"}, set()),
    ("articles_export", {"If-None-Match", "Prefer"}, {"Content-Disposition"}),
    ("session_log_in", set(), set()),
    ("ping", {"If-None-Match"}, {"ETag", "Deprecation", "Sunset", "Link"}),
]


@pytest.mark.parametrize(("name", "sent", "answered"), HEADERS)
def test_an_operation_tells_its_headers(described, name, sent, answered):
    operation = operations(described)[name]
    assert {header for place, header in parameters(described, operation) if place == "header"} >= sent
    success = next(answer for status, answer in operation["responses"].items() if status.startswith("2"))
    assert set(success.get("headers", ())) >= answered
    assert bool(sent) == any(place == "header" for place, _ in parameters(described, operation))


def test_what_an_answer_always_has_is_required_and_what_is_guarded_is_not(described):
    article, user = schema(described, "Article"), schema(described, "User")
    assert set(article["required"]) == set(article["properties"]) - {"department", "category", "owner",
                                                                     "allowed_actions"}
    assert user["required"] == ["id", "name", "role"]
    assert set(schema(described, "Account")["required"]) >= {"email", "groups", "version"}
    assert schema(described, "PageText")["required"] == ["body", "language", "slug", "title"]


def test_states_fields_expansions_and_sort_orders_are_enumerated(described):
    assert schema(described, "ArticleStatus")["enum"] == ["approved", "archived", "draft", "in_review", "published"]
    assert schema(described, "Article")["properties"]["status"] == {"$ref": "#/components/schemas/ArticleStatus"}
    query = parameters(described, operations(described)["articles_list"])
    for parameter, component in (("fields", "ArticleField"), ("expand", "ArticleExpansion"),
                                 ("status__in", "ArticleStatus")):
        assert query["query", parameter]["schema"]["items"]["$ref"].endswith(f"/{component}")
    assert query["query", "sort"]["schema"]["$ref"].endswith("/ArticleSort")
    assert {"category", "owner"} == set(schema(described, "ArticleExpansion")["enum"])
    assert {"title", "-title", "-created_at"} <= set(schema(described, "ArticleSort")["enum"])
    assert "allowed_actions" in schema(described, "ArticleField")["enum"]


def test_an_object_that_is_expanded_is_of_its_collection(described):
    assert {"$ref": "#/components/schemas/Category"} in schema(described, "Article")["properties"]["category"]["anyOf"]
    item = schema(described, "OrderItem")["properties"]
    assert {"$ref": "#/components/schemas/Product"} in item["product"]["anyOf"]


def test_a_body_has_what_can_be_sent_and_nothing_else(described):
    assert set(schema(described, "NewArticle")["properties"]) == {
        "title", "slug", "body", "language", "category_id", "owner_id"}
    assert schema(described, "NewArticle")["required"] == ["body", "slug", "title"]
    assert "required" not in schema(described, "ArticleChanges")
    assert "items" in schema(described, "NewOrder")["properties"]
    assert "items" not in schema(described, "OrderReplacement")["properties"]
    assert "unit_price" not in schema(described, "NewOrderItem")["properties"]
    assert schema(described, "NewProduct")["properties"]["stock"]["description"] == "0 unless given."
    assert "default" not in json.dumps(described["components"]["schemas"])


def test_an_id_in_a_path_is_a_uuid_and_a_slug_is_none(described):
    for name, format in (("articles_get", "uuid"), ("jobs_file", "uuid"), ("pages_get", None)):
        described_id = parameters(described, operations(described)[name])["path", "id"]
        assert described_id["schema"].get("format") == format, name
        assert described_id["description"], name


def test_a_grantee_may_be_me_where_a_right_is_given_up_and_nowhere_else(described):
    described_grantee = parameters(described, operations(described)["articles_unshare"])["query", "grantee"]
    assert "`me`" in described_grantee["description"]
    given = schema(described, "NewShare")["properties"]["grantee"]["pattern"]
    for grantee, taken, put in (("me", True, False), ("user:x", True, True), ("Me", False, False)):
        assert bool(re.search(described_grantee["schema"]["pattern"], grantee)) is taken
        assert bool(re.search(given, grantee)) is put


def test_the_page_sends_no_parameter_that_its_reader_has_not_typed(described):
    found = [followed(described, one) for item in described["paths"].values() for part in (item, *item.values())
             for one in (part.get("parameters", ()) if isinstance(part, dict) else ())]
    assert any(one.get("example") == "de" for one in found)
    assert {one.get("x-fill-example") for one in found if not one.get("required")} == {"no"}


@pytest.mark.parametrize("version", ["3.1.0", "3.0.3"])
def test_every_component_is_used(version):
    found = as_described(version)
    text = json.dumps(found)
    for kind, several in found["components"].items():
        if kind != "securitySchemes":
            assert [name for name in several if f'"#/components/{kind}/{name}"' not in text] == [], kind
