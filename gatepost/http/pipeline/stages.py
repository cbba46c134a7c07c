"""One request, top to bottom: read this file to know where a request can be refused, and why.

Each stage is a function below, in the order in which it runs; it fills the `Call` or raises:

    `ARRIVAL`     limit_by_address, identify, choose_version, limit_by_principal, admit, retire: who asks
    `VALIDATION`  validate, prepare, replay, fetch: what for; no row is changed yet
    `EFFECT`      claim, load, judge, check_precondition, act, judge_after, record, answer: for a write inside one
                  transaction

Where the server asks with the head alone whether a body is worth reading (`expectation`), that runs `HEAD_ONLY`, and
the whole request `AFTER_HEAD` in the place of `ARRIVAL`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from time import perf_counter

from flask import Request, Response, g, request

from models.base import is_id, read_id
from models.engine.errors import Busy, Overloaded

from ..operations.deprecation import QUERY, Deprecation
from ..protocol import expectation
from ..protocol.answer_headers import carry
from ..protocol.json_body import read_json
from ..protocol.messages import Message
from ..protocol.problems import Fault, Problem, not_found
from ..request import audit, events, identity, reasons
from ..request.access import Access
from ..request.call import Call, Services, Write
from ..request.endpoint import Endpoint
from ..request.environment import RequestEnvironment
from ..request.urls import path_of, url_of
from ..schemas import validation
from . import conditional, idempotency, limiting, negotiation, responses

Stage = Callable[[Call], None]


def limit_by_address(call: Call) -> None:
    """429 when this address has used up its units. Before credentials: guessing them costs units too."""
    limiting.spend_by_address(call)


def identify(call: Call) -> None:
    """401 for credentials that are not valid, even where none are needed; of a logout, 400 and 403 for its cookie."""
    if call.endpoint.anonymous:
        call.principal = identity.guest(call.services.guest_tenant)
    elif call.endpoint.offline:
        call.principal, call.credential_id = identity.identify_if_possible(call.services, call.request)
    else:
        find = call.endpoint.identify or identity.identify
        call.principal, call.credential_id = find(call.services, call.request)
    environment = RequestEnvironment(call.request, call.services.settings.zone)
    call.access = Access(call.services.policy.current, call.principal, environment)


def choose_version(call: Call) -> None:
    """400 when the client asks for an API version that is not spoken here."""
    negotiation.check_version(call)


def limit_by_principal(call: Call) -> None:
    """429 when this principal has used up its units."""
    limiting.spend_by_principal(call)


def admit(call: Call) -> None:
    """401 or 403 when there is no object at all on which the policy would allow this."""
    permission = call.endpoint.permission
    if permission is not None and not call.access.may_ever(permission):
        raise call.access.refusal(permission)


def retire(call: Call) -> None:
    """410 when the endpoint's last day has passed; until then it says when that is, and counts each use."""
    if call.endpoint.deprecated is not None:
        _announce(call, call.endpoint.deprecated)


def validate(call: Call) -> None:
    """400, 406, 413 or 415 when path, query, headers or body are not what the endpoint declares; 410 when a part of
    them is no longer there; 429 when a body whose length was not announced is more than is left."""
    endpoint = call.endpoint
    if endpoint.read_form is not None:
        limiting.allow_body(call)
        call.request = endpoint.read_form(call.request)
    negotiation.check(call)
    if isinstance(id := call.path.get("id"), str) and not is_id(id):
        _read_path(call, id)
    call.query = validation.load_query(endpoint.query, call.request, call.access.may_ever)
    conditional.check_syntax(call)
    idempotency.check_syntax(call)
    if endpoint.body is not None:
        if endpoint.read_form is None:
            limiting.allow_body(call)
        sent = read_json(call.request, accepts=endpoint.accepts, required=endpoint.body_required)
        call.body, call.read_only = validation.load_body(
            endpoint.body, sent, partial=endpoint.partial, fixed=endpoint.fixed, kept=endpoint.kept)
    for mark, name, deprecation in endpoint.deprecated_parts:
        if name in (call.query if mark == QUERY else call.body):
            _announce(call, deprecation, mark + name)


