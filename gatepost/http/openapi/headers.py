"""Headers of requests and answers. Each is described once, and operations refer to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..reading.query import NUMBERS
from ..request.endpoint import Endpoint

_TEXT = {"type": "string"}
# Entity tags in the usual form; `protocol/entity_tags` accepts more (RFC 9110 section 8.8.3).
_TAG = r'(W/)?"[!#-~]*"'
_TAGS = {"type": "string", "pattern": rf"^(\*|{_TAG}( *, *{_TAG})*)$"}
_SECONDS = {"type": "integer", "minimum": 0}

# Request headers, by component name. `X-Request-ID`, `API-Version` and `Accept-Language` are possible with every
# request. The text at the start of the document describes them, so that generated clients have no parameters for them.
SENT: Mapping[str, dict[str, Any]] = {
    "IfMatch": {"name": "If-Match", "schema": _TAGS, "description":
                "The `ETag` of the object as it was read: 412 where it has changed since (RFC 9110 section 13.1.1)."},
    "IfNoneMatch": {"name": "If-None-Match", "schema": _TAGS, "description":
                    "The `ETag` of an earlier answer: 304 where it is still the same (RFC 9110 section 13.1.2)."},
    "IdempotencyKey": {"name": "Idempotency-Key", "schema": {"type": "string", "minLength": 1, "maxLength": 257},
                       "description": "A key of the client's, 1 to 255 visible characters, quoted or bare: a request "
                                      "that is repeated with it has its effect once, and is answered as the first "
                                      "time. For callers who have logged in."},
    "PreferCount": {"name": "Prefer", "schema": _TEXT, "description":
                    "`count=exact` counts every row for `total`, `count=none` leaves it out (RFC 7240); in the "
                    "envelope of `page` and `offset`."},
    "PreferReturn": {"name": "Prefer", "schema": _TEXT, "description":
                     "`return=minimal` has the object left out of the answer (RFC 7240 section 4.2)."},
    "PreferAsync": {"name": "Prefer", "schema": _TEXT, "description":
                    "`respond-async` has it done as a job: 202 (RFC 7240 section 4.1)."},
}

# Headers of answers.
ANSWERED: Mapping[str, dict[str, Any]] = {
    "X-Request-ID": {"schema": _TEXT, "description": "Names this request in the service's log and audit log."},
    "API-Version": {"schema": _TEXT, "description": "The version of the API that answered."},
    "ETag": {"schema": _TEXT, "description": "Of this version of the object, or of this answer."},
    "Location": {"schema": {"type": "string", "format": "uri-reference"}, "description": "Where the new object is."},
    "Link": {"schema": _TEXT, "description": "The first, next and previous page (RFC 8288), or "
                                            "the successor of what is deprecated."},
    "Preference-Applied": {"schema": _TEXT, "description": "Which preference was followed (RFC 7240 section 3)."},
    "Idempotency-Replayed": {"schema": _TEXT, "description": "`true`: this is the answer that was given before."},
    "Content-Disposition": {"schema": _TEXT, "description": "A name for the file (RFC 6266)."},
    "Deprecation": {"schema": _TEXT, "description": "Since when it is deprecated (RFC 9745)."},
    "Sunset": {"schema": _TEXT, "description": "Until when it is there (RFC 8594)."},
    "Set-Cookie": {"schema": _TEXT, "description": "The refresh token, of a login that asked for it; or nothing in its "
                                                   "place."},
    "WWW-Authenticate": {"schema": _TEXT, "description": "How to authenticate (RFC 6750 section 3)."},
    "Accept": {"schema": _TEXT, "description": "The media types that a body may have (RFC 9110 section 12.5.1)."},
    "Accept-Encoding": {"schema": _TEXT, "description": "`identity`: bodies are sent without a content coding "
                                                        "(RFC 9110 section 12.5.3)."},
    "Accept-Patch": {"schema": _TEXT, "description": "Those of a PATCH (RFC 5789 section 3.1)."},
    "Accept-Post": {"schema": _TEXT, "description": "Those of a POST."},
    "Retry-After": {"schema": _SECONDS, "description": "Seconds after which to try again."},
    "RateLimit": {"schema": _TEXT, "description": "What is left of the caller's units, and until when."},
    "RateLimit-Policy": {"schema": _TEXT, "description": "The caller's units and the seconds that they are for."},
}
# Headers of every answer: the text at the start of the document describes them, and the shared answers have them.
EVERYWHERE = ("X-Request-ID", "API-Version", "RateLimit", "RateLimit-Policy", "Deprecation", "Sunset", "Link")
_OF_PROBLEMS = {401: ("WWW-Authenticate", "Set-Cookie"), 403: ("WWW-Authenticate",), 409: ("Retry-After",),
                412: ("ETag",), None: ("Retry-After", "Accept", "Accept-Encoding", "Accept-Patch", "Accept-Post")}


def request_headers(endpoint: Endpoint) -> list[str]:
    """Returns the request headers of an endpoint, by component name."""
    names = []
    if endpoint.conditional:
        names.append("IfMatch")
    if endpoint.method == "GET":
        names.append("IfNoneMatch")
    if endpoint.repeatable:
        names.append("IdempotencyKey")
    if is_list(endpoint):
        names.append("PreferCount")
    if endpoint.minimal:
        names.append("PreferReturn")
    if endpoint.deferred is not None:
        names.append("PreferAsync")
    return names


def is_list(endpoint: Endpoint) -> bool:
    """True if the endpoint answers pages in both envelopes."""
    return endpoint.query is not None and endpoint.query.fields.keys() >= set(NUMBERS)


def of_problems(status: int | None) -> dict[str, str]:
    """Returns the headers of the problem documents of a status, by name; None: of the shared answer for other statuses.
    """
    return {name: name for name in (*EVERYWHERE, *_OF_PROBLEMS.get(status, ()))}


def of_success(endpoint: Endpoint) -> dict[str, str]:
    """Returns the headers of an endpoint's successful answer, by name."""
    return {name: name for name in _of_success(endpoint)}


def _of_success(endpoint: Endpoint) -> Iterator[str]:
    if endpoint.method == "GET" or endpoint.conditional or endpoint.status == 201:
        yield "ETag"
    if endpoint.status == 201:
        yield "Location"
    if is_list(endpoint) or endpoint.deprecated is not None:
        yield "Link"
    if is_list(endpoint) or endpoint.repeatable or endpoint.minimal:
        yield "Preference-Applied"
    if endpoint.repeatable:
        yield "Idempotency-Replayed"
    yield from endpoint.carries
    if endpoint.deprecated is not None:
        yield from ("Deprecation", "Sunset")
