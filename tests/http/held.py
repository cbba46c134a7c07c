"""Every answer to a test client is compared with the OpenAPI document of the app that gave it.

`HeldClient` is the client of each app of tests/apps.py. For each path of the document it requires an answer with a
status, a media type, a body and headers that the document promises, or the test fails. A test that makes the service
answer differently, by a handler of its own or by rows that no client can store, uses the fixture `answers_otherwise`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map
from werkzeug.test import TestResponse

from tests.http.described import Description, Operation


class HeldClient(FlaskClient):
    """A client whose answers are compared with the document."""

    held = True

    def open(self, *args: Any, **more: Any) -> TestResponse:
        answer = super().open(*args, **more)
        if HeldClient.held and (operation := asked(self.application, answer)) is not None:
            # A body that is still being sent is left for the test to read.
            sent = answer.is_sequence or answer.is_json
            Description.of(self.application).check(
                operation, answer, without_body=answer.request.method == "HEAD" or not sent)
        return answer

    @classmethod
    @contextmanager
    def not_held(cls) -> Iterator[None]:
        """Allows answers that no document promises, during the block."""
        HeldClient.held = False
        try:
            yield
        finally:
            HeldClient.held = True


def asked(app: Flask, answer: TestResponse) -> Operation | None:
    """Returns the requested operation of the document; None if the document does not have it."""
    method = "GET" if answer.request.method == "HEAD" else answer.request.method
    path = _matched(app.url_map, re.sub(r"^/api/v1(?=/|$)", "/api", answer.request.path), method)
    spec = Description.of(app).document["paths"].get(path, {}).get(method.lower())
    return None if path is None or spec is None else Operation(path, method, spec)


def _matched(routes: Map, path: str, method: str) -> str | None:
    """Returns the path in the form of the document: `/api/articles/{id}`."""
    try:
        rule, _ = routes.bind("localhost").match(path, method, return_rule=True)
    except HTTPException:
        return None
    return re.sub("<(.*?)>", r"{\1}", rule.rule)