def prepare(call: Call) -> None:
    """Does what takes long and changes no row, before any writer has to wait. A password: 401 when it is wrong, 400
    when a new one is too weak, 429 for too many guesses; 403 when a sensitive change lacks it. The file of an
    import is read here: 400, 413, 415, 429, 503.
    """
    if call.endpoint.prepare is not None:
        call.endpoint.prepare(call)


def replay(call: Call) -> None:
    """Answers at once what the same `Idempotency-Key` was answered before. 422 for another body; 404 when the caller
    may no longer view the row that it shows."""
    idempotency.replay(call)


def fetch(call: Call) -> None:
    """Does what a plugin's `prepare` does, outside of any transaction: it may ask other services. A row that the path
    names is judged before, and again in the transaction: 404, 403, 412."""
    if call.endpoint.fetch is not None and call.write.response is None:
        call.endpoint.fetch(call)


def claim(call: Call) -> None:
    """Takes the `Idempotency-Key` for this call; 409 when its first request takes too long."""
    idempotency.claim(call)


def load(call: Call) -> None:
    """404 when the row is absent, or the caller may not view it; the two are one answer. 400 when the body of a POST
    refers to such a row, or sets a field that the caller cannot set, such as `owner_id`."""
    if call.endpoint.load is not None:
        call.row = call.endpoint.load(call)
        if call.row is None:
            audit.note_hidden(call)
            raise not_found()


def judge(call: Call) -> None:
    """403 when the policy does not allow this to be done to this row."""
    if call.row is not None:
        _judge(call)
    elif call.endpoint.permission is not None and not call.endpoint.narrows:
        # Without a row, rules with a condition on the row do not match.
        call.access.require(call.endpoint.permission)
    if call.endpoint.writes:
        audit.note_decision(call)


def check_precondition(call: Call) -> None:
    """412 when the row is not at the version that `If-Match` names."""
    conditional.check(call)


def act(call: Call) -> None:
    """Does it. 409 when the state of the row does not allow it, or another row has its unique value. 400 when a PUT or
    PATCH refers to an absent row or changes a read-only field, when a line of an import fails, and for a cursor that
    cannot be used. 401 and 403 for a refresh token; 406 and 503 for an export."""
    call.write.result = call.endpoint.handler(call)


def judge_after(call: Call) -> None:
    """403 when the policy does not allow the change of the row as it is now: no caller moves a row out of reach."""
    if call.endpoint.judge_after:
        _judge(call)


def record(call: Call) -> None:
    """The audit row of a write, and the jobs of those who subscribe to it: in the same transaction, so that none of the
    three exists without the others."""
    if call.endpoint.writes:
        audit.record(call)
    if call.write.changes:
        events.write_down(call)


def answer(call: Call) -> None:
    """Turns the result into bytes and headers, and keeps them with the effect where a key asks for that."""
    call.write.response = responses.respond(call)
    idempotency.remember(call, call.write.response)


def go_on(call: Call) -> None:
    """Answers 100 to a server that asks about the head of a request: it may read the body."""
    call.write.response = Response(status=100)


def resume(call: Call) -> None:
    """Copies the headers of the head's answer, such as `RateLimit`, to this one; its units were taken there."""
    limiting.note_units(call)
    carry(call.request.environ, call.request.environ[expectation.ENVIRON_KEY])


ARRIVAL: tuple[Stage, ...] = (limit_by_address, identify, choose_version, limit_by_principal, admit, retire)
HEAD_ONLY: tuple[Stage, ...] = (limit_by_address, identify, choose_version, limit_by_principal, admit, go_on)
AFTER_HEAD: tuple[Stage, ...] = (resume, identify, choose_version, admit, retire)
VALIDATION: tuple[Stage, ...] = (validate, prepare, replay, fetch)
EFFECT: tuple[Stage, ...] = (claim, load, judge, check_precondition, act, judge_after, record, answer)


