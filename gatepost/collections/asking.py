"""Calls of endpoints from within a request. A page shows answers of the API, so it has no rights of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from io import BytesIO
from typing import Any
from urllib.parse import urlencode

import orjson
from flask import Request, Response

from models.engine.errors import RowError

from ..http.pipeline import errors, stages
from ..http.protocol.json_body import JSON
from ..http.protocol.problems import Problem
from ..http.request.call import Call
from ..http.request.endpoint import Endpoint

_STAGES = (stages.admit, stages.validate, stages.prepare, stages.load, stages.judge, stages.act)
_OF_THE_PAGE = frozenset(("HTTP_ACCEPT", "HTTP_AUTHORIZATION", "HTTP_IDEMPOTENCY_KEY", "HTTP_IF_MATCH",
                          "HTTP_IF_NONE_MATCH", "HTTP_PREFER"))  # headers of the page's own request


def ask(call: Call, operation: str, query: Mapping[str, Any] | None = None, *, path: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None) -> Any:
    """Returns the answer of the read with this `operationId` to the caller, as JSON-ready data.

    The same principal and the same rules apply. It is not a request of its own: only its handler itself takes units
    of a limit and writes audit events. Parameters that are None or empty are not sent.

    Raises `Problem` if the endpoint refuses or the operation is not served; TypeError for a write.
    """
    return ask_with_headers(call, operation, query, path=path, body=body)[0]


def ask_with_headers(call: Call, operation: str, query: Mapping[str, Any] | None = None, *,
                     path: Mapping[str, str] | None = None, body: Mapping[str, Any] | None = None
                     ) -> tuple[Any, Mapping[str, str]]:
    """Returns the same as `ask`, and the headers that the handler adds, such as `ETag`."""
    endpoint = call.services.registry.by_operation.get(operation)
    if endpoint is None:
        raise Problem("not_found")
    if endpoint.writes:
        raise TypeError(f"{operation} writes: no page asks for that")
    sent = sent_instead(call.request, endpoint.method, query, body, endpoint.accepts[0])
    inner = Call(call.services, endpoint, sent, path or {})
    inner.principal, inner.access, inner.credential_id = call.principal, call.access, call.credential_id
    for stage in _STAGES:
        stage(inner)
    result = inner.write.result
    return orjson.loads(result.get_data()) if isinstance(result, Response) else result, inner.headers


def perform(call: Call, endpoint: Endpoint, query: Mapping[str, Any] | None = None, *,
            path: Mapping[str, str] | None = None, body: Mapping[str, Any] | bytes | None = None,
            media_type: str | None = None, headers: Mapping[str, str] | None = None) -> Any:
    """Runs a write for the caller as a request of its own, and returns its answer; None without a body.

    It takes units, has a transaction and an audit event of its own, and the rights that the caller has by then. A page
    may run several, each after the other, if it is in no transaction itself: in the `around` of its endpoint. Every
    write takes an `Idempotency-Key`, also a DELETE; the answer of a repeated write may be None.

    headers  such as `{"HTTP_IF_MATCH": '"3"'}`

    Raises `Problem` if the endpoint refuses.
    """
    sent = sent_instead(call.request, endpoint.method, query, body, media_type or endpoint.accepts[0], headers)
    # As for a form, POST lets the key repeat any write.
    repeatable = replace(endpoint, method="POST", deferred=None)
    try:
        response = stages.run_within(call, repeatable, sent, dict(path or {})).write.response
    except RowError as error:
        raise errors.translate(error) from error
    assert response is not None
    data = response.get_data()
    return orjson.loads(data) if data else None


def sent_instead(request: Request, method: str, query: Mapping[str, Any] | None = None,
                 body: Mapping[str, Any] | bytes | None = None, media_type: str = JSON[0],
                 headers: Mapping[str, str] | None = None) -> Request:
    """Copies the request with another method, query, body (JSON, or bytes) and headers (`{"HTTP_IF_MATCH": …}`).

    The credentials and the client address stay the same.
    """
    environ = {name: value for name, value in request.environ.items()
               if name not in _OF_THE_PAGE and not name.startswith(("werkzeug.", "flask."))}
    raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    environ |= {"REQUEST_METHOD": method, "wsgi.input": BytesIO(raw), "CONTENT_LENGTH": str(len(raw)),
                "CONTENT_TYPE": "" if body is None else media_type, **(headers or {}),
                "QUERY_STRING": urlencode([(name, value) for name, value in (query or {}).items()
                                           if value not in (None, "", [])], doseq=True)}
    environ.pop("HTTP_TRANSFER_ENCODING", None)
    copy = type(request)(environ)
    copy.max_content_length = request.max_content_length
    return copy
