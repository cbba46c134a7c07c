"""Answers to errors: turns every exception into a problem document (RFC 9457)."""

from __future__ import annotations

import logging
from collections.abc import Collection

import orjson
from flask import Flask, Request, Response, g, request
from werkzeug.exceptions import HTTPException

from models.engine.errors import (
    AlreadyExists,
    Damaged,
    Erased,
    InvalidReference,
    InvalidState,
    InvalidValue,
    LostLog,
    NoRoom,
    Outdated,
    OutOfStock,
    Overloaded,
    StillReferenced,
    TimedOut,
    Unavailable,
)

from ..protocol import trace
from ..protocol.messages import Message
from ..protocol.problems import CATALOGUE, REFUSED_BY_SERVER, Fault, Problem
from ..request.call import services
from ..request.urls import path_of, url_of
from ..security.passwords import CannotHash, TooManyHashes

log = logging.getLogger("gatepost")

_BY_STATUS = {401: "unauthenticated", 403: "forbidden", 404: "not_found", 405: "method_not_allowed",
              406: "not_acceptable", 409: "conflict", 410: "gone", 412: "version_conflict", 413: "body_too_large",
              414: "uri_too_long", 415: "unsupported_media_type", 429: "rate_limited", 503: "unavailable"}


def problem_response(problem: Problem) -> Response:
    """Returns the problem document (RFC 9457 section 3) with its headers, in the caller's language."""
    app = services()
    translation = app.translations.wanted(request)
    status, title = problem.status, translation.say(CATALOGUE[problem.code][1])
    g.problem = problem.code
    document = {
        "type": url_of(app.settings, request, f"/docs/errors#{problem.code}", by_proxy=False),
        "title": title,
        "status": status,
        "detail": translation.say(problem.detail) or title + ".",
        # The document has the path, which may not be valid UTF-8. The report of an error must not fail.
        "instance": path_of(request, request.path).encode("utf-8", "replace").decode(),
        "code": problem.code,
        "request_id": trace.request_id(request.environ),
        "errors": [fault.to_dict(translation) for fault in problem.faults],
    }
    if problem.reason:
        document["meta"] = {"reason": translation.say(problem.reason)}
    response = Response(orjson.dumps(document), status, mimetype="application/problem+json")
    response.headers.update({"Cache-Control": "no-store", "Content-Language": translation.tag,
                             "Vary": "Accept-Language"})
    response.headers.update(problem.headers)
    if status == 401:
        response.headers.setdefault("WWW-Authenticate", _challenge(problem.code))
    elif status == 503:
        response.headers.setdefault("Retry-After", "1")
    return response


def _challenge(code: str) -> str:
    """Returns the challenge. It has no error code if the request had no credentials (RFC 6750 section 3)."""
    if code in ("invalid_token", "token_expired"):
        return 'Bearer error="invalid_token"'
    return "Bearer"


def translate(error: Exception, sent: Collection[str] = ()) -> Problem:
    """Returns the problem for an exception; `sent` are the names of the fields in the body.

    Errors of the database have documented codes. An unexpected exception is an `internal_error`, which reveals only the
    request id.
    """
    match error:
        case Problem():
            return error
        case AlreadyExists():
            faults = [Fault("already_exists", Message("Another object has this {field}.", field=column),
                            pointer=f"/{column}") for column in _blamed(error.columns, sent)]
            return Problem("already_exists", "Another object has this value.", faults)
        case StillReferenced():
            return Problem("still_referenced", "Other objects still refer to this one.")
        case InvalidReference():
            return Problem("invalid_reference", "A reference leads to an object that does not exist.")
        case InvalidValue():
            return Problem("invalid_body", "The database cannot store one of these values.")
        case Erased():
            return Problem("invalid_token", "The session has ended. Log in again.")
        case Outdated():
            return Problem("conflict", "The object was changed or deleted at the same time. Read it again.")
        case OutOfStock():
            return _conflict("out_of_stock", error)
        case InvalidState():
            return _conflict("conflict", error)
        case TooManyHashes():
            return Problem("rate_limited", "Too many logins at once.", headers={"Retry-After": "2"})
        case CannotHash():
            log.error("no password can be hashed or checked: %s", error)
            return Problem("unavailable", "Passwords cannot be checked right now.", headers={"Retry-After": "5"})
        case TimedOut():
            log.warning("statement timed out: %s", error)
            return Problem("timeout", "The database did not answer in time.")
        case Overloaded():
            # Not logged: there may be thousands of these. Requests that wait in vain are logged.
            return Problem("overloaded", "Too many requests wait for the database already.",
                           headers={"Retry-After": str(error.retry_after)})
        case Damaged():  # already logged
            return Problem("unavailable", "The database cannot be read right now.", headers={"Retry-After": "60"})
        case NoRoom():
            log.error("%s", error)
            return Problem("unavailable", "Nothing can be stored right now: the disk is full.",
                           headers={"Retry-After": "60"})
        case LostLog():  # already logged
            return Problem("unavailable", "Nothing can be stored right now.", headers={"Retry-After": "60"})
        case Unavailable():
            log.error("database unavailable: %s", error)
            return Problem("unavailable", "The database cannot be reached right now.")
        case HTTPException():
            return _from_werkzeug(error)
    # A damaged database causes errors of any kind: check for that before reporting a bug.
    if (damage := services().database.suspect()) is not None:
        return translate(damage)
    log.exception("unhandled error", exc_info=error)
    return Problem("internal_error", "Report the request id to the operator.")


def _blamed(columns: Collection[str], sent: Collection[str]) -> Collection[str]:
    """Selects the columns to blame for a conflict: those of a unique index that the client has set.

    The service itself sets the others, such as the owner.
    """
    return ([name for name in columns if name in sent] or [name for name in columns if name != "owner_id"] or columns)


def _conflict(code: str, error: InvalidState) -> Problem:
    return Problem(code, error.message, [Fault(code, error.message, pointer=f"/{name}") for name in error.fields])


def _from_werkzeug(error: HTTPException) -> Problem:
    # flask-smorest's handler drops the exception's own headers: Allow, Retry-After.
    headers = {name: value for name, value in error.get_headers() if name in ("Allow", "Retry-After", "Location")}
    return of_status(error.code or 500, headers)


def of_status(status: int, headers: dict[str, str] | None = None, detail: str = "") -> Problem:
    """Returns the closest problem for the status of an error from code outside Gatepost."""
    code = _BY_STATUS.get(status)
    if code is None:
        code = "invalid_parameter" if status < 500 else "internal_error"
    return Problem(code, detail, headers=headers or {})


def refuse_for_the_server(request: Request) -> None:
    """Raises the problem with which the server has refused the request."""
    if REFUSED_BY_SERVER in request.environ:
        raise request.environ[REFUSED_BY_SERVER]


def install(app: Flask) -> None:
    """Answers every error of the application with a problem document."""
    def handle(error: Exception) -> Response:
        if isinstance(error, Unavailable | TimedOut):
            services().write_probe.doubt(refused=None if request.method in ("GET", "HEAD") else error)
        problem = translate(error, g.call.body if "call" in g else ())
        view = app.view_functions.get(request.endpoint or "")
        draw = getattr(getattr(view, "endpoint", None), "refused", None)
        return problem_response(problem) if draw is None else draw(problem)

    app.register_error_handler(HTTPException, handle)
    app.register_error_handler(Exception, handle)
