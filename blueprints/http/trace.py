"""Who is who in the logs: the request id and the trace of a request.

`X-Request-ID` of the client is taken when it is well-formed, else a new one is made; every answer
carries it. `traceparent` (W3C Trace Context, section 3.2) is read, so that log lines join a trace.
"""

from __future__ import annotations

import re
from time import perf_counter

from flask import Flask, Response, g, request

from models.base import new_id

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")


def request_id() -> str:
    """The id of the current request: the client's own when valid, else one made once."""
    known: str | None = g.get("request_id")
    if known is None:
        sent = request.headers.get("X-Request-ID", "")
        known = g.request_id = sent if _REQUEST_ID.fullmatch(sent) else new_id()
    return known


def trace_id() -> str | None:
    """The trace that the client's `traceparent` names, 32 hex digits, or None."""
    match = _TRACEPARENT.fullmatch(request.headers.get("traceparent", ""))
    return match[1] if match else None


def install(app: Flask) -> None:
    """Put on every answer what every answer carries (API, section 1)."""

    @app.before_request
    def start() -> None:
        g.started = perf_counter()

    @app.after_request
    def stamp(response: Response) -> Response:
        response.headers.extend((
            ("X-Request-ID", request_id()), ("API-Version", "1"), ("X-Content-Type-Options", "nosniff")))
        return response
