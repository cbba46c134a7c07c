"""API versions: `/api/v1/…` is `/api/…`, and `API-Version` says which one a client expects."""

from __future__ import annotations

import re
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from flask import Flask, Request, Response, request
from werkzeug.exceptions import NotFound

from ..pipeline.errors import answer, translate
from ..request.call import Call
from .messages import Message
from .problems import Fault, Problem

CURRENT = "1"
_PREFIX = re.compile(r"/api/v(\d+)(?=/|$)")
_ENVIRON_KEY = "gatepost.version"


class VersionPrefix:
    """WSGI middleware that takes `/v1` out of the path, and remembers that it was there."""

    def __init__(self, application: WSGIApplication) -> None:
        self.application = application

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if match := _PREFIX.match(environ.get("PATH_INFO", "")):
            environ[_ENVIRON_KEY] = match[1]
            if match[1] == CURRENT:
                environ["PATH_INFO"] = "/api" + environ["PATH_INFO"][match.end():]
        return self.application(environ, start_response)


def sent_path(request: Request) -> str:
    """The path as the client wrote it, with its version."""
    version = request.environ.get(_ENVIRON_KEY)
    path = request.path if version is None else f"/api/v{version}{request.path.removeprefix('/api')}"
    return request.root_path + path


def negotiate(call: Call) -> None:
    """Raises `unsupported_version` for any version but 1, and where header and path disagree."""
    sent = call.request.environ.get("HTTP_API_VERSION")
    if sent is not None and sent.strip() != CURRENT:
        fault = Fault("unsupported_version", Message("This server speaks version {current}.", current=CURRENT),
                      header="API-Version")
        raise Problem.of([fault], "unsupported_version")


def install(app: Flask) -> None:
    """Refuse a path such as `/api/v9/articles` by name, instead of as any unknown path."""

    @app.errorhandler(404)
    def refuse_unknown_prefix(error: NotFound) -> Response:
        # Only the version that is spoken is taken out of a path, so no route has any other.
        named = request.environ.get(_ENVIRON_KEY, CURRENT)
        if named == CURRENT:
            return answer(translate(error))
        return answer(Problem("unsupported_version", Message(
            "This server speaks version {current}, not {asked}.", current=CURRENT, asked=named)))
