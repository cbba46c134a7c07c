"""Asynchronous requests, run as jobs: `Prefer: respond-async` (RFC 7240 section 4.1).

Errors in the head, the size of the body, or the permissions are answered at once; 202 means that the job can start. The
job acts as the user or service token that requested it, with the rights they have when it runs. Its scopes are those of
the request; for a service token, also limited to its current scopes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from tempfile import SpooledTemporaryFile
from typing import IO, Any
from weakref import finalize

from flask import Flask, request
from werkzeug.test import EnvironBuilder

from models.base import Rows, is_id, new_id, now, whole
from models.tables.job import Job, enqueue, unfinished
from models.tables.service_token import ServiceToken
from models.tables.user import User
from policies import Principal
from policies.evaluation.principal import Login

from ..http.pipeline import stages
from ..http.protocol.messages import Message
from ..http.protocol.problems import Problem
from ..http.request import identity
from ..http.request.access import Access
from ..http.request.call import Call, Services
from ..http.request.endpoint import Endpoint
from ..http.request.environment import RequestEnvironment
from ..http.request.urls import path_of
from ..http.schemas import validation
from .task import Task

_IN_MEMORY = 2**20  # bytes; a larger body is received into a file
# Headers that the work may depend on. No credentials are stored.
_HEADERS = ("Accept", "Accept-Language", "Content-Type", "User-Agent")
MOST_UNFINISHED = 50  # waiting or running jobs of one user; a process runs one at a time, the oldest first
Admit = Callable[[Call, str, Mapping[str, Any]], None]
"""Takes a call, and the kind and payload of its job. Raises `Problem` to refuse the job."""
_SHOWN_BY = "jobs"  # the collection that serves jobs
_ORIGIN = "token"  # in the payload: the credential of a program whose token a feature accepted


@dataclass
class PendingJob:
    """A job that is about to be stored.

    body  the body of the request
    size  its bytes
    """

    id: str = field(default_factory=new_id)
    body: IO[bytes] = field(default_factory=lambda: SpooledTemporaryFile(_IN_MEMORY))  # noqa: SIM115
    size: int = 0

    def __post_init__(self) -> None:
        # The file is also closed if the request is refused, or answered from its idempotency key.
        finalize(self, self.body.close)


def kind_of(collection: str, endpoint: Endpoint) -> str:
    """Returns the kind of this endpoint's jobs."""
    return f"{collection}.{endpoint.name}"


def deferrable(endpoint: Endpoint, collection: str, prepare: Callable[[Call], None],
               around: Callable[[Call], AbstractContextManager[object]] | None = None,
               admit: Admit | None = None) -> Endpoint:
    """Returns the endpoint with a variant that runs as a job.

    prepare  raises `Problem` for a request that cannot be done; `call.prepared` is the `PendingJob`
    around   a context around the transaction that stores the job
    admit    raises `Problem` for a job that exceeds a quota, in that transaction
    """
    kind = kind_of(collection, endpoint)

    def ask(call: Call) -> None:
        if call.principal.id is None:
            raise Problem("unauthenticated", "Only a user who is logged in can run this as a job.")
        call.prepared = PendingJob()
        prepare(call)

    later = replace(endpoint, writes=True, status=202, answer=None, prepare=ask, around=around, restrict=None,
                    handler=lambda call: _write_down(call, kind, admit),
                    summary=f"{endpoint.summary} As a job, where the client prefers respond-async.")
    return replace(endpoint, deferred=later)


