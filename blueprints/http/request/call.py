"""What a request is made of: the declared `Endpoint`, the `Call` that is being answered, and the app's `Services`."""

from __future__ import annotations

from collections import abc
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

from flask import Request, current_app
from marshmallow import Schema

from ..operations.deprecation import DeprecatedUses, Deprecation
from ..operations.slots import Slots, most_waiting, threads_of
from ..protocol.json_body import JSON
from ..schemas.loaded_query import NO_PARAMETERS, LoadedQuery
from .process import Jobs, Part, Process
from .write import Write

if TYPE_CHECKING:
    from flask_smorest import Blueprint

    from models.base import Record
    from models.engine.database import Database
    from models.tables.idempotency import IdempotencyKey
    from policies import Principal
    from policies.loading.watch import Watcher
    from settings import LiveSettings, Settings

    from ..auditing.trail import Trail
    from ..operations.background import Background
    from ..operations.limits import Limits
    from ..operations.metrics import Metrics
    from ..operations.ownership import Ownership
    from ..operations.pulse import Pulse
    from ..protocol.messages import Translations
    from ..schemas.fields import StrictSchema
    from ..schemas.representation import Representation
    from ..security.access_tokens import AccessTokens
    from ..security.cursors import Cursors
    from ..security.epoch import Epoch
    from ..security.keys import Keys
    from .access import Access


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
    largest_body  most bytes of the body, where that is more than the setting `body_limit`
    partial     PATCH: absent fields stay as they are
    fixed       fields of the body schema that this endpoint cannot change; sent, they must equal the stored ones
    kept        fields that may be left out though the schema requires them: the handler decides
    answer      schema of the answer of `status`, for the documentation; the contract tests hold answers against it
    produces    media types of an answer that no schema describes
    answers_401 though it is `anonymous`: its handler asks for a credential of its own
    answers_403, answers_404  though it has no permission, or no id in its path; the documentation names all three
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
    secret      its answer is a secret: never kept for a repeated request
    by_slug     the `id` of the path may also be a slug, which `load` looks up
    deprecated  since when clients should use something else, and until when they need not
    recorded    what the audit trail calls it, where that is not its permission: `session.logout`
    offline     works without the database: health, documentation
    anonymous   the caller is a guest, whatever `Authorization` says: nothing is looked up in the database
    tight       counted per address as tightly as wrong passwords are
    cost        units that a call takes from the caller's limit; a large JSON body takes more (`limits`)
    deferred    the endpoint that answers instead where the client prefers `respond-async` (RFC 7240 section 4.1)
    variant     (parameter, value, endpoint): the endpoint that answers instead where the query string says so
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
    largest_body: int = 0
    accepts: tuple[str, ...] = JSON
    partial: bool = False
    fixed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    answer: Schema | None = None
    produces: tuple[str, ...] = ()
    answers_401: bool = False
    answers_403: bool = False
    answers_404: bool = False
    status: int = 200
    prepare: Callable[[Call], None] | None = None
    fetch: Callable[[Call], None] | None = None
    around: Callable[[Call], AbstractContextManager[object]] | None = None
    load: Callable[[Call], Any] | None = None
    writes: bool = False
    restrict: Callable[[Call], None] | None = None
    narrows: bool = False
    judge_after: bool = False
    conditional: bool = False
    version_guard: str | None = None
    secret: bool = False
    by_slug: bool = False
    deprecated: Deprecation | None = None
    recorded: str = ""
    offline: bool = False
    anonymous: bool = False
    tight: bool = False
    cost: int = 1
    summary: str = ""
    deferred: Endpoint | None = None
    variant: tuple[str, str, Endpoint] | None = None

    def __post_init__(self) -> None:
        if (self.permission is None) == (self.public is None):
            raise TypeError(f"{self.method} {self.path} needs a permission, or public='reason', and not both")


