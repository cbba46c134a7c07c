"""State of a request: its `Call`, the results of its effect (`Write`), and the app's `Services`."""

from __future__ import annotations

import atexit
import os
from abc import ABC, abstractmethod
from collections import abc
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, cast

from flask import Flask, Request, Response, current_app

from gatepost.http.operations.concurrency import ConcurrencyLimit, most_waiting, threads_of
from gatepost.http.operations.deprecation import DeprecatedUses
from gatepost.http.request.endpoint import Endpoint
from gatepost.http.schemas.validation import NO_PARAMETERS, LoadedQuery

if TYPE_CHECKING:
    from flask_smorest import Blueprint
    from marshmallow import Schema

    from gatepost.http.auditing.writer import AuditWriter
    from gatepost.http.operations.addresses import UnreadableAddresses
    from gatepost.http.operations.background import Background
    from gatepost.http.operations.limits import Limits
    from gatepost.http.operations.metrics import Metrics
    from gatepost.http.operations.row_quota import RowQuota
    from gatepost.http.operations.write_probe import WriteProbe
    from gatepost.http.protocol.messages import Translations
    from gatepost.http.request.access import Access
    from gatepost.http.request.bearer_token import BearerToken
    from gatepost.http.request.caller_attribute import CallerAttribute
    from gatepost.http.request.user_fact import UserFact
    from gatepost.http.schemas.fields import StrictSchema
    from gatepost.http.schemas.guarded import Guards
    from gatepost.http.schemas.representation import Representation
    from gatepost.http.security.access_tokens import AccessTokens
    from gatepost.http.security.cursors import Cursors
    from gatepost.http.security.epoch import Epoch
    from gatepost.http.security.keys import Keys
    from models.base import Record
    from models.engine.database import Database
    from models.tables.idempotency import IdempotencyKey
    from models.tables.user import User
    from policies import Policy, Principal
    from policies.loading.watch import Watcher
    from settings import LiveSettings, Settings

class Part(Protocol):
    """Part of a process with its own threads. A second `start` or `stop` in a row does nothing."""

    def start(self) -> None: ...
    def stop(self) -> None: ...


class Jobs(Part, Protocol):
    """Runner of jobs (`gatepost/jobs`)."""

    def wake(self) -> None:
        """Looks for a job at once, because one was committed."""

    def run_due(self) -> int:
        """Runs every job that is due, and returns their number."""


class Process(ABC):
    """Starts its parts once in each process, since a server may fork after the app was made."""

    _started_in: int = 0

    @property
    @abstractmethod
    def parts(self) -> Iterable[Part]:
        """Returns the parts in the order in which they start and stop."""

    @abstractmethod
    def close(self) -> None:
        """Closes the connections that the parts have used."""

    def ensure_running(self) -> None:
        """Starts the parts once in this process."""
        if self._started_in != os.getpid():
            self._started_in = os.getpid()
            for part in self.parts:
                part.start()
            # A process that exits by itself still stores its waiting rows.
            atexit.register(self.stop)

    def stop(self) -> None:
        """Stops the parts, which store their waiting rows, and closes the connections."""
        atexit.unregister(self.stop)
        self._started_in = 0
        for part in self.parts:
            part.stop()
        self.close()


class Setting(NamedTuple):
    """Fields that a request sets.

    fields  permission → the fields that need it
    stands  True if the permission of the endpoint, to create or of an action, stands for one that no rule names
    """

    fields: Mapping[str, tuple[str, ...]]
    stands: bool = False

    def recorded(self, policy: Policy) -> tuple[str, ...]:
        """Returns the permissions that the audit log names, beside that of the endpoint."""
        return tuple(one for one in self.fields if not self.stands or one not in policy.fallbacks)


NOTHING_SET = Setting(MappingProxyType({}))


@dataclass(slots=True)
class Write:
    """Results of the stages of the effect. A transaction that runs again starts with a new `Write`.

    row       the object of the decision: a record, or a dict of its columns
    unknown   columns of a new row whose values are not known at the decision (`Writable.derive`)
    result    the handler's return value: JSON-ready data, a Response, or None for 204
    response  the answer; set early by a stage that answers instead of the handler
    rule      file and line of the rule that allows a write
    note      a reason for the audit event
    decision  the facts by which the policy decides (`facts`), from the row before the change
    hidden    the row that exists but that the caller may not view
    facts     further facts for the audit event, as JSON
    changes   event → ids of its rows, for events that have a subscriber
    enqueued  True if it has written jobs, which may start after the commit
    dropped   credentials of the user that were removed besides, for the audit event and notices
    acted_as  the user in whose name the audit log records the call, such as the user who logs in; None: the caller
    setting   the fields that it sets and that need a permission of their own
    """

    row: Any = None
    unknown: frozenset[str] = frozenset()
    result: Any = None
    response: Response | None = None
    rule: str | None = None
    note: str | None = None
    decision: dict[str, Any] | None = None
    hidden: Mapping[str, Any] | None = None
    facts: str | None = None
    changes: dict[str, list[str]] = field(default_factory=dict)
    enqueued: bool = False
    dropped: tuple[str, ...] = ()
    acted_as: Principal | None = None
    setting: Setting = NOTHING_SET