def run(services: Services, endpoint: Endpoint, path: dict[str, str]) -> Response:
    """Answer one request of one endpoint. Whatever refuses it is raised; `errors` translates it."""
    sent: Request = request._get_current_object()  # type: ignore[attr-defined]
    call = Call(services, endpoint, sent if endpoint.translate is None else endpoint.translate(sent), path)
    g._get_current_object().call = call
    if services.settings.server_timing or (services.metrics is not None and services.metrics.samples()):
        call.timings = {}
    try:
        _run(call)
    except Overloaded:
        limiting.give_back(call)
        raise
    except Problem as problem:
        if problem.code == "overloaded":
            limiting.give_back(call)
        audit.note_refusal(call, problem)
        reasons.add(call, problem)
        raise
    return responses.as_preferred(call)


def _run(call: Call) -> None:
    with nullcontext() if call.endpoint.anonymous or call.endpoint.offline else call.services.database.connected():
        _through(_arrival(call), call)
        if call.write.response is not None:
            return
        if not call.endpoint.writes:
            _through(VALIDATION, call)
            _through(EFFECT, call)
            return
    # Outside `connected()`: while a body is read, or a writer waits for its turn, the call holds no connection.
    _through(VALIDATION, call)
    if call.write.response is None:
        _write(call)


def _arrival(call: Call) -> tuple[Stage, ...]:
    head = call.request.environ.get(expectation.ENVIRON_KEY)
    if head is None:
        return ARRIVAL
    return HEAD_ONLY if head == expectation.ASKED else AFTER_HEAD


def _write(call: Call) -> None:
    database = call.services.database

    def effect() -> None:
        # A transaction may run twice: nothing of the first try may remain.
        call.write = Write()
        _through(EFFECT, call)

    try:
        with nullcontext() if call.endpoint.around is None else call.endpoint.around(call):
            if call.write.response is None:
                # Writes at the same time may share a transaction, but not one as long as an import's.
                database.transact(effect, grouped=not call.endpoint.narrows)
    except (idempotency.Claimed, Busy):
        if call.claim is None:
            raise
        # What kept a `Busy` writer waiting may be its twin: the twin's answer is replayed, or 409 says to try again.
        idempotency.replay_twin(call, call.claim)
    if call.write.enqueued:
        call.services.jobs.wake()


def _read_path(call: Call, id: str) -> None:
    """Writes the id of the path as we write ids. 400 for a text that is none, except where it may be a slug."""
    if (read := read_id(id)) is not None:
        call.path = {**call.path, "id": read}
    elif not call.endpoint.by_slug:
        raise Problem.of([Fault("invalid_parameter", "This is not an id.", parameter="id")], "invalid_parameter")


def _judge(call: Call) -> None:
    try:
        if call.endpoint.permission is not None:
            call.access.require(call.endpoint.permission, call.facts, call.write.unknown)
        if call.endpoint.restrict is not None:
            call.endpoint.restrict(call)
    except Problem:
        audit.note_refused(call)
        raise


def _announce(call: Call, deprecation: Deprecation, part: str = "") -> None:
    """Announce the end on the answer and count the use of the endpoint, or of a part of it (`?name`, `#/name`).
    Raises `Problem` (`gone`) once the end has come."""
    headers = deprecation.headers(url_of(call.services.settings, call.request))
    if deprecation.over:
        successor = path_of(call.request, deprecation.successor)
        raise Problem("gone", Message("Use {path}.", path=successor), headers=headers)
    call.headers.update(headers)
    endpoint = f"{call.endpoint.method} {call.endpoint.path}{part}"
    call.services.deprecated_uses.add(call.tenant_id, endpoint, call.principal.key)


def _through(stages: tuple[Stage, ...], call: Call) -> None:
    if call.timings is None:
        for stage in stages:
            stage(call)
    else:
        for stage in stages:
            _timed(stage, call, call.timings)


def _timed(stage: Stage, call: Call, timings: dict[str, float]) -> None:
    start = perf_counter()
    try:
        stage(call)
    finally:
        timings[stage.__name__] = perf_counter() - start
