"""Compares answers with the OpenAPI document of the app."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import Any

import orjson
from flask import Flask
from jsonschema_rs import Draft202012Validator, ValidationErrorKind
from werkzeug.test import TestResponse

from gatepost.http.openapi.document import document
from gatepost.http.openapi.headers import EVERYWHERE
from gatepost.http.request.call import Discovered, Services

PROBLEM = "application/problem+json"
# OpenAPI describes these elsewhere, or they are for browsers, caches and connections and not for programs.
NEVER_DESCRIBED = frozenset({
    "content-type", "content-length", "content-encoding", "content-language", "date", "server", "connection",
    "cache-control", "vary", "content-security-policy", "cross-origin-opener-policy", "cross-origin-resource-policy",
    "permissions-policy", "referrer-policy", "strict-transport-security", "x-content-type-options", "x-frame-options",
    "access-control-allow-origin", "access-control-allow-credentials", "access-control-expose-headers",
    # the head of the document describes these
    *(name.lower() for name in EVERYWHERE),
})


@dataclass(frozen=True)
class Operation:
    """One method of one path of the document."""

    path: str
    method: str
    spec: dict[str, Any] = field(repr=False, hash=False, compare=False)

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True)
class Promise:
    """The described answers of one operation with one status.

    headers   the schema of each header, by its name in lower case
    required  the names of the headers that are always present
    bodies    media type, or a pattern like `text/*` → schema of the body; None for a body without a schema
    """

    headers: Mapping[str, Draft202012Validator]
    required: frozenset[str]
    bodies: Mapping[str, Draft202012Validator | None]

    def faults(self, answer: TestResponse, *, without_body: bool) -> Iterator[str]:
        """Yields the differences between this answer and the description."""
        given = {name.lower(): value for name, value in answer.headers.items()}
        yield from (f"it lacks the header {name}" for name in self.required - set(given))
        for name in given.keys() - NEVER_DESCRIBED:
            if name in self.headers:
                value = given[name]
                number = int(value) if re.fullmatch(r"-?\d{1,9}", value) else None
                if number is None or not self.headers[name].is_valid(number):
                    yield from _faults(f"header {name}: ", self.headers[name], value, some_fields=False)
            else:
                yield f"the header {name} is not described"
        if answer.status_code in (204, 304):
            if self.bodies or answer.data or "content-type" in given:
                yield "it has a body, or one is promised"
            return
        if "content-type" not in given and not answer.data and "preference-applied" in given:
            return  # no body, because the client preferred none or the service did not keep it
        kind = next((kind for kind in self.bodies if fnmatchcase(answer.mimetype or "", kind)), None)
        if kind is None:
            yield f"{answer.mimetype} is not among {list(self.bodies)}"
        elif (validator := self.bodies[kind]) is not None and answer.is_json and not without_body:
            text = gzip.decompress(answer.data) if given.get("content-encoding") == "gzip" else answer.data
            yield from _faults("", validator, orjson.loads(text),
                               some_fields=answer.status_code < 300 and "fields" in answer.request.args)


class Mismatch(AssertionError):
    """An answer that the document does not promise."""


class Description:
    """One document. test_document.py checks that it is valid."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self._promise = cache(self._new_promise)
        self._validator = cache(self._new_validator)

    @classmethod
    def of(cls, app: Flask) -> Description:
        """Returns the app's description. Apps with the same collections share it."""
        services: Services = app.extensions["gatepost"]
        return _described(services.registry)

    @property
    def operations(self) -> list[Operation]:
        return [Operation(path, method.upper(), spec) for path, item in self.document["paths"].items()
                for method, spec in item.items() if method in ("get", "post", "put", "patch", "delete")]

    def operation(self, method: str, path: str) -> Operation:
        """Returns the operation of `path` in the form of the document: `/api/articles/{id}`."""
        return Operation(path, method, self.document["paths"][path][method.lower()])

    def check(self, operation: Operation, answer: TestResponse, *, without_body: bool = False) -> None:
        """Raises `Mismatch` unless the document promises this status, media type, body and headers.

        `without_body` is for an answer to HEAD, and for one that is still being sent. The rows of an answer to `fields`
        may lack required fields.
        """
        promise = self._promise(operation, answer.status_code)
        faults = [f"the status is not promised: {answer.text[:500]}"] if promise is None else list(
            promise.faults(answer, without_body=without_body))
        if faults:
            raise Mismatch(f"{operation} answered {answer.status}: " + "; ".join(faults))

    def _new_promise(self, operation: Operation, status: int) -> Promise | None:
        responses = operation.spec["responses"]
        # `default` is for errors: a success is promised by its own status.
        promised = responses.get(str(status)) or (responses.get("default") if status >= 400 else None)
        if promised is None:
            return None
        spec = self._resolved(promised)
        general = {name: self.document["components"]["headers"][name] for name in EVERYWHERE}
        headers = {name.lower(): self._resolved(header)
                   for name, header in (general | spec.get("headers", {})).items()}
        return Promise(
            {name: self._validator(orjson.dumps(header["schema"])) for name, header in headers.items()},
            frozenset(name for name, header in headers.items() if header.get("required")),
            {kind: self._validator(orjson.dumps(content["schema"])) if "schema" in content else None
             for kind, content in spec.get("content", {}).items()})

    def _resolved(self, spec: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in spec:
            _, _, kind, name = spec["$ref"].split("/")
            spec = self.document["components"][kind][name]
        return spec

    def _new_validator(self, schema: bytes) -> Draft202012Validator:
        return Draft202012Validator({**orjson.loads(schema), "components": self.document["components"]},
                                    validate_formats=True)


_known: dict[frozenset[Any], Description] = {}


@lru_cache(maxsize=2)
def _described(registry: Discovered) -> Description:
    # Each app has a registry of its own. Most registries are the same, and building a document takes a second.
    # Each app builds the answers of a collection again from the class.
    same = frozenset([
        *((name, type(made)) for name, made in registry.collections.items()),
        *((one.method, one.path) if name in registry.collections
          else (one.method, one.path, type(one.answer), type(one.body))
          for name, _, several in registry.endpoints() for one in several if one.documented)])
    if same not in _known:
        _known[same] = Description(orjson.loads(document(registry, "3.1.0")))
    return _known[same]


def _faults(where: str, validator: Draft202012Validator, value: Any, *, some_fields: bool) -> Iterator[str]:
    if not validator.is_valid(value):
        for error in validator.iter_errors(value):
            if not (some_fields and _lacks_a_field(error)):
                yield f"{where}{'/'.join(map(str, error.instance_path))}: {error.message[:300]}"


def _lacks_a_field(error: Any) -> bool:
    """True if the error is that a row, or a row of a list, lacks a required field."""
    path = error.instance_path
    return isinstance(error.kind, ValidationErrorKind.Required) and (path == [] or path[:1] == ["items"])


def check_headers(answer: TestResponse) -> None:
    """Checks the headers that every answer has (docs/reference.md, Answer headers)."""
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,128}", answer.headers["X-Request-ID"])
    assert answer.headers["API-Version"] == "1"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def check_problem(answer: TestResponse, status: int | None = None, code: str | None = None) -> dict[str, Any]:
    """Checks that the answer is a problem document with its headers. Returns the document."""
    check_headers(answer)
    assert answer.mimetype == PROBLEM, (answer.status, answer.mimetype, answer.text[:300])
    problem: dict[str, Any] = answer.get_json()
    reason = problem.get("meta")
    assert reason is None or (answer.status_code == 403 and set(reason) == {"reason"} and reason["reason"])
    assert set(problem) - {"meta"} == {"type", "title", "status", "detail", "instance", "code", "request_id", "errors"}
    assert problem["status"] == answer.status_code
    assert problem["type"] == f"/docs/errors#{problem['code']}"
    assert problem["request_id"] == answer.headers["X-Request-ID"]
    assert problem["title"] and problem["detail"]
    for fault in problem["errors"]:
        assert {"code", "detail"} <= set(fault) <= {"code", "detail", "pointer", "parameter", "header", "meta"}
        assert len({"pointer", "parameter", "header"} & set(fault)) == 1
    assert answer.headers["Cache-Control"] == "no-store"
    assert ("WWW-Authenticate" in answer.headers) == (
        answer.status_code == 401 or problem["code"] == "insufficient_scope")
    assert ("Allow" in answer.headers) == (answer.status_code == 405)
    if answer.status_code == 503:
        assert answer.headers["Retry-After"]
    if status is not None:
        assert (answer.status_code, problem["code"]) == (status, code or problem["code"]), problem
    if code is not None:
        assert problem["code"] == code, problem
    return problem
