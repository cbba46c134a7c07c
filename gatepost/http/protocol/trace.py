"""Request ids, trace ids and durations, which connect log lines and answers of one request.

A well-formed `X-Request-ID` of the client is used, otherwise a new one. `traceparent` (W3C Trace Context, section 3.2)
is read, so that log lines belong to a trace.
"""

from __future__ import annotations

import re
from time import perf_counter
from wsgiref.types import WSGIEnvironment

from flask import request

from models.base import new_id

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")
_ID, _STARTED = "gatepost.request_id", "gatepost.started"


def begin(environ: WSGIEnvironment) -> str:
    """Notes the arrival of a request, and returns its id: the client's if it is valid, otherwise a new one."""
    environ[_STARTED] = perf_counter()
    header = environ.get("HTTP_X_REQUEST_ID")
    id: str = header if header is not None and _REQUEST_ID.fullmatch(header) else new_id()
    environ[_ID] = id
    return id


def request_id(environ: WSGIEnvironment) -> str:
    """Returns the id of this request."""
    id: str | None = environ.get(_ID)
    if id is None:  # a command has no request
        id = environ[_ID] = new_id()
    return id


def elapsed(environ: WSGIEnvironment) -> float:
    """Returns the seconds since this request arrived."""
    started: float = environ[_STARTED]
    return perf_counter() - started


def trace_id() -> str | None:
    """Returns the trace id of the client's `traceparent`, 32 hex digits, or None."""
    match = _TRACEPARENT.fullmatch(request.headers.get("traceparent", ""))
    return match[1] if match else None
