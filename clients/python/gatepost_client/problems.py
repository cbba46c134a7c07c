"""Exceptions for refusals and lost connections: one class for each that programs catch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from .types import Fault

_TOO_MUCH, _AWAY = 429, (502, 503, 504)


class GatepostError(Exception):
    """An answer that is not a success, or a lost connection.

    code         code of the problem document (RFC 9457), whose meaning never changes; `connection_lost` if no answer
                 came, empty if the answer was not one of Gatepost's
    status       HTTP status; 0 if no answer came
    detail       a sentence for users, in the language of the answer
    errors       the errors in the request: each has `pointer`, `parameter` or `header`, and a code of its own
    request_id   id of the request in the service's log
    retry_after  seconds after which the service asks the client to try again
    etag         of a 412: the current version of the object
    attempts     number of attempts
    """

    def __init__(self, code: str, status: int, detail: str, *, errors: Sequence[Fault] = (), request_id: str = "",
                 retry_after: float | None = None, etag: str | None = None) -> None:
        super().__init__(code, status, detail)
        self.code, self.status, self.detail = code, status, detail
        self.errors, self.request_id, self.retry_after, self.etag = errors, request_id, retry_after, etag
        self.attempts = 1

    def __str__(self) -> str:
        places = "".join(f"; {_place(fault)}: {fault['detail']}" for fault in self.errors)
        return f"{self.status} {self.code}: {self.detail}{places}"

    @property
    def may_pass(self) -> bool:
        """True if the same request may succeed a moment later."""
        return self.status in (0, _TOO_MUCH, *_AWAY) or self.code == "idempotency_in_progress"


class Invalid(GatepostError):
    """400, 413, 414, 415 or 422: the request is invalid; `errors` says where."""


class Unauthenticated(GatepostError):
    """401: there is no credential, or it is no longer valid."""


class Forbidden(GatepostError):
    """403: the policy, or the scopes of the token, do not allow it."""


class NotFound(GatepostError):
    """404: the object is absent, or the caller may not view it."""


class Conflict(GatepostError):
    """409: the state of the object does not allow it."""


class VersionConflict(GatepostError):
    """412: the object has another version than the one that was read; `etag` is the current one."""


class RateLimited(GatepostError):
    """429: too many requests."""


class Unavailable(GatepostError):
    """502, 503 or 504, or no answer at all. A write may or may not have had an effect."""


class JobFailed(GatepostError):
    """The job has failed or was cancelled; `code` and `detail` say why."""


_CLASSES: Mapping[int, type[GatepostError]] = {
    400: Invalid, 401: Unauthenticated, 403: Forbidden, 404: NotFound, 409: Conflict, 412: VersionConflict,
    413: Invalid, 414: Invalid, 415: Invalid, 422: Invalid, _TOO_MUCH: RateLimited, **dict.fromkeys(_AWAY, Unavailable),
}


def problem_of(answer: httpx.Response) -> GatepostError:
    """Returns the exception for an answer with its body. A body that is not a problem document is ignored."""
    document = _document(answer)
    kind = _CLASSES.get(answer.status_code, GatepostError)
    after = answer.headers.get("Retry-After", "")
    return kind(document.get("code", ""), answer.status_code, document.get("detail", answer.reason_phrase),
                errors=document.get("errors", ()), request_id=answer.headers.get("X-Request-ID", ""),
                retry_after=float(after) if after.isdecimal() else None, etag=answer.headers.get("ETag"))


def lost(what: str) -> Unavailable:
    """Returns the exception for a missing or incomplete answer; `what` is the kind of error."""
    return Unavailable("connection_lost", 0, f"No whole answer came ({what}).")


def _document(answer: httpx.Response) -> dict[str, Any]:
    if not answer.headers.get("Content-Type", "").startswith("application/problem+json"):
        return {}
    try:
        document = answer.json()
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _place(fault: Fault) -> str:
    return fault.get("pointer") or fault.get("parameter") or fault.get("header") or fault["code"]
