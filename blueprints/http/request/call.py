"""What a request is made of: the `Endpoint` that was declared, and the `Call` that is being answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flask import Request, Response
from marshmallow import Schema

from ..operations.deprecation import Deprecation
from ..protocol.json_body import JSON

if TYPE_CHECKING:
    from models.tables.idempotency import IdempotencyKey
    from policies import Principal

    from .access import Access
    from .services import Services


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """One declared route. Its permission, or the reason why it needs none, is part of the declaration.

    For a write no connection is held while `query` and `body` are loaded and `prepare` runs: what has to look something
    up there does so in `services.database.connected()`.

    name        its name within the blueprint, such as `list` or `publish`
    path        below `/api`, in Flask's notation: `/articles/<id>`
    permission  `<resource>.<action>`; None only with `public`, the reason why nobody needs one
    handler     does it: takes the `Call`, returns JSON-ready data, None (204), or a Response
    query       schema of the query string; None: no parameter is known
    body        schema of the JSON body; None: no body is read
    partial     PATCH: absent fields stay as they are
    fixed       fields of the body schema that this endpoint cannot change; sent, they must equal the stored ones
    answer      schema of the answer, for the documentation; the contract tests hold answers against it
    produces    media types of an answer that no schema describes
    answers_401 though it has `own_credentials`; the documentation names it
    answers_404 for reasons that its path does not show; the documentation names it
    prepare     does what takes long and changes no row, before any writer has to wait; may fill `prepared`
    load        finds or drafts the row that the permission is judged on, before the handler runs
    writes      runs in one write transaction together with its audit row
    restrict    refuses what no policy line can allow; asked whenever the row is judged
    narrows     the handler itself keeps to the rows on which the permission is granted (lists, exports, imports)
    judge_after the row is judged once more as the handler left it (PUT, PATCH)
    conditional takes `If-Match` (RFC 9110 section 13.1.1) against the loaded row's version
    summary     one line for the documentation
    secret      its answer is a secret: never kept for a repeated request
    by_slug     the `id` of the path may also be a slug, which `load` looks up
    deprecated  since when clients should use something else, and until when they need not
    recorded    what the audit trail calls it, where that is not its permission: `session.logout`
    offline     works without the database: health, documentation
    own_credentials  takes no token of a user or service, and looks none up in the database: the caller is a guest. The
                handler may read `Authorization` itself (/metrics), or nothing does (/api/health/live)
    tight       counted per address as tightly as wrong passwords are
    cost        units that a call takes from the caller's limit; a large JSON body takes more (`limits`)
    """

    name: str
    method: str
    path: str
    handler: Callable[[Call], Any]
    permission: str | None = None
    public: str | None = None
    query: Schema | None = None
    body: Schema | None = None
    body_required: bool = True
    accepts: tuple[str, ...] = JSON
    partial: bool = False
    fixed: tuple[str, ...] = ()
    answer: Schema | None = None
    produces: tuple[str, ...] = ()
    answers_401: bool = False
    answers_404: bool = False
    status: int = 200
    prepare: Callable[[Call], None] | None = None
    load: Callable[[Call], Any] | None = None
    writes: bool = False
    restrict: Callable[[Call], None] | None = None
    narrows: bool = False
    judge_after: bool = False
    conditional: bool = False
    secret: bool = False
    by_slug: bool = False
    deprecated: Deprecation | None = None
    recorded: str = ""
    offline: bool = False
    own_credentials: bool = False
    tight: bool = False
    cost: int = 1
    summary: str = ""

    def __post_init__(self) -> None:
        if (self.permission is None) == (self.public is None):
            raise TypeError(f"{self.method} {self.path} needs a permission, or public='reason', and not both")


@dataclass(slots=True)
class Call:
    """One request on its way through the pipeline: who asks, what of, under which rules.

    Each stage fills what it knows; a handler finds everything here and touches no global.

    path       the variables of the path, such as `id`
    query      the loaded query string
    body       the loaded body; `read_only` the read-only fields that were sent with it, unchecked
    prepared   what `prepare` made ready for the handler
    digest     of the body, where the body is not kept in memory
    seen       (collection, id) of rows to which a reference was found good
    row        what the permission is judged on: a record, or a dict of its columns
    result     what the handler returned: JSON-ready data, a Response, or None for 204
    headers    what the answer carries besides
    status     of the answer, when it is not an error
    rule       file and line of the rule that allows a write
    note       what the audit trail should say besides
    claim      the `Idempotency-Key` of this request, not yet stored
    response   set early by a stage that answers instead of the handler
    timings    seconds per stage, of a call that is measured
    """

    services: Services
    endpoint: Endpoint
    request: Request
    path: Mapping[str, str]
    principal: Principal = field(init=False)
    access: Access = field(init=False)
    session_id: str | None = None
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    read_only: Mapping[str, Any] = field(default_factory=dict)
    prepared: Any = None
    digest: str | None = None
    seen: set[tuple[str, str]] = field(default_factory=set)
    row: Any = None
    result: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    status: int = field(init=False)
    rule: str | None = None
    note: str | None = None
    claim: IdempotencyKey | None = None
    response: Response | None = None
    timings: dict[str, float] | None = None

    def __post_init__(self) -> None:
        self.status = self.endpoint.status

    @property
    def tenant_id(self) -> str:
        """The caller's tenant: every query of this call stays inside it."""
        return self.principal.tenant_id

    @property
    def facts(self) -> Mapping[str, Any]:
        """The row's columns by name, as the policy sees them."""
        return self.row if isinstance(self.row, dict) else self.row.__data__