@dataclass(slots=True)
class Call:
    """One request on its way through the pipeline: who asks, what of, under which rules.

    Each stage fills what it knows; a handler finds everything here and touches no global.

    services, endpoint, request  the app's, the declared one, and Flask's
    path       the variables of the path, such as `id`
    principal  who asks; `access`: what the policy allows them; `credential_id`: of their session or service token
    query      the loaded query string
    body       the loaded body; `read_only` the read-only fields that were sent with it, unchecked
    prepared   what `prepare` made ready for the handler
    confirmed  the kept hash of the caller's password, once the call has proved to know that password
    digest     of the body, where the body is not kept in memory
    seen       (collection, id) of rows to which a reference was found good
    headers    what the answer carries besides
    status     of the answer, when it is not an error
    claim      the `Idempotency-Key` of this request, not yet stored
    timings    seconds per stage, of a call that is measured
    write      what the effect leaves; `call.row` is short for `call.write.row`
    """

    services: Services
    endpoint: Endpoint
    request: Request
    path: Mapping[str, str]
    principal: Principal = field(init=False)
    access: Access = field(init=False)
    credential_id: str | None = None
    query: LoadedQuery = field(default_factory=lambda: NO_PARAMETERS)
    body: Mapping[str, Any] = field(default_factory=dict)
    read_only: Mapping[str, Any] = field(default_factory=dict)
    prepared: Any = None
    confirmed: str | None = None
    digest: str | None = None
    seen: set[tuple[str, str]] = field(default_factory=set)
    headers: dict[str, str] = field(default_factory=dict)
    status: int = field(init=False)
    claim: IdempotencyKey | None = None
    timings: dict[str, float] | None = None
    write: Write = field(default_factory=Write)

    def __post_init__(self) -> None:
        self.status = self.endpoint.status

    @property
    def row(self) -> Any:
        return self.write.row

    @row.setter
    def row(self, row: Any) -> None:
        self.write.row = row

    @property
    def address(self) -> str:
        """The client's network address; `-` where the server does not know it."""
        return self.request.remote_addr or "-"

    @property
    def actor(self) -> Principal | None:
        """In whose name the call is recorded: `acted_as`, else the caller; None before credentials were looked at."""
        return self.write.acted_as or getattr(self, "principal", None)

    @property
    def tenant_id(self) -> str:
        """The caller's tenant: every query of this call stays inside it."""
        return self.principal.tenant_id

    @property
    def facts(self) -> Mapping[str, Any]:
        """The row's columns by name, as the policy sees them."""
        return self.write.row if isinstance(self.write.row, dict) else self.write.row.__data__


class Peer(Protocol):
    """What one collection may ask of another, and an endpoint of any; `reading/readable` explains it."""
    name: ClassVar[str]
    resource: ClassVar[str]
    model: ClassVar[type[Record]]
    schema: ClassVar[type[StrictSchema]]
    until: ClassVar[str | None]
    gone: ClassVar[str | None]
    representation: Representation
    @property
    def guards(self) -> Mapping[str, str]: ...
    @property
    def view(self) -> str: ...
    @property
    def manage(self) -> str: ...
    def sees(self, call: Call, id: str) -> bool: ...
    def visible(self, call: Call, key: str, column: str = "id") -> dict[str, Any] | None: ...
    def visible_many(self, call: Call, ids: abc.Collection[str]) -> dict[str, dict[str, Any]]: ...
    def referred(self, call: Call, ids: Sequence[str], pointer: str) -> list[Any]: ...
    def represent(self, call: Call, rows: list[dict[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]: ...
    def hidden(self, call: Call, row: Mapping[str, Any], names: abc.Collection[str]) -> list[str]: ...


class Discovered(Protocol):
    """What is served: the `Registry` of `resources`, as an endpoint sees it."""

    @property
    def collections(self) -> Mapping[str, Peer]: ...
    @property
    def by_permission(self) -> Mapping[str, list[Endpoint]]: ...
    @property
    def subscribers(self) -> Mapping[str, Sequence[str]]: ...
    @property
    def migrations(self) -> Mapping[str, Path]: ...
    def blueprints(self) -> list[Blueprint]: ...
    def __hash__(self) -> int: ...


@dataclass
class Services(Process):
    """The long-lived objects of one app, made once by `create_app`: handlers reach them as `call.services`.

    settings      the values in force; `live` swaps them whole
    threads       requests that one process handles at a time
    guest_tenant  id of the tenant in which callers without credentials act
    long_answers, large_bodies  slots for exports that are being sent, by payer, and bodies being read, by network
    """

    settings: Settings
    live: LiveSettings
    database: Database
    epoch: Epoch
    policy: Watcher
    keys: Keys
    access_tokens: AccessTokens
    cursors: Cursors
    limits: Limits
    ownership: Ownership
    pulse: Pulse
    registry: Discovered
    guest_tenant: str
    trail: Trail
    background: Background
    deprecated_uses: DeprecatedUses
    translations: Translations
    metrics: Metrics | None = None
    jobs: Jobs = field(init=False)

    def __post_init__(self) -> None:
        self.threads = threads_of(self.settings)
        self.long_answers, self.large_bodies = (Slots(most_waiting(self.threads)) for _ in range(2))

    @property
    def collections(self) -> Mapping[str, Peer]:
        """Every collection by its plural name, such as `articles`."""
        return self.registry.collections

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.live, self.policy, self.background, *((self.jobs,) if self.settings.run_jobs else ()))

    def close(self) -> None:
        self.database.close_all()


def services() -> Services:
    """The services of the current app."""
    return cast(Services, current_app.extensions["gatepost"])
