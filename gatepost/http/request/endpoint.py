"""`Endpoint`: one declared route, from its permission to what the documentation says of it.

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
class Endpoint:
    """One declared route. Its permission, or the reason why it needs none, is part of the declaration.

    For a write no connection is held while `query` and `body` are loaded and `prepare` runs: what has to look something
    up there does so in `services.database.connected()`.

    name        its name within the blueprint, such as `list` or `publish`
    path        the whole path, in Flask's notation: `/api/articles/<id>`; `method` in capitals
    permission  `<resource>.<action>`; None only with `public`, the reason why none is needed
    handler     does it: takes the `Call`, returns JSON-ready data, None (204), or a Response
    query       schema of the query string; None: no parameter is known
    body        schema of the JSON body, None: none is read; one of `accepts`, refused if absent (`body_required`)
    lines       schema of the lines of a body that is a file, for the documentation
    largest_body  most bytes of the body, instead of the setting `body_limit`
    partial     PATCH: absent fields stay as they are
    fixed       fields of the body schema that this endpoint cannot change; sent, they must equal the stored ones
    kept        fields that may be left out though the schema requires them: the handler decides
    defaults    (field, value) of what a body leaves out, for the documentation
    answer      schema of the answer of `status`, for the documentation; the contract tests hold answers against it
    produces    media types of an answer that no schema describes
    problems    statuses of problems that nothing else here tells of, for the documentation: 404 of a setting
    carries     headers of its answer which nothing else here tells of, for the documentation
    by_cookie   takes the refresh token as a cookie, too
    statuses    in which it gives its answer besides `status`: 503 of health
    prepare     does what takes long and changes no row, before any writer has to wait; may fill `prepared`
    around      holds what the transaction of a write needs before and after it; may set `write.response`: none is made
    fetch       does what takes long and needs no transaction, after a replay: a plugin's `prepare`
    load        finds or drafts the row that the permission is judged on, before the handler runs
    writes      runs in one write transaction together with its audit row
    restrict    refuses what no policy line can allow; asked whenever the row is judged
    narrows     the handler itself keeps to the rows on which the permission is granted (lists, exports, imports)
    judge_after the row is judged once more as the handler left it (PUT, PATCH)
    conditional takes `If-Match` (RFC 9110 section 13.1.1) against the loaded row's version
    version_guard  the permission that shows the version of the row, where that is guarded
    summary     one line for the documentation
    documented  whether the OpenAPI document has it, and what looks for endpoints by permission: pages are not
    translate   makes of the head of what was sent the one that this endpoint understands: of a form's POST, a PATCH
    read_form   makes of a form that was sent the request that this endpoint understands, with JSON and headers: the
                body is read here, once the limits allow it
    refused     draws its refusals, such as a page's; they are problem documents unless given
    operation   its `operationId`, which clients are generated from; without it, `<group>_<name>`
    secret      its answer is a secret: never kept for a repeated request
    by_slug     the `id` of the path may also be a slug, which `load` looks up
    deprecated  since when clients should use something else, and until when they need not
    recorded    what the audit trail calls it, where that is not its permission: `session.logout`
    offline     works without the database: health, documentation
    identify    finds who asks from the services and the request, where more than `Authorization` says it
    anonymous   the caller is a guest, whatever `Authorization` says: nothing is looked up in the database
    tight       counted per address as tightly as wrong passwords are
    cost        units that a call takes from the caller's limit; a large body takes more (`limits`). 0: no limit refuses
                it
    deferred    the endpoint that answers instead where the client prefers `respond-async` (RFC 7240 section 4.1)
    variant     (parameter, value, endpoint): the endpoint that answers instead where the query string says so
    """

    name: str
    method: str
    path: str
    handler: Callable[[Any], Any]
    permission: str | None = None
    public: str | None = None
    query: Schema | None = None
    body: Schema | None = None
    body_required: bool = True
    lines: Schema | None = None
    largest_body: int = 0
    accepts: tuple[str, ...] = JSON
    partial: bool = False
    fixed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    defaults: tuple[tuple[str, Any], ...] = ()
    answer: Schema | None = None
    produces: tuple[str, ...] = ()
    problems: tuple[int, ...] = ()
    carries: tuple[str, ...] = ()
    by_cookie: bool = False
    statuses: tuple[int, ...] = ()
    status: int = 200
    prepare: Callable[[Any], None] | None = None
    fetch: Callable[[Any], None] | None = None
    around: Callable[[Any], AbstractContextManager[object]] | None = None
    load: Callable[[Any], Any] | None = None
    writes: bool = False
    restrict: Callable[[Any], None] | None = None
    narrows: bool = False
    judge_after: bool = False
    conditional: bool = False
    version_guard: str | None = None
    secret: bool = False
    by_slug: bool = False
    deprecated: Deprecation | None = None
    recorded: str = ""
    offline: bool = False
    identify: Callable[[Any, Request], tuple[Principal, str | None]] | None = None
    anonymous: bool = False
    tight: bool = False
    cost: int = 1
    summary: str = ""
    documented: bool = True
    translate: Callable[[Request], Request] | None = None
    read_form: Callable[[Request], Request] | None = None
    refused: Callable[[Problem], Response] | None = None
    operation: str = ""
    deferred: Endpoint | None = None
    variant: tuple[str, str, Endpoint] | None = None

    def __post_init__(self) -> None:
        if (self.permission is None) == (self.public is None):
            raise TypeError(f"{self.method} {self.path} needs a permission, or public='reason', and not both")

    @cached_property
    def deprecated_parts(self) -> tuple[tuple[str, str, Deprecation], ...]:
        """The parts of query and body that clients should leave (`announced`)."""
        return announced(self.query, self.body)

    @property
    def repeatable(self) -> bool:
        """Whether it takes an `Idempotency-Key`: a write that is not idempotent by itself (RFC 9110 section 9.2.2), and
        whose answer may be kept."""
        return self.writes and not self.secret and self.method in REPEATED_BY_KEY

    @property
    def minimal(self) -> bool:
        """Whether it takes `Prefer: return=minimal` (RFC 7240 section 4.2): a write whose answer can be read again.

        That is what it made (201), what a PUT has put there, and a row with a version. A report, such as that of an
        import, is answered once, and so is a secret.
        """
        again = self.status == 201 or self.method == "PUT" or self.conditional
        return self.writes and not self.secret and self.answer is not None and again
