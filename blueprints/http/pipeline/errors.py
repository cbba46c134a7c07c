"""Every error that Gatepost answers: one catalogue, one exception, one shape.

The shape is RFC 9457 (`application/problem+json`). `code` is the stable, snake_case name that
clients branch on; `CATALOGUE` is the complete list, and the documentation is made from it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from flask import Flask, Response, g, request
from werkzeug.exceptions import HTTPException

from models.engine.errors import (
    AlreadyExists,
    Damaged,
    InvalidReference,
    InvalidState,
    InvalidValue,
    Outdated,
    OutOfStock,
    Overloaded,
    StillReferenced,
    TimedOut,
    Unavailable,
)

from ..protocol import trace
from ..protocol.messages import Message, Translation, plural
from ..request.services import services
from ..security.passwords import CannotHash, TooManyHashes

log = logging.getLogger("gatepost")

REFUSAL = "gatepost.refusal"  # in the environment, from the server: a `Problem` that is all there is to answer

# code → (status, title). A code's meaning never changes; a new meaning is a new code.
CATALOGUE: dict[str, tuple[int, str]] = {
    "malformed_json": (400, Message("The body is not valid JSON")),
    "invalid_body": (400, Message("The body is not valid")),
    "invalid_field": (400, Message("A field is not valid")),
    "missing_field": (400, Message("A required field is missing")),
    "unknown_field": (400, Message("A field is not known")),
    "read_only_field": (400, Message("A field cannot be set")),
    "invalid_parameter": (400, Message("A parameter is not valid")),
    "unknown_parameter": (400, Message("A parameter is not known")),
    "invalid_header": (400, Message("A header is not valid")),
    "pagination_conflict": (400, Message("Paging parameters contradict each other")),
    "offset_too_large": (400, Message("The offset is too large")),
    "invalid_cursor": (400, Message("The cursor is not valid")),
    "cursor_mismatch": (400, Message("The cursor belongs to another query")),
    "cursor_expired": (400, Message("The cursor is too old")),
    "invalid_reference": (400, Message("A reference leads nowhere")),
    "unknown_scope": (400, Message("A scope is not known")),
    "unsupported_version": (400, Message("This API version is not supported")),
    "idempotency_unsupported": (400, Message("Idempotency-Key is not supported here")),
    "unauthenticated": (401, Message("Credentials are needed")),
    "invalid_token": (401, Message("The token is not valid")),
    "token_expired": (401, Message("The token has expired")),
    "invalid_credentials": (401, Message("E-mail or password is wrong")),
    "forbidden": (403, Message("The policy does not allow this")),
    "insufficient_scope": (403, Message("The token's scopes do not cover this")),
    "not_found": (404, Message("There is no such thing")),
    "method_not_allowed": (405, Message("This method is not allowed here")),
    "not_acceptable": (406, Message("No acceptable representation")),
    "conflict": (409, Message("The state of the object does not allow this")),
    "already_exists": (409, Message("Another object has this value")),
    "still_referenced": (409, Message("Other objects refer to this one")),
    "invalid_transition": (409, Message("The object is in another state")),
    "out_of_stock": (409, Message("Not enough in stock")),
    "idempotency_in_progress": (409, Message("The first request with this key still runs")),
    "gone": (410, Message("This endpoint is no longer there")),
    "version_conflict": (412, Message("The object has changed since")),
    "body_too_large": (413, Message("The body is too large")),
    "uri_too_long": (414, Message("The URL is too long")),
    "unsupported_media_type": (415, Message("The media type is not supported")),
    "idempotency_mismatch": (422, Message("The key was used for another request")),
    "precondition_required": (428, Message("If-Match is required")),
    "rate_limited": (429, Message("Too many requests")),
    "internal_error": (500, Message("Something went wrong on our side")),
    "unavailable": (503, Message("The service is not available right now")),
    "overloaded": (503, Message("The service has too much to do right now")),
    "timeout": (503, Message("The request took too long")),
}

_BY_STATUS = {404: "not_found", 405: "method_not_allowed", 406: "not_acceptable", 413: "body_too_large",
              414: "uri_too_long", 415: "unsupported_media_type", 429: "rate_limited", 503: "unavailable"}

MOST_FAULTS = 100  # of one request that are listed: the answer must not be many times as long as what was sent


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with a request: an entry of `errors`.

    Exactly one of `pointer` (RFC 6901, into the body), `parameter` and `header` says where.
    `meta` holds machine-readable values such as `min`, `max`, `from`, `to`, `line`.
    """

    code: str
    detail: str
    pointer: str | None = None
    parameter: str | None = None
    header: str | None = None
    meta: Mapping[str, Any] | None = None

    def to_dict(self, translation: Translation) -> dict[str, Any]:
        """What is answered of it, in the language of the answer."""
        known = {name: value for name, value in vars(self).items() if value is not None}
        return known | {"detail": translation.say(self.detail)}


