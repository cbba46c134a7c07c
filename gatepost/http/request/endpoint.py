"""Declaration of one route (`Endpoint`), in groups of fields.

Its functions take the `Call`. `call` imports this module, so their types cannot name that class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flask import Request, Response
from marshmallow import Schema

from policies import Principal

from ..operations.deprecation import Deprecation, announced
from ..protocol.json_body import JSON
from ..protocol.problems import Problem

REPEATED_BY_KEY = ("POST", "PATCH")


@dataclass(frozen=True, kw_only=True)
class Route:
    """Address of an endpoint.

    name      within the blueprint, such as `list` or `publish`
    path      whole path in Flask's notation: `/api/articles/<id>`; `method` in capitals
    by_slug   the `id` of the path may also be a slug, which `load` looks up
    secret_path  the variables of the path are secret: logs and problem documents have `path` instead
    deferred  endpoint that answers instead if the client prefers `respond-async` (RFC 7240 section 4.1)
    variant   (parameter, value, endpoint): endpoint that answers instead if the query string has that value
    """

    name: str
    method: str
    path: str
    by_slug: bool = False
    secret_path: bool = False
    deferred: Endpoint | None = None
    variant: tuple[str, str, Endpoint] | None = None


@dataclass(frozen=True, kw_only=True)
class Access:
    """Callers of an endpoint, and the decision about them.

    permission   `<resource>.<action>`; None only with `public`, the reason why none is needed
    identify     finds the caller from the services and the request, if `Authorization` alone does not name it
    anonymous    the caller is a guest, regardless of `Authorization`; needs no query
    offline      works without the database: health, documentation
    narrows      the handler itself keeps to the rows on which the permission is granted (lists, exports, imports)
    restrict     refuses what no rule can allow; called whenever the row is decided on
    rules        the same as rules in code (`RuleInCode`) for the call and its row, which `explain` shows; the row may
                 be None. For an endpoint about a row of another feature's collection
    judge_after  the row is decided on again as the handler changed it (PUT, PATCH)
    recorded     name in the audit log, if it is not the permission: `session.logout`
    """

    permission: str | None = None
    public: str | None = None
    identify: Callable[[Any, Request], tuple[Principal, str | None]] | None = None
    anonymous: bool = False
    offline: bool = False
    narrows: bool = False
    restrict: Callable[[Any], None] | None = None
    rules: Callable[[Any, Any], Iterable[Any]] | None = None
    judge_after: bool = False
    recorded: str = ""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds of a call.

    cost          units that a call takes from the caller's limit; more for a large body (`limits`). 0: never limited
    tight         limited per address as tightly as wrong passwords
    largest_body  most bytes of the body, instead of the setting `body_limit`
    """

    cost: int = 1
    tight: bool = False
    largest_body: int = 0


@dataclass(frozen=True, kw_only=True)
class Input:
    """Query string and body.

    query          schema of the query string; None: no parameter is allowed
    body           schema of the JSON body; None: no body is read
    body_required  an absent body is refused
    accepts        media types of the body
    partial        absent fields stay as they are (PATCH)
    fixed          fields of the body that this endpoint cannot change; values in the body must equal the stored ones
    kept           required fields of the schema that may be absent; the handler decides
    by_cookie      also takes the refresh token as a cookie
    conditional    takes `If-Match` (RFC 9110 section 13.1.1) against the loaded row's version
    version_guard  permission that shows the version of the row, if the version is guarded
    """

    query: Schema | None = None
    body: Schema | None = None
    body_required: bool = True
    accepts: tuple[str, ...] = JSON
    partial: bool = False
    fixed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    by_cookie: bool = False
    conditional: bool = False
    version_guard: str | None = None


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Functions that a call runs, in this order. Each takes the `Call`.

    A write holds no connection while query and body are loaded and `prepare` runs. Code that needs a query there
    runs it in `services.database.connected()`.

    prepare  does slow work that changes no row, while no other writer waits; may fill `prepared`
    fetch    does slow work that needs no transaction, unless the answer is a replay: a plugin's `prepare`
    writes   True if the following functions run in one write transaction together with the audit event
    around   context manager around the transaction; if it sets `write.response`, the transaction does not run
    load     finds or drafts the row of the decision
    handler  returns JSON-ready data, None (204), or a Response
    """

    handler: Callable[[Any], Any]
    prepare: Callable[[Any], None] | None = None
    fetch: Callable[[Any], None] | None = None
    writes: bool = False
    around: Callable[[Any], AbstractContextManager[object]] | None = None
    load: Callable[[Any], Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Output:
    """Answer of an endpoint.

    answer    schema of the answer; the contract tests validate answers with it
    status    status of the answer, unless it is a problem
    statuses  further statuses of the same answer: 503 of the health check
    produces  media types of an answer without a schema
    secret    the answer is a secret, and is never stored for a repeated request
    """

    answer: Schema | None = None
    status: int = 200
    statuses: tuple[int, ...] = ()
    produces: tuple[str, ...] = ()
    secret: bool = False


@dataclass(frozen=True, kw_only=True)
class Description:
    """Facts for the OpenAPI document that the other groups do not have.

    summary     one line
    operation   `operationId`, from which generated clients name a function; by default `<group>_<name>`
    deprecated  successor, start of the deprecation, and last day of the endpoint
    lines       schema of the lines, if the body is a file
    defaults    (field, value) for fields that a body omits
    problems    further statuses of problems, such as a 404 that depends on a setting
    carries     headers of the answer
    documented  False for pages: neither the document nor a search by permission has them
    """

    summary: str = ""
    operation: str = ""
    deprecated: Deprecation | None = None
    lines: Schema | None = None
    defaults: tuple[tuple[str, Any], ...] = ()
    problems: tuple[int, ...] = ()
    carries: tuple[str, ...] = ()
    documented: bool = True


@dataclass(frozen=True, kw_only=True)
class Page:
    """Place of an endpoint among the pages for browsers.

    refused    renders its refusals; None: they are problem documents
    translate  turns the head of a form's POST into the head that this endpoint understands
    read_form  turns the form into JSON and headers; reads the body after the limits have allowed it
    """

    refused: Callable[[Problem], Response] | None = None
    translate: Callable[[Request], Request] | None = None
    read_form: Callable[[Request], Request] | None = None


@dataclass(frozen=True, kw_only=True)
class Endpoint(Route, Access, Limits, Input, Steps, Output, Description, Page):
    """Declaration of one route, including its permission or the reason why it needs none.

    Each group of fields is a class above. A stage of the pipeline reads one or two of them.
    """

    def __post_init__(self) -> None:
        if (self.permission is None) == (self.public is None):
            raise TypeError(f"{self.method} {self.path} needs a permission, or public='reason', and not both")

    @cached_property
    def deprecated_parts(self) -> tuple[tuple[str, str, Deprecation], ...]:
        """Parts of query and body that clients should stop using (`announced`)."""
        return announced(self.query, self.body)

    @property
    def repeatable(self) -> bool:
        """True if it takes an `Idempotency-Key`.

        That is a write that is not idempotent by itself (RFC 9110 section 9.2.2), and whose answer may be stored.
        """
        return self.writes and not self.secret and self.method in REPEATED_BY_KEY

    @property
    def minimal(self) -> bool:
        """True if it takes `Prefer: return=minimal` (RFC 7240 section 4.2): a write whose answer can be read again.

        Such an answer is a new object (201), the object of a PUT, or a row with a version. A report, such as that of an
        import, cannot be read again, and neither can a secret.
        """
        again = self.status == 201 or self.method == "PUT" or self.conditional
        return self.writes and not self.secret and self.answer is not None and again