@dataclass(slots=True)
class Call:
    """State of one request in the pipeline: caller, endpoint, input, rules.

    Each stage fills its part. A handler finds everything here, and needs no global.

    body       the validated body by field: of a PATCH, the fields that it names; `{}` without a body
    query      the validated query string by parameter, if the endpoint has a `query`
    path       the variables of the path, such as `id`
    row        the row that the path names: an object in a write, a dict in a read; None for a new row
    principal  the caller: `id` (None: a guest), `role`, `department`, `groups`, `kind` (`user`, `service` or `guest`)
    tenant_id  the tenant, for `Rows`
    prepared   the value that `prepare` has set
    endpoint   the endpoint: its `name` (`create`, `update`, `finish`, …) and its `permission`
    request    the request of Flask
    address    the client's network address; `-` if it is unknown
    headers    further headers of the answer; add yours here
    status     the status of the answer, unless it is an error

    For Gatepost alone:

    services   the app's
    access     what the policy allows the caller; `credential_id`: of their session or service token, or the origin of
               a token that a feature accepts
    read_only  the read-only fields that were sent with the body, unchecked
    units      taken from the limits so far
    confirmed  the stored hash of the caller's password, if the call has sent that password
    login      of a login: what is known of it before its next step, to be noted in the session
    digest     digest of the body, if the body is not kept in memory
    seen       (collection, id) of rows whose references are checked
    claim      the `Idempotency-Key` of this request, not yet stored
    timings    seconds per stage, of a call that is measured
    write      results of the effect; `row` is short for `write.row`
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
    units: int = 0
    confirmed: str | None = None
    login: Mapping[str, Any] | None = None
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
        """Network address of the client; `-` if it is unknown."""
        return self.request.remote_addr or "-"

    @property
    def actor(self) -> Principal | None:
        """Principal of the audit event: `acted_as`, else the caller; None before the credentials are checked."""
        return self.write.acted_as or getattr(self, "principal", None)

    @property
    def tenant_id(self) -> str:
        """Id of the caller's tenant. Every query of this call stays inside it."""
        return self.principal.tenant_id

    @property
    def session_id(self) -> str | None:
        """Id of the caller's session; None for a guest and for a program."""
        return self.credential_id if self.principal.kind == "user" else None

    @property
    def facts(self) -> Mapping[str, Any]:
        """Columns of the row by name, as the policy sees them."""
        return self.write.row if isinstance(self.write.row, dict) else self.write.row.__data__


class Peer(Protocol):
    """Interface of a collection for other collections and for endpoints; `reading/readable` explains it."""
    name: ClassVar[str]
    resource: ClassVar[str]
    model: ClassVar[type[Record]]
    schema: ClassVar[type[StrictSchema]]
    until: ClassVar[str | None]
    gone: ClassVar[str | None]
    representation: Representation
    @property
    def guards(self) -> Mapping[str, str]: ...
    def guards_in(self, policy: Policy) -> Guards: ...
    @property
    def answer(self) -> Schema: ...
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
    """Interface of the `Registry` for endpoints: the served collections and endpoints."""

    @property
    def collections(self) -> Mapping[str, Peer]: ...
    @property
    def by_resource(self) -> Mapping[str, Peer]: ...
    @property
    def by_permission(self) -> Mapping[str, list[Endpoint]]: ...
    @property
    def by_operation(self) -> Mapping[str, Endpoint]: ...
    @property
    def paths(self) -> frozenset[str]: ...
    @property
    def secret_paths(self) -> tuple[str, ...]: ...
    @property
    def subscribers(self) -> Mapping[str, Sequence[str]]: ...
    @property
    def migrations(self) -> Mapping[str, Path]: ...
    def endpoints(self) -> Sequence[tuple[str, str, Sequence[Endpoint]]]: ...
    @property
    def blueprints(self) -> tuple[Blueprint, ...]: ...
    def documented(self) -> list[Blueprint]: ...
    def __hash__(self) -> int: ...


@dataclass
class Services(Process):
    """Long-lived objects of one app, created once by `create_app`. Handlers reach them as `call.services`.

    settings      the current values; `live` replaces them as a whole
    threads       requests that one process handles at a time
    guest_tenant  id of the tenant in which callers without credentials act
    made          objects of features that live as long as the app, by the name of the feature
    caller        attributes of the caller that features declare, by name
    next_steps    functions of features that may ask for another step of a login
    bearers       functions of features that may accept a bearer token which Gatepost did not make
    droppers      functions of features that remove credentials of a user whose address is proved for the first time
    facts         facts of features about users, for access reviews
    long_answers  concurrency limit of exports that are being sent, by payer
    large_bodies  concurrency limit of large bodies that are being read, by network
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
    addresses: UnreadableAddresses
    row_quota: RowQuota
    write_probe: WriteProbe
    registry: Discovered
    guest_tenant: str
    audit_writer: AuditWriter
    background: Background
    deprecated_uses: DeprecatedUses
    translations: Translations
    metrics: Metrics | None = None
    jobs: Jobs = field(init=False)
    made: dict[str, object] = field(default_factory=dict)
    caller: Mapping[str, CallerAttribute] = field(default_factory=dict)
    next_steps: tuple[Callable[[Call, User], None], ...] = ()
    bearers: tuple[Callable[[Services, str], BearerToken | None], ...] = ()
    droppers: tuple[Callable[[Call, User], Iterable[str]], ...] = ()
    facts: Sequence[UserFact] = ()

    def __post_init__(self) -> None:
        self.threads = threads_of(self.settings)
        self.long_answers, self.large_bodies = (ConcurrencyLimit(most_waiting(self.threads)) for _ in range(2))

    def feature(self, name: str) -> object:
        """Returns the object that a feature has made for this app. Raises KeyError."""
        return self.made[name]

    @property
    def collections(self) -> Mapping[str, Peer]:
        """Collections by plural name, such as `articles`."""
        return self.registry.collections

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.live, self.policy, self.background, *((self.jobs,) if self.settings.run_jobs else ()))

    def close(self) -> None:
        self.database.close_all()


def services() -> Services:
    """Returns the services of the current app."""
    # Four times faster than through the proxy.
    app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]
    return cast(Services, app.extensions["gatepost"])
