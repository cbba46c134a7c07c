"""Who is who in the logs, and what every answer carries: its request id, constant headers, and what a stage adds.

`X-Request-ID` of the client is taken when it is well-formed, else a new one is made. `traceparent` (W3C Trace Context,
section 3.2) is read, so that log lines join a trace.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from time import perf_counter
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from flask import request

from models.base import new_id

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")
_ID, _STARTED, _CARRIED = "gatepost.request_id", "gatepost.started", "gatepost.carried"


class Stamp:
    """WSGI middleware: the headers that every answer carries, whether a handler, Flask or a server made it.

    `headers` are put on an answer unless it has one of that name already; what was given to `carry`, always.
    """

    def __init__(self, application: WSGIApplication, headers: Iterable[tuple[str, str]]) -> None:
        self._application = application
        self._headers = dict(headers)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ[_STARTED] = perf_counter()
        sent = environ.get("HTTP_X_REQUEST_ID")
        id = environ[_ID] = sent if sent is not None and _REQUEST_ID.fullmatch(sent) else new_id()
        carried = environ[_CARRIED] = {"X-Request-ID": id}

        def start(status: str, headers: list[tuple[str, str]], error: Any = None) -> Any:
            constant = self._headers
            for name, _ in headers:
                if name in constant:
                    constant = {other: value for other, value in constant.items() if other != name}
            return start_response(status, [*headers, *carried.items(), *constant.items()], error)

        return self._application(environ, start)


def request_id() -> str:
    """The id of the current request: the client's own when valid, else one made for it."""
    id: str | None = request.environ.get(_ID)
    if id is None:  # what a command does is no client's request
        id = request.environ[_ID] = new_id()
    return id


def carry(environ: WSGIEnvironment, headers: Mapping[str, str]) -> None:
    """Put these headers on whatever answers this request, an error too."""
    environ.setdefault(_CARRIED, {}).update(headers)


def carried(environ: WSGIEnvironment) -> dict[str, str]:
    """What was given to `carry` for this request, and its `X-Request-ID`."""
    headers: dict[str, str] = environ.get(_CARRIED, {})
    return headers


def elapsed(environ: WSGIEnvironment) -> float:
    """Seconds since this request arrived."""
    started: float = environ[_STARTED]
    return perf_counter() - started


def trace_id() -> str | None:
    """The trace that the client's `traceparent` names, 32 hex digits, or None."""
    match = _TRACEPARENT.fullmatch(request.headers.get("traceparent", ""))
    return match[1] if match else None