@dataclass
class Problem(Exception):
    """An answer that is an error. Raise it anywhere below the pipeline.

    `detail` is a constant text, or a `Message` where there are values in it: it is told in the caller's language.

    >>> raise Problem("version_conflict", Message("The object is at version {version} now.", version=4))
    """

    code: str
    detail: str = ""
    faults: Sequence[Fault] = ()
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def status(self) -> int:
        return CATALOGUE[self.code][0]

    @classmethod
    def of(cls, faults: Sequence[Fault], together: str) -> Problem:
        """A single fault lends its own code to the problem; several come under `together`."""
        if len(faults) == 1:
            return cls(faults[0].code, faults[0].detail, faults)
        found = plural("{number} problem; see errors.", "{number} problems; see errors.", len(faults))
        return cls(together, found, faults)


def not_found() -> Problem:
    """The one answer for a row that is absent and for a row that the caller may not view."""
    return Problem("not_found", "There is no such object, or you may not see it.")


def dangling(pointer: str) -> Fault:
    """The one fault of a reference to an absent row, and of one to a row that the caller may not view."""
    return Fault("invalid_reference", "There is no such object, or you may not see it.", pointer=pointer)


def read_only(name: str) -> Fault:
    """The fault of a field that this caller cannot set."""
    return Fault("read_only_field", "This field cannot be set.", pointer=f"/{name}")


def answer(problem: Problem) -> Response:
    """The problem document (RFC 9457 section 3) with its headers, in the language that suits the caller."""
    translation = services().translations.wanted(request)
    status, title = problem.status, translation.say(CATALOGUE[problem.code][1])
    g.problem = problem.code
    document = {
        "type": f"/docs/errors#{problem.code}",
        "title": title,
        "status": status,
        "detail": translation.say(problem.detail) or title + ".",
        # It echoes the path, which may hold what UTF-8 cannot: never fail while reporting a failure.
        "instance": request.path.encode("utf-8", "replace").decode(),
        "code": problem.code,
        "request_id": trace.request_id(),
        "errors": [fault.to_dict(translation) for fault in problem.faults],
    }
    response = Response(orjson.dumps(document), status, mimetype="application/problem+json")
    response.headers.update({"Cache-Control": "no-store", "Content-Language": translation.tag,
                             "Vary": "Accept-Language"})
    response.headers.update(problem.headers)
    if status == 401:
        response.headers.setdefault("WWW-Authenticate", _challenge(problem.code))
    elif problem.code == "insufficient_scope":
        response.headers.setdefault("WWW-Authenticate", 'Bearer error="insufficient_scope"')
    elif status == 503:
        response.headers.setdefault("Retry-After", "1")
    return response


def _challenge(code: str) -> str:
    """RFC 6750 section 3: no error code when no credentials were sent."""
    if code in ("invalid_token", "token_expired"):
        return 'Bearer error="invalid_token"'
    return "Bearer"


def translate(error: Exception) -> Problem:
    """Whatever was raised, as the problem that the client may see.

    Errors of the database become their documented codes; anything unforeseen is an
    `internal_error` that tells the client nothing but the request id.
    """
    match error:
        case Problem():
            return error
        case AlreadyExists():
            faults = [Fault("already_exists", Message("Another object has this {field}.", field=column),
                            pointer=f"/{column}") for column in error.columns]
            return Problem("already_exists", "Another object has this value.", faults)
        case StillReferenced():
            return Problem("still_referenced", "Other objects still refer to this one.")
        case InvalidReference():
            return Problem("invalid_reference", "A reference leads to an object that does not exist.")
        case InvalidValue():
            return Problem("invalid_body", "The database cannot store one of these values.")
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
            # Not logged: the requests that wait in vain are, and of these there may be thousands.
            return Problem("overloaded", "Too many requests wait for the database already.",
                           headers={"Retry-After": str(error.retry_after)})
        case Damaged():  # logged where it was noted
            return Problem("unavailable", "The database cannot be read right now.", headers={"Retry-After": "60"})
        case Unavailable():
            log.error("database unavailable: %s", error)
            return Problem("unavailable", "The database cannot be reached right now.")
        case HTTPException():
            return _from_werkzeug(error)
    # A value that no write puts there makes errors of any kind: is it our mistake, or the disk's?
    if (damage := services().database.suspect()) is not None:
        return translate(damage)
    log.exception("unhandled error", exc_info=error)
    return Problem("internal_error", "Tell the operator the request id.")


def _conflict(code: str, error: InvalidState) -> Problem:
    return Problem(code, error.message, [Fault(code, error.message, pointer=f"/{name}") for name in error.fields])


def _from_werkzeug(error: HTTPException) -> Problem:
    # flask-smorest's handler loses the exception's own headers: Allow, Retry-After.
    headers = {name: value for name, value in error.get_headers() if name in ("Allow", "Retry-After", "Location")}
    code = _BY_STATUS.get(error.code or 500)
    if code is None:
        code = "invalid_parameter" if (error.code or 500) < 500 else "internal_error"
    return Problem(code, headers=headers)


def install(app: Flask) -> None:
    """Answer every error of the application as a problem document, and what the server in front refuses."""

    @app.before_request
    def refuse_for_the_server() -> None:
        if REFUSAL in request.environ:
            raise request.environ[REFUSAL]

    def handle(error: Exception) -> Response:
        return answer(translate(error))

    app.register_error_handler(HTTPException, handle)
    app.register_error_handler(Exception, handle)
