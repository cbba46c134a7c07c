"""Holds answers against the OpenAPI document that the app itself gives out."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from flask import Flask
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012
from werkzeug.test import TestResponse

PROBLEM = "application/problem+json"


@dataclass(frozen=True)
class Operation:
    """One method of one path of the document."""

    path: str
    method: str
    spec: dict[str, Any] = field(repr=False, hash=False, compare=False)

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Description:
    """The document of one app; that it is a valid one, test_documents.py proves."""

    def __init__(self, app: Flask) -> None:
        self.document: dict[str, Any] = app.test_client().get("/api/openapi.json").get_json()
        self._registry = Registry().with_resource("urn:document", Resource(self.document, DRAFT202012))
        self._validator = cache(self._new_validator)

    @property
    def operations(self) -> list[Operation]:
        return [Operation(path, method.upper(), spec) for path, item in self.document["paths"].items()
                for method, spec in item.items() if method in ("get", "post", "put", "patch", "delete")]

    def operation(self, method: str, path: str) -> Operation:
        """The operation of `path`, as the document writes it: `/api/articles/{id}`."""
        return Operation(path, method, self.document["paths"][path][method.lower()])

    def check(self, operation: Operation, answer: TestResponse) -> None:
        """Status, media type and body of the answer are among those that the document promises."""
        promised = operation.spec["responses"]
        status = str(answer.status_code) if str(answer.status_code) in promised else "default"
        assert status in promised, f"{operation} answered {answer.status}: {answer.text[:500]}"
        at = _pointer("paths", operation.path, operation.method.lower(), "responses", status)
        response = promised[status]
        if "$ref" in response:
            at = response["$ref"]
            response = self.document["components"]["responses"][at.rpartition("/")[2]]
        content = response.get("content", {})
        if answer.status_code in (204, 304):
            assert not content and not answer.data and "Content-Type" not in answer.headers
            return
        kind = next((kind for kind in content if fnmatchcase(answer.mimetype, kind)), None)
        assert kind is not None, f"{operation} answered {answer.mimetype}, promised {list(content)}"
        if answer.is_json:
            pointer = at + _pointer("content", kind, "schema").removeprefix("#")
            errors = [f"{error.json_path}: {error.message}"
                      for error in self._validator(pointer).iter_errors(answer.get_json())]
            assert not errors, f"{operation}: {errors}"

    def _new_validator(self, pointer: str) -> Draft202012Validator:
        return Draft202012Validator({"$ref": f"urn:document{pointer}"}, registry=self._registry)


def _pointer(*parts: str) -> str:
    return "#/" + "/".join(part.replace("~", "~0").replace("/", "~1") for part in parts)


def check_headers(answer: TestResponse) -> None:
    """What every answer carries (docs/api.md, Conventions)."""
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,128}", answer.headers["X-Request-ID"])
    assert answer.headers["API-Version"] == "1"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def check_problem(answer: TestResponse, status: int | None = None, code: str | None = None) -> dict[str, Any]:
    """The answer is a problem document in the one shape, complete with its headers; the document."""
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
