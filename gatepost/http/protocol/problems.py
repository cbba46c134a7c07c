"""Errors in answers: one catalogue, one exception, one format.

The format is RFC 9457 (`application/problem+json`). Clients branch on `code`, a stable name in snake_case. `CATALOGUE`
is the complete list, from which the documentation is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .messages import Message, Translation, plural

REFUSED_BY_SERVER = "gatepost.refusal"  # in the environment, from the server: a `Problem` that becomes the answer
CUT_UNSEEN = "gatepost.cut_unseen"  # likewise: the body is chunked, and the server cannot see that it was cut off

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
    "invalid_reference": (400, Message("A referenced object does not exist")),
    "unknown_scope": (400, Message("A scope is not known")),
    "unsupported_version": (400, Message("This API version is not supported")),
    "idempotency_unsupported": (400, Message("Idempotency-Key is not supported here")),
    "unauthenticated": (401, Message("Authentication is required")),
    "invalid_token": (401, Message("The token is not valid")),
    "token_expired": (401, Message("The token has expired")),
    "invalid_credentials": (401, Message("The login is refused")),
    "login_incomplete": (401, Message("The login needs another step")),
    "insufficient_user_authentication": (401, Message("This needs a stronger or more recent login")),
    "forbidden": (403, Message("The policy does not allow this")),
    "insufficient_scope": (403, Message("The token's scopes do not cover this")),
    "not_found": (404, Message("Not found")),
    "method_not_allowed": (405, Message("This method is not allowed here")),
    "not_acceptable": (406, Message("No acceptable representation")),
    "conflict": (409, Message("The state of the object does not allow this")),
    "already_exists": (409, Message("Another object has this value")),
    "still_referenced": (409, Message("Other objects refer to this one")),
    "invalid_transition": (409, Message("The object is in another state")),
    "out_of_stock": (409, Message("Not enough in stock")),
    "last_administrator": (409, Message("No administrator would be left")),
    "idempotency_in_progress": (409, Message("The first request with this key is still running")),
    "gone": (410, Message("No longer available")),
    "version_conflict": (412, Message("The object has changed")),
    "body_too_large": (413, Message("The body is too large")),
    "uri_too_long": (414, Message("The URL is too long")),
    "unsupported_media_type": (415, Message("The media type is not supported")),
    "idempotency_mismatch": (422, Message("The key was used for another request")),
    "precondition_required": (428, Message("If-Match is required")),
    "rate_limited": (429, Message("Too many requests")),
    "internal_error": (500, Message("Internal error")),
    "unavailable": (503, Message("The service is unavailable")),
    "overloaded": (503, Message("The service is overloaded")),
    "timeout": (503, Message("The request took too long")),
}

MOST_FAULTS = 100  # faults in one answer, which must not be much longer than its request


@dataclass(frozen=True)
class Fault:
    """Fault of a request: an entry of `errors`.

    Exactly one of `pointer` (RFC 6901, into the body), `parameter` and `header` has its place.
    `meta` holds machine-readable values such as `min`, `max`, `from`, `to`, `line`.
    """

    code: str
    detail: str
    pointer: str | None = None
    parameter: str | None = None
    header: str | None = None
    meta: Mapping[str, Any] | None = None

    def to_dict(self, translation: Translation) -> dict[str, Any]:
        """Returns the fault as JSON-ready data, in the language of the answer."""
        fields = {name: value for name, value in vars(self).items() if value is not None}
        return fields | {"detail": translation.say(self.detail)}


@dataclass
class Problem(Exception):
    """An error as the answer of a request. Raise it anywhere below the pipeline.

    `detail` is a constant text, or a `Message` if it has values. It is translated into the caller's language.
    If the policy refuses, `permission` is the missing permission; `reason` explains the refusal, if the setting
    `explain_refusals` allows that.

    >>> raise Problem("version_conflict", Message("The object is at version {version} now.", version=4))
    """

    code: str
    detail: str = ""
    faults: Sequence[Fault] = ()
    headers: dict[str, str] = field(default_factory=dict)
    permission: str = ""
    reason: str = ""

    @property
    def status(self) -> int:
        return CATALOGUE[self.code][0]

    @classmethod
    def of(cls, faults: Sequence[Fault], together: str) -> Problem:
        """Returns a problem with these faults. It has the code of a single fault; several faults have `together`."""
        if len(faults) == 1:
            return cls(faults[0].code, faults[0].detail, faults)
        detail = plural("{number} problem; see errors.", "{number} problems; see errors.", len(faults))
        return cls(together, detail, faults)


def not_found() -> Problem:
    """Returns the answer for a row that does not exist, and equally for a row that the caller may not view."""
    return Problem("not_found", "There is no such object, or you may not see it.")


def not_acceptable(types: Iterable[str]) -> Problem:
    """Returns 406 for a client that accepts none of these media types."""
    return Problem("not_acceptable", Message("Media types that are answered here: {types}.", types=", ".join(types)))


def unsupported_media_type(types: Iterable[str], header: str) -> Problem:
    """Returns 415 for a body of another media type; `header` is the header that lists these types for the client."""
    names = ", ".join(types)
    return Problem("unsupported_media_type", Message("Media types that are taken here: {types}.", types=names),
                   headers={header: names})


def dangling(pointer: str) -> Fault:
    """Returns the fault of a reference to a row that does not exist, or equally that the caller may not view."""
    return Fault("invalid_reference", "There is no such object, or you may not see it.", pointer=pointer)


def read_only(name: str) -> Fault:
    """Returns the fault of a field that this caller cannot set."""
    return Fault("read_only_field", "This field cannot be set.", pointer=f"/{name}")
