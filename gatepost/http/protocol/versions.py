"""API versions: `/api/v1/…` is `/api/…`, and `API-Version` has the version that a client expects."""

from __future__ import annotations

import re
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from flask import Request

CURRENT = "1"
_PREFIX = re.compile(r"/api/v(\d+)(?=/|$)")
_ENVIRON_KEY = "gatepost.version"


class VersionPrefix:
    """WSGI middleware that removes `/v1` from the path and notes it."""

    def __init__(self, application: WSGIApplication) -> None:
        self.application = application

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if match := _PREFIX.match(environ.get("PATH_INFO", "")):
            environ[_ENVIRON_KEY] = match[1]
            if match[1] == CURRENT:
                environ["PATH_INFO"] = "/api" + environ["PATH_INFO"][match.end():]
        return self.application(environ, start_response)


def named_version(request: Request) -> str:
    """Returns the version in the path; the current one if there is none."""
    version: str = request.environ.get(_ENVIRON_KEY, CURRENT)
    return version


def sent_path(request: Request) -> str:
    """Returns the path below that of the service, as the client wrote it, with its version."""
    version = request.environ.get(_ENVIRON_KEY)
    return request.path if version is None else f"/api/v{version}{request.path.removeprefix('/api')}"
