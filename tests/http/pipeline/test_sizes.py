"""The limits of a request's size, length and depth, each tested one below, at, and one above the limit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from gatepost.http.pipeline.uri import LONGEST
from gatepost.http.protocol.json_body import MAX_DEPTH
from tests.apps import Caller, close, make_app
from tests.databases import new_database
from tests.samples import sampled

MEBIBYTE = 2**20
IMPORT = 2**21  # less than the default, which takes seconds to read


@pytest.fixture(scope="module")
def database_url(request: pytest.FixtureRequest) -> str:
    """One database is enough: these limits come before any row."""
    return new_database("sqlite", request)


@pytest.fixture(scope="module")
def app(instance_folder: Path, database_url: str) -> Iterator[Flask]:
    made = make_app(instance_folder, database_url, import_limit=IMPORT)
    yield made
    close(made)


@dataclass(frozen=True)
class Limit:
    """A limit. `ask(caller, size)` sends a request of that size; the others are the answers within and beyond it."""

    name: str
    who: str
    most: int
    ask: Callable[[Caller, int], Any]
    within: int
    beyond: int
    code: str


def padded(caller: Caller, path: str, body: dict[str, str], size: int) -> Any:
    return caller.client.post(path, data=json.dumps(body).encode().ljust(size), content_type="application/json")


def log_in(caller: Caller, size: int) -> Any:
    return padded(caller, "/api/login", {"email": "a@example.org", "password": "x"}, size)


def write(caller: Caller, size: int) -> Any:
    return padded(caller, "/api/contact", {"name": "N"}, size)


def import_lines(caller: Caller, size: int) -> Any:
    line = b'{"name": "Imported", "slug": "imported"}\n'
    return caller.call("POST", "/api/categories/import?on_error=skip", data=line + b"\n" * (size - len(line)),
                       content_type="application/x-ndjson")


def nested(caller: Caller, depth: int) -> Any:
    body = '{"x": ' + "[" * (depth - 2) + "1" + "]" * (depth - 2) + "}"
    return caller.client.post("/api/login", data=body, content_type="application/json")


def search(**fixed: str) -> Callable[[str], Callable[[Caller, int], Any]]:
    """Returns a request for a list with one parameter whose value has this size."""
    return lambda name: lambda caller, size: caller.get("/api/articles", query_string={name: size, **fixed})


def text(name: str) -> Callable[[Caller, int], Any]:
    return lambda caller, size: caller.get("/api/articles", query_string={name: "x" * size})


def many(caller: Caller, count: int) -> Any:
    return caller.get("/api/articles", query_string={"status__in": ",".join(["published"] * count)})


LIMITS = [
    Limit("bytes of a body", "guest", MEBIBYTE, write, 400, 413, "body_too_large"),
    Limit("bytes of a login", "guest", MEBIBYTE // 32, log_in, 401, 413, "body_too_large"),
    Limit("bytes of an import", "admin", IMPORT, import_lines, 200, 413, "body_too_large"),
    Limit("depth of a body", "guest", MAX_DEPTH, nested, 400, 400, "malformed_json"),
    Limit("bytes of path and query", "guest", LONGEST,
          lambda caller, size: caller.get("/api/health/live?".ljust(size + 1, "x")), 400, 414, "uri_too_long"),
    Limit("rows on a page", "guest", 100, search()("limit"), 200, 400, "invalid_parameter"),
    Limit("rows on a page of staff", "admin", 200, search()("limit"), 200, 400, "invalid_parameter"),
    Limit("rows that can be skipped", "guest", 10_000, search()("offset"), 200, 400, "offset_too_large"),
    Limit("the deepest page", "guest", 501, search(limit="20")("page"), 200, 400, "offset_too_large"),
    Limit("values of one filter", "guest", 100, many, 200, 400, "invalid_parameter"),
    Limit("characters of a search", "guest", 200, text("q"), 200, 400, "invalid_parameter"),
    Limit("characters of a key", "editor", 255,
          lambda caller, size: caller.post("/api/articles", {}, headers={"Idempotency-Key": "k" * size}),
          400, 400, "invalid_header"),
]


@pytest.mark.parametrize("step", [-1, 0, 1], ids=["limit - 1", "limit", "limit + 1"])
@pytest.mark.parametrize("limit", sampled(LIMITS, 2), ids=[limit.name for limit in LIMITS])
def test_as_much_as_allowed_is_taken_and_no_more(as_role, limit, step):
    answer = limit.ask(as_role(limit.who), limit.most + step)
    if step <= 0:
        assert answer.status_code == limit.within
        # If both are refused, the request within the limit is refused for another reason.
        assert limit.within == 200 or answer.get_json()["code"] != limit.code
    else:
        assert (answer.status_code, answer.get_json()["code"]) == (limit.beyond, limit.code)


@pytest.mark.parametrize(("name", "low"), [("limit", 1), ("page", 1), ("offset", 0)])
def test_less_than_the_least_is_refused_too(as_role, name, low):
    assert as_role("guest").get(f"/api/articles?{name}={low}").status_code == 200
    answer = as_role("guest").get(f"/api/articles?{name}={low - 1}")
    assert (answer.status_code, answer.get_json()["code"]) == (400, "invalid_parameter")
    assert answer.get_json()["errors"][0]["meta"]["min"] == low


@pytest.mark.parametrize(("size", "echoed"), [(127, True), (128, True), (129, False)])
def test_a_request_id_that_is_too_long_is_replaced(client, size, echoed):
    sent = "r" * size
    answered = client.get("/api/health/live", headers={"X-Request-ID": sent}).headers["X-Request-ID"]
    assert (answered == sent) is echoed
    assert answered


@pytest.mark.parametrize(("number", "code"), [(2**63 - 1, "missing_field"), (2**63, "malformed_json")])
def test_numbers_fit_in_64_bits(client, number, code):
    body = f'{{"email": "a@example.org", "x": {number}}}'
    answer = client.post("/api/login", data=body, content_type="application/json").get_json()
    assert code in (answer["code"], *(fault["code"] for fault in answer["errors"]))
