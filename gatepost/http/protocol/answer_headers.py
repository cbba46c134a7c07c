"""Headers that every answer carries, whether a handler, Flask or a server made it: its request id, constant ones, and
those that a stage adds with `carry`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from . import trace

_CARRIED = "gatepost.carried"


class AnswerHeaders:
    """WSGI middleware: puts `headers` on an answer unless it has one of that name already; what was given to `carry`,
    always."""

    def __init__(self, application: WSGIApplication, headers: Iterable[tuple[str, str]]) -> None:
        self._application = application
        self._headers = dict(headers)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        carried = environ[_CARRIED] = {"X-Request-ID": trace.begin(environ)}

        def start(status: str, headers: list[tuple[str, str]], error: Any = None) -> Any:
            constant = self._headers
            for name, _ in headers:
                if name in constant:
                    constant = {other: value for other, value in constant.items() if other != name}
            return start_response(status, [*headers, *carried.items(), *constant.items()], error)

        return self._application(environ, start)


def carry(environ: WSGIEnvironment, headers: Mapping[str, str]) -> None:
    """Put these headers on whatever answers this request, an error too."""
    environ.setdefault(_CARRIED, {}).update(headers)


def carried(environ: WSGIEnvironment) -> dict[str, str]:
    """Returns the headers that were passed to `carry` for this request, and its `X-Request-ID`."""
    headers: dict[str, str] = environ.get(_CARRIED, {})
    return headers
