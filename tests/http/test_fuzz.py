"""Requests generated from the OpenAPI document, and invalid ones: no 5xx, and each answer fits the document."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.apps import NO_ROW
from tests.http.described import Description, Operation, check_headers

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3), max_leaves=6)
ODD = st.sampled_from(["", "\0", "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"), "9" * 5_000, str(2**70),
                       "-1", "true", "null", NO_ROW, "%", "'", "\u2028", "\U0001f600", ",", "2026-01-01T00:00:00Z"])


class Requests:
    """Strategies for the requests that a document describes."""

    def __init__(self, description: Description) -> None:
        self.description = description

    def value(self, schema: dict[str, Any]) -> st.SearchStrategy[Any]:
        """Draws a value that the schema usually allows, and sometimes does not."""
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            return self.value(self.description.document["components"]["schemas"][name])
        if "enum" in schema:
            return st.sampled_from(schema["enum"])
        kinds = schema.get("type", "object")
        kinds = [kinds] if isinstance(kinds, str) else kinds
        return st.one_of([self.of_kind(kind, schema) for kind in kinds])

    def of_kind(self, kind: str, schema: dict[str, Any]) -> st.SearchStrategy[Any]:
        match kind:
            case "null":
                return st.none()
            case "boolean":
                return st.booleans()
            case "integer" | "number":
                return st.integers(schema.get("minimum", -10), min(schema.get("maximum", 10), 2**63 - 1))
            case "array":
                return st.lists(self.value(schema.get("items", {"type": "string"})), max_size=3)
            case "string":
                if schema.get("format") == "uuid":
                    return st.just(NO_ROW) | st.uuids().map(str)
                if schema.get("format") == "date-time":
                    return st.datetimes().map(lambda moment: moment.isoformat() + "Z")
                if "pattern" in schema:
                    return st.from_regex(schema["pattern"], fullmatch=True, alphabet=st.characters(codec="ascii"))
                return st.text(max_size=min(schema.get("maxLength", 20), 20))
        return self.object(schema)

    def object(self, schema: dict[str, Any]) -> st.SearchStrategy[Any]:
        fields = {name: self.value(field) | JUNK if index % 3 == 0 else self.value(field)
                  for index, (name, field) in enumerate(schema.get("properties", {}).items())
                  if not field.get("readOnly")}
        required = {name: fields[name] for name in schema.get("required", ()) if name in fields}
        return st.fixed_dictionaries(required, optional={k: v for k, v in fields.items() if k not in required})

    def query(self, operation: Operation) -> st.SearchStrategy[dict[str, Any]]:
        declared = {parameter["name"]: self.value(parameter["schema"]) | ODD
                    for parameter in operation.spec.get("parameters", []) if parameter.get("in") == "query"}
        return st.fixed_dictionaries({}, optional=declared) if declared else st.just({})

    def body(self, operation: Operation) -> st.SearchStrategy[Any]:
        content = operation.spec.get("requestBody", {}).get("content", {})
        kind = next(iter(content), None)
        if kind is None:
            return st.just((None, None))
        made = self.value(content[kind]["schema"]) if "json" in kind and "ndjson" not in kind else st.text(max_size=200)
        return st.tuples(st.just(kind), made | JUNK)


def as_text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(as_text(one) for one in value)
    return {True: "true", False: "false", None: ""}.get(value, str(value)) if not isinstance(value, dict) else "{}"


@pytest.fixture(scope="module")
def world(app, given, as_user):
    """The document, callers, and ids that exist."""
    callers = {role: as_user(role) for role in ("user", "admin")}
    ids = [NO_ROW, given.article("draft").id, given.product().id, given.order().id, given.comment().id,
           given.user("user").id, given.page().id, given.category().id]
    return Description.of(app), callers, ids


# Deterministic, so that a failure is reproducible. `hypothesis` shrinks it to the relevant request.
@settings(max_examples=100, deadline=None, derandomize=True, database=None,
          suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture,
                                 HealthCheck.data_too_large, HealthCheck.filter_too_much])
@given(data=st.data())
def test_no_request_makes_a_server_error(world, as_user, data):
    description, callers, ids = world
    # A logout or a change of the password would make the caller's token invalid.
    operations = [operation for operation in description.operations
                  if operation.path not in ("/api/logout", "/api/profile/password", "/api/login", "/api/register")]
    operation = data.draw(st.sampled_from(operations))
    requests = Requests(description)
    path = re.sub(r"\{.*?\}", lambda _: quote(data.draw(st.sampled_from(ids) | ODD), safe=""), operation.path)
    query = {name: as_text(value).encode("utf-8", "replace").decode()
             for name, value in data.draw(requests.query(operation)).items()}
    kind, body = data.draw(requests.body(operation))
    more = {} if kind is None else {"data": body.encode("utf-8", "replace"), "content_type": kind} if isinstance(
        body, str) else {"json": body, "content_type": kind}
    role = data.draw(st.sampled_from(sorted(callers)))
    answer = callers[role].call(operation.method, path, query_string=query, **more)
    check_headers(answer)
    assert answer.status_code < 500, f"{operation} {path} {query} {body!r}: {answer.text}"
    if path == operation.path or answer.status_code not in (404, 405):
        description.check(operation, answer)