def _write_down(call: Call, kind: str, admit: Admit | None) -> dict[str, Any]:
    pending: PendingJob = call.prepared
    if unfinished(call.tenant_id, call.principal.id or "") >= MOST_UNFINISHED:
        raise Problem("conflict", Message("{number} of your jobs wait or run already. Try again when one has ended.",
                                          number=MOST_UNFINISHED))
    principal, request = call.principal, call.request
    payload = {"method": request.method, "path": request.path, "query": request.query_string.decode("latin-1"),
               "address": call.address, "size": pending.size,
               "headers": {name: request.headers[name] for name in _HEADERS if name in request.headers}}
    if call.services.caller:
        payload["login"] = {name: principal.login[name] for name in call.services.caller}
    token_id = call.credential_id if principal.kind == "service" else None
    if token_id is not None and not is_id(token_id):
        token_id, payload[_ORIGIN] = None, token_id
    if admit is not None:
        admit(call, kind, payload)
    job = enqueue(call.tenant_id, kind, payload, id=pending.id, owner_id=principal.id,
                  scopes=None if principal.scopes is None else sorted(principal.scopes),
                  token_id=token_id)
    call.write.enqueued = True
    call.write.note = f"asked for job {job.id}"
    call.headers.update({"Location": path_of(call.request, f"/api/{_SHOWN_BY}/{job.id}"),
                         "Preference-Applied": "respond-async"})
    collection = call.services.collections[_SHOWN_BY]
    return collection.represent(call, [whole(job)], collection.representation.names)[0]


@contextmanager
def resumed(app: Flask, task: Task, endpoint: Endpoint) -> Iterator[Call]:
    """Yields the call of the job's request, as if it came now. Raises `Problem` if it would be refused."""
    services, stored = task.services, task.payload
    environ = _environ(stored)
    with app.request_context(environ):
        call = Call(services, endpoint, request._get_current_object(), {})  # type: ignore[attr-defined]
        with services.database.connected():
            call.principal = caller(services, task.job)
            call.credential_id = task.job.token_id or stored.get(_ORIGIN)
            environment = RequestEnvironment(call.request, services.settings.zone)
            call.access = Access(services.policy.current, call.principal, environment)
            stages.admit(call)
            call.query = validation.load_query(endpoint.query, call.request)
        yield call


def _environ(stored: Mapping[str, Any]) -> dict[str, Any]:
    builder = EnvironBuilder(path=stored["path"], method=stored["method"], query_string=stored["query"],
                             headers=stored["headers"], environ_base={"REMOTE_ADDR": stored["address"]})
    try:
        return builder.get_environ()
    finally:
        builder.close()


def caller(services: Services, job: Job) -> Principal:
    """Returns the principal that requested the job, with its current attributes. The database must be connected.

    Raises `Problem` (`invalid_token`, `token_expired`) if the account or the service token is no longer valid.
    """
    user = None if job.owner_id is None else Rows(User, job.tenant_id).find(job.owner_id)
    if user is None or not user.active:
        raise Problem("invalid_token", "The account that asked for this is no longer active.")
    requested = None if job.scopes is None else frozenset(job.scopes)
    if job.token_id is None:
        principal = replace(identity.principal_of(user), scopes=requested)
        if _ORIGIN in job.payload:
            return replace(principal, kind="service")
        return identity.with_login(principal, Login(job.payload["login"])) if "login" in job.payload else principal
    bearer = ServiceToken.bearer(services.database, job.token_id)
    if bearer is None or bearer.user_id != user.id:
        raise Problem("invalid_token", "The service token that asked for this was revoked.")
    if bearer.expires_at is not None and bearer.expires_at <= now():
        raise Problem("token_expired", "The service token that asked for this has expired.")
    scopes = bearer.scopes if requested is None else bearer.scopes & requested
    return replace(identity.principal_of(user), kind="service", scopes=scopes)


def check_unchanged(call: Call, task: Task) -> None:
    """Raises `Problem` if the attributes or rights of the caller have changed since the job began.

    With `unavailable`, the job is retried with the new attributes. A missing permission ends it.
    """
    if caller(call.services, task.job) != call.principal:
        raise Problem("unavailable", "Your rights have changed meanwhile.")
    if not Access(call.services.policy.current, call.principal, call.access.environment).may_ever(
            call.endpoint.permission or ""):
        raise call.access.refusal(call.endpoint.permission or "")
