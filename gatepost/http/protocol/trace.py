"""Request ids, trace ids, and how long a request takes: by what log lines and answers of one request are found.

`X-Request-ID` of the client is taken when it is well-formed, else a new one is made. `traceparent` (W3C Trace Context,
section 3.2) is read, so that log lines join a trace.
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
    """Note that a request arrives now; its id, the client's own when valid, else one made for it."""
    environ[_STARTED] = perf_counter()
    sent = environ.get("HTTP_X_REQUEST_ID")
    id: str = sent if sent is not None and _REQUEST_ID.fullmatch(sent) else new_id()
    environ[_ID] = id
    return id


def request_id(environ: WSGIEnvironment) -> str:
    """The id of this request."""
    id: str | None = environ.get(_ID)
    if id is None:  # what a command does is no client's request
        id = environ[_ID] = new_id()
    return id


def elapsed(environ: WSGIEnvironment) -> float:
    """Seconds since this request arrived."""
    started: float = environ[_STARTED]
    return perf_counter() - started


def trace_id() -> str | None:
    """The trace that the client's `traceparent` names, 32 hex digits, or None."""
    match = _TRACEPARENT.fullmatch(request.headers.get("traceparent", ""))
    return match[1] if match else None
