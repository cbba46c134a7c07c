"""`Endpoint`: declaration of one route, in groups of fields.

Its functions take the `Call` that is being answered: `call` imports this module, so that their types cannot name it.
"""

from __future__ import annotations

from collections.abc import Callable
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
    deferred  endpoint that answers instead where the client prefers `respond-async` (RFC 7240 section 4.1)
    variant   (parameter, value, endpoint): endpoint that answers instead where the query string says so
    """

    name: str
    method: str
    path: str
    by_slug: bool = False
    deferred: Endpoint | None = None
    variant: tuple[str, str, Endpoint] | None = None


@dataclass(frozen=True, kw_only=True)
class Access:
    """Callers of an endpoint, and the decision about them.

    permission   `<resource>.<action>`; None only with `public`, the reason why none is needed
    identify     finds the caller from the services and the request, where more than `Authorization` names it
    anonymous    the caller is a guest, whatever `Authorization` says: nothing is looked up in the database
    offline      works without the database: health, documentation
    narrows      the handler itself keeps to the rows on which the permission is granted (lists, exports, imports)
    restrict     refuses what no rule can allow; called whenever the row is decided on
    judge_after  the row is decided on again as the handler changed it (PUT, PATCH)
    recorded     name in the audit log, where that is not the permission: `session.logout`
    """

    permission: str | None = None
    public: str | None = None
    identify: Callable[[Any, Request], tuple[Principal, str | None]] | None = None
    anonymous: bool = False
    offline: bool = False
    narrows: bool = False
    restrict: Callable[[Any], None] | None = None
    judge_after: bool = False
    recorded: str = ""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds of a call.

    cost          units that a call takes from the caller's limit; a large body takes more (`limits`). 0: no limit
                  refuses it
    tight         counted per address as tightly as wrong passwords are
    largest_body  most bytes of the body, instead of the setting `body_limit`
    """

    cost: int = 1
    tight: bool = False
    largest_body: int = 0


@dataclass(frozen=True, kw_only=True)
class Input:
    """Query string and body.

    query          schema of the query string; None: no parameter is known
    body           schema of the JSON body; None: none is read
    body_required  an absent body is refused
    accepts        media types of the body
    partial        absent fields stay as they are (PATCH)
    fixed          fields of the body that this endpoint cannot change; sent, they must equal the stored ones
    kept           fields that may be absent though the schema requires them: the handler decides
    by_cookie      takes the refresh token as a cookie, too
    conditional    takes `If-Match` (RFC 9110 section 13.1.1) against the loaded row's version
    version_guard  permission that shows the version of the row, where that is guarded
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

    For a write no connection is held while query and body are loaded and `prepare` runs: what has to look something
    up there does so in `services.database.connected()`.

    prepare  does what takes long and changes no row, before any writer has to wait; may fill `prepared`
    fetch    does what takes long and needs no transaction, after a replay: a plugin's `prepare`
    writes   True if the following run in one write transaction together with the audit row
    around   holds what the transaction needs before and after it; may set `write.response`: none is made then
    load     finds or drafts the row that is decided on
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

    answer    schema of the answer; the contract tests hold answers against it
    status    of the answer, unless it is a problem
    statuses  others in which it gives the same answer: 503 of health
    produces  media types of an answer that no schema describes
    secret    the answer is a secret: never kept for a repeated request
    """

    answer: Schema | None = None
    status: int = 200
    statuses: tuple[int, ...] = ()
    produces: tuple[str, ...] = ()
    secret: bool = False


@dataclass(frozen=True, kw_only=True)
class Description:
    """Facts for the OpenAPI document that the other groups do not tell.

    summary     one line
    operation   `operationId`, by which clients are generated; without it, `<group>_<name>`
    deprecated  since when clients should use something else, and until when they need not
    lines       schema of the lines of a body that is a file
    defaults    (field, value) of what a body leaves out
    problems    statuses of problems, such as the 404 that a setting makes
    carries     headers of the answer
    documented  False for pages, which neither the document nor a search by permission has
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

    refused    draws its refusals; None: they are problem documents
    translate  turns the head of a form's POST into the head that this endpoint understands
    read_form  turns the form into JSON and headers: its body is read here, once the limits allow it
    """

    refused: Callable[[Problem], Response] | None = None
    translate: Callable[[Request], Request] | None = None
    read_form: Callable[[Request], Request] | None = None


@dataclass(frozen=True, kw_only=True)
class Endpoint(Route, Access, Limits, Input, Steps, Output, Description, Page):
    """Declaration of one route. Its permission, or the reason why it needs none, is part of it.

    Each group of fields is a class above: a stage of the pipeline reads one or two of them.
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
        """True if it takes an `Idempotency-Key`: a write that is not idempotent by itself (RFC 9110 section 9.2.2), and
        whose answer may be kept."""
        return self.writes and not self.secret and self.method in REPEATED_BY_KEY

    @property
    def minimal(self) -> bool:
        """True if it takes `Prefer: return=minimal` (RFC 7240 section 4.2): a write whose answer can be read again.

        That is what it made (201), what a PUT has put there, and a row with a version. A report, such as that of an
        import, is answered once, and so is a secret.
        """
        again = self.status == 201 or self.method == "PUT" or self.conditional
        return self.writes and not self.secret and self.answer is not None and again
