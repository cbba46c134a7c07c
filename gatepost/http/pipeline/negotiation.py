"""Negotiation of the media type (RFC 9110 section 12.5.1) and of the version of the API.

Almost all data is JSON.
"""

from __future__ import annotations

from functools import lru_cache

from flask import Flask, Response, request
from werkzeug.datastructures import MIMEAccept
from werkzeug.exceptions import NotFound
from werkzeug.http import parse_accept_header

from ..protocol.messages import Message
from ..protocol.problems import Fault, Problem, not_acceptable
from ..protocol.versions import CURRENT, named_version
from ..request.call import Call
from .errors import problem_response, translate

JSON, HTML = "application/json", "text/html"


def check(call: Call) -> None:
    """Raises `not_acceptable` if `Accept` excludes all media types of the endpoint. It does not apply to errors."""
    endpoint = call.endpoint
    accept = call.request.environ.get("HTTP_ACCEPT")
    types = endpoint.produces or (JSON,)
    if accept and endpoint.status != 204 and not _takes(accept, types):
        raise not_acceptable(types)


def best(call: Call, *types: str) -> str:
    """Returns the media type that the client prefers; the first one if it has no preference.

    Raises `Problem` (`not_acceptable`).
    """
    wishes = call.request.accept_mimetypes
    if not any("/" in kind for kind in wishes.values()):
        return types[0]
    preferred = max(types, key=wishes.quality)
    if not wishes.quality(preferred):
        raise not_acceptable(types)
    return preferred


def check_version(call: Call) -> None:
    """Raises `unsupported_version` if the header `API-Version` names another version than the current one."""
    version = call.request.environ.get("HTTP_API_VERSION")
    if version is not None and version.strip() != CURRENT:
        fault = Fault("unsupported_version", Message("This server speaks version {current}.", current=CURRENT),
                      header="API-Version")
        raise Problem.of([fault], "unsupported_version")


def refuse_unknown_versions(app: Flask) -> None:
    """Refuses a path such as `/api/v9/articles` with its own error, not as an unknown path."""

    @app.errorhandler(404)
    def refuse(error: NotFound) -> Response:
        # Only the current version is removed from a path, so no route has another one.
        version = named_version(request)
        if version == CURRENT:
            return problem_response(translate(error))
        return problem_response(Problem("unsupported_version", Message(
            "This server speaks version {current}, not {asked}.", current=CURRENT, asked=version)))


@lru_cache(maxsize=256)
def _takes(accept: str, types: tuple[str, ...]) -> bool:
    # An unintelligible header excludes nothing. Parameters of media types are ignored: a scraper sends
    # text/plain;version=0.0.4.
    wishes = MIMEAccept((_bare(kind), quality) for kind, quality in parse_accept_header(accept, MIMEAccept))
    return not any("/" in kind for kind in wishes.values()) or any(
        wishes.quality(media_type) > 0 for media_type in map(_bare, types))


def _bare(media_type: str) -> str:
    return media_type.partition(";")[0].strip()
