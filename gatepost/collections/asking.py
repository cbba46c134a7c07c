"""Endpoints asked from within a request: how a page is made of what the API answers, and has no rights of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import BytesIO
from typing import Any
from urllib.parse import urlencode

import orjson
from flask import Request, Response

from ..http.pipeline import stages
from ..http.protocol.json_body import JSON
from ..http.protocol.problems import Problem
from ..http.request.call import Call

_STAGES = (stages.admit, stages.validate, stages.prepare, stages.load, stages.judge, stages.act)
_OF_THE_PAGE = frozenset(("HTTP_ACCEPT", "HTTP_AUTHORIZATION", "HTTP_IDEMPOTENCY_KEY", "HTTP_IF_MATCH",
                          "HTTP_IF_NONE_MATCH", "HTTP_PREFER"))  # what the page itself is asked with


def ask(call: Call, operation: str, query: Mapping[str, Any] | None = None, *, path: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None) -> Any:
    """What the read that is called `operation` (its `operationId`) answers to the caller, as JSON-ready data.

    It is asked as the same principal under the same rules. It is no request of its own: nothing is limited or
    recorded but what its handler takes units for and records. Parameters that are None or empty are not sent.

    Raises `Problem` where it refuses, and for an operation that is not served; TypeError for a write.
    """
    return asked(call, operation, query, path=path, body=body)[0]


def asked(call: Call, operation: str, query: Mapping[str, Any] | None = None, *,
          path: Mapping[str, str] | None = None, body: Mapping[str, Any] | None = None
          ) -> tuple[Any, Mapping[str, str]]:
    """The same, and the headers that its handler adds, such as `ETag`."""
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


def sent_instead(request: Request, method: str, query: Mapping[str, Any] | None = None,
                 body: Mapping[str, Any] | None = None, media_type: str = JSON[0],
                 headers: Mapping[str, str] | None = None) -> Request:
    """The request with another method, query, JSON body and headers (`{"HTTP_IF_MATCH": …}`): who sent it, and from
    where, stays."""
    environ = {name: value for name, value in request.environ.items()
               if name not in _OF_THE_PAGE and not name.startswith(("werkzeug.", "flask."))}
    raw = b"" if body is None else json.dumps(body).encode()
    environ |= {"REQUEST_METHOD": method, "wsgi.input": BytesIO(raw), "CONTENT_LENGTH": str(len(raw)),
                "CONTENT_TYPE": "" if body is None else media_type, **(headers or {}),
                "QUERY_STRING": urlencode([(name, value) for name, value in (query or {}).items()
                                           if value not in (None, "", [])], doseq=True)}
    environ.pop("HTTP_TRANSFER_ENCODING", None)
    made = type(request)(environ)
    made.max_content_length = request.max_content_length
    return made
