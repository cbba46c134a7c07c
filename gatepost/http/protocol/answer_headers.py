"""Headers of every answer, from a handler, Flask or a server: request id, constants, and those of `carry`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from . import trace

_CARRIED = "gatepost.carried"


class AnswerHeaders:
    """WSGI middleware that adds the headers of `carry`, and those of `headers` that the answer does not have yet."""

    def __init__(self, application: WSGIApplication, headers: Iterable[tuple[str, str]]) -> None:
        self._application = application
        self._headers = dict(headers)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        carried = environ[_CARRIED] = {"X-Request-ID": trace.begin(environ)}

        def start(status: str, headers: list[tuple[str, str]], error: Any = None) -> Any:
            constant = self._headers
            for name, _ in headers:
                if name in constant:
                    constant = {key: value for key, value in constant.items() if key != name}
            return start_response(status, [*headers, *carried.items(), *constant.items()], error)

        return self._application(environ, start)


def carry(environ: WSGIEnvironment, headers: Mapping[str, str]) -> None:
    """Adds these headers to the answer of this request, even to an error."""
    environ.setdefault(_CARRIED, {}).update(headers)


def carried(environ: WSGIEnvironment) -> dict[str, str]:
    """Returns the headers that were passed to `carry` for this request, and its `X-Request-ID`."""
    headers: dict[str, str] = environ.get(_CARRIED, {})
    return headers
