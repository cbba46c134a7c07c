"""Stages of a request, top to bottom. This file shows where and why a request can be refused.

Each stage is a function below, in the order in which it runs. It fills the `Call` or raises:

    `ARRIVAL`     limit_by_address, identify, choose_version, limit_by_principal, admit, retire: finds the caller
    `VALIDATION`  validate, prepare, replay, fetch: reads the request; changes no row
    `EFFECT`      claim, load, judge, check_precondition, act, judge_after, record, answer: a write runs them in one
                  transaction

A server may send the head alone, to learn whether to read the body (`expectation`). The head runs `HEAD_ONLY`; then
the whole request runs `AFTER_HEAD` in place of `ARRIVAL`.
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
from ..request import audit, events, identity, reasons, setting, stronger_login
from ..request.access import Access
from ..request.call import Call, Services, Write
from ..request.endpoint import Endpoint
from ..request.environment import RequestEnvironment
from ..request.urls import path_of, url_of
from ..schemas import validation
from . import conditional, idempotency, limiting, negotiation, responses

Stage = Callable[[Call], None]


def limit_by_address(call: Call) -> None:
    """Raises 429 if this address has used up its units. Runs before `identify`: guessing credentials costs units."""
    limiting.spend_by_address(call)


def identify(call: Call) -> None:
    """Finds the caller. Raises 401 for invalid credentials, even if none are needed.

    A logout raises 400 and 403 for its cookie. A feature that cannot check a token raises 503.
    """
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
    """Raises 400 if the client requests an API version that does not exist."""
    negotiation.check_version(call)


def limit_by_principal(call: Call) -> None:
    """Raises 429 if this principal has used up its units."""
    limiting.spend_by_principal(call)


def admit(call: Call) -> None:
    """Raises 401 or 403 if there is no object on which the policy would allow the permission."""
    permission = call.endpoint.permission
    if permission is not None and not call.access.may_ever(permission):
        raise call.access.refusal(permission)


def retire(call: Call) -> None:
    """Raises 410 after the last day of a deprecated endpoint. Before that, announces the day and counts the use."""
    if call.endpoint.deprecated is not None:
        _announce(call, call.endpoint.deprecated)


def validate(call: Call) -> None:
    """Loads path, query, headers and body. Raises 400, 406, 413 or 415 if they do not match the endpoint.

    Raises 410 for a part that is no longer served, and 429 if a body without an announced length exceeds the limit.
    """
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
        content = read_json(call.request, accepts=endpoint.accepts, required=endpoint.body_required)
        call.body, call.read_only = validation.load_body(
            endpoint.body, content, partial=endpoint.partial, fixed=endpoint.fixed, kept=endpoint.kept)
    for mark, name, deprecation in endpoint.deprecated_parts:
        if name in (call.query if mark == QUERY else call.body):
            _announce(call, deprecation, mark + name)


def prepare(call: Call) -> None:
    """Does slow work that changes no row, while no other writer waits.

    Raises for passwords: 401 if one is wrong, 400 if a new one is too weak, 429 for too many guesses, 403 if a
    sensitive change lacks it; 404 if a password link is not valid. An import reads its file here: 400, 413, 415, 429,
    503.
    """
    if call.endpoint.prepare is not None:
        call.endpoint.prepare(call)


def replay(call: Call) -> None:
    """Replays the stored answer of the same `Idempotency-Key`.

    Raises 422 for another body, and 404 if the caller may no longer view the row in the answer.
    """
    idempotency.replay(call)


def fetch(call: Call) -> None:
    """Runs a plugin's `prepare`, outside any transaction, so that it may call other services.

    The policy decides on a row in the path before that, and again in the transaction: 404, 403, 412.
    """
    if call.endpoint.fetch is not None and call.write.response is None:
        call.endpoint.fetch(call)


def claim(call: Call) -> None:
    """Claims the `Idempotency-Key` for this call. Raises 409 if its first request takes too long."""
    idempotency.claim(call)


def load(call: Call) -> None:
    """Loads the row. Raises 404 if it does not exist, and equally if the caller may not view it.

    Raises 400 if the body of a POST refers to such a row, or sets a field that the caller cannot set, such as
    `owner_id`.
    """
    if call.endpoint.load is not None:
        call.row = call.endpoint.load(call)
        if call.row is None:
            audit.note_hidden(call)
            raise not_found()


def judge(call: Call) -> None:
    """Raises 403 if the policy does not allow the action on this row."""
    if call.row is not None:
        _judge(call)
    elif call.endpoint.permission is not None and not call.endpoint.narrows:
        # Without a row, rules with a condition on the row do not match.
        call.access.require(call.endpoint.permission)
    if call.endpoint.writes:
        audit.note_decision(call)


def check_precondition(call: Call) -> None:
    """Raises 412 if the row does not have the version that `If-Match` names."""
    conditional.check(call)


def act(call: Call) -> None:
    """Runs the handler. Raises 409 if the state of the row does not allow the action, or if a unique value is taken.

    Raises 400 if a PUT or PATCH refers to an absent row or changes a read-only field, if a line of an import fails, and
    for an unusable cursor. A refresh token may raise 401 and 403, an export 406 and 503.
    """
    call.write.result = call.endpoint.handler(call)


def judge_after(call: Call) -> None:
    """Raises 403 if the policy does not allow the action on the changed row: no caller moves a row out of reach."""
    if call.endpoint.judge_after:
        _judge(call)


def record(call: Call) -> None:
    """Adds the audit event of a write, and the jobs of its subscribers, in the same transaction as the write."""
    if call.endpoint.writes:
        audit.record(call)
    if call.write.changes:
        events.write_down(call)


def answer(call: Call) -> None:
    """Turns the result into bytes and headers, and stores them with the effect if the request has a key."""
    call.write.response = responses.respond(call)
    idempotency.remember(call, call.write.response)


def go_on(call: Call) -> None:
    """Answers 100 to a server that has sent only the head: it may read the body."""
    call.write.response = Response(status=100)


def resume(call: Call) -> None:
    """Copies headers of the answer to the head, such as `RateLimit`. The head has already taken the units."""
    limiting.note_units(call)
    carry(call.request.environ, call.request.environ[expectation.ENVIRON_KEY])


ARRIVAL: tuple[Stage, ...] = (limit_by_address, identify, choose_version, limit_by_principal, admit, retire)
_WITHIN: tuple[Stage, ...] = (limit_by_address, limit_by_principal, admit, retire)
HEAD_ONLY: tuple[Stage, ...] = (limit_by_address, identify, choose_version, limit_by_principal, admit, go_on)
AFTER_HEAD: tuple[Stage, ...] = (resume, identify, choose_version, admit, retire)
VALIDATION: tuple[Stage, ...] = (validate, prepare, replay, fetch)
EFFECT: tuple[Stage, ...] = (claim, load, judge, check_precondition, act, judge_after, record, answer)


def run(services: Services, endpoint: Endpoint, path: dict[str, str]) -> Response:
    """Answers one request of one endpoint. Raises refusals, which `errors` translates."""
    sent: Request = request._get_current_object()  # type: ignore[attr-defined]
    call = Call(services, endpoint, sent if endpoint.translate is None else endpoint.translate(sent), path)
    g._get_current_object().call = call
    if services.settings.server_timing or (services.metrics is not None and services.metrics.samples()):
        call.timings = {}
    _recording_refusals(call, lambda: _run(call))
    return responses.as_preferred(call)


def run_within(outer: Call, endpoint: Endpoint, sent: Request, path: dict[str, str]) -> Call:
    """Runs a write of another endpoint for the caller of `outer`, as if its request came now.

    It takes units, has a transaction and an audit event of its own, and the rights that the caller has by now. `outer`
    must be in no transaction. Raises what `run` raises.
    """
    call = Call(outer.services, endpoint, sent, path)
    database = call.services.database

    def effect() -> None:
        with database.connected():
            call.principal = identity.as_of_now(call.services, outer.principal, outer.credential_id)
            call.credential_id = outer.credential_id
            call.access = Access(call.services.policy.current, call.principal, outer.access.environment)
            _run_stages(_WITHIN, call)
        _run_stages(VALIDATION, call)
        if call.write.response is None:
            _write(call)

    _recording_refusals(call, effect)
    return call


def _recording_refusals(call: Call, effect: Callable[[], None]) -> None:
    """Runs `effect`. Records a refusal, and gives back the units of a call that did nothing because of load."""
    try:
        effect()
    except Overloaded:
        limiting.give_back(call)
        raise
    except Problem as problem:
        if problem.code == "overloaded":
            limiting.give_back(call)
        if call.services.caller and (challenge := stronger_login.challenge(call, problem)) is not None:
            problem = challenge
        audit.note_refusal(call, problem)
        reasons.add(call, problem)
        raise problem from None


def _run(call: Call) -> None:
    with nullcontext() if call.endpoint.anonymous or call.endpoint.offline else call.services.database.connected():
        _run_stages(_arrival_stages(call), call)
        if call.write.response is not None:
            return
        if not call.endpoint.writes:
            _run_stages(VALIDATION, call)
            _run_stages(EFFECT, call)
            return
    # Outside `connected()`: the call holds no connection while a body is read, or while a writer waits for its turn.
    _run_stages(VALIDATION, call)
    if call.write.response is None:
        _write(call)


def _arrival_stages(call: Call) -> tuple[Stage, ...]:
    head = call.request.environ.get(expectation.ENVIRON_KEY)
    if head is None:
        return ARRIVAL
    return HEAD_ONLY if head == expectation.ASKED else AFTER_HEAD


def _write(call: Call) -> None:
    database = call.services.database

    def effect() -> None:
        # A transaction may run twice, so nothing of the first run may remain.
        call.write = Write()
        _run_stages(EFFECT, call)

    try:
        with nullcontext() if call.endpoint.around is None else call.endpoint.around(call):
            if call.write.response is None:
                # Simultaneous writes may share a transaction, except a long one such as that of an import.
                database.transact(effect, grouped=not call.endpoint.narrows)
    except (idempotency.Claimed, Busy):
        if call.claim is None:
            raise
        # A `Busy` writer may have waited for its twin: replays the twin's answer, or raises 409 for a retry.
        idempotency.replay_twin(call, call.claim)
    if call.write.enqueued:
        call.services.jobs.wake()


def _read_path(call: Call, id: str) -> None:
    """Normalizes the id in the path. Raises 400 if it is not an id, unless it may be a slug."""
    if (normalized := read_id(id)) is not None:
        call.path = {**call.path, "id": normalized}
    elif not call.endpoint.by_slug:
        raise Problem.of([Fault("invalid_parameter", "This is not an id.", parameter="id")], "invalid_parameter")


def _judge(call: Call) -> None:
    try:
        if call.endpoint.permission is not None:
            call.access.require(call.endpoint.permission, call.facts, call.write.unknown)
        if call.endpoint.restrict is not None:
            call.endpoint.restrict(call)
        if call.endpoint.rules is not None:
            for rule in call.endpoint.rules(call, call.row):
                if rule.refuses:
                    raise rule.refusal
        if call.write.setting.fields:
            setting.require(call, call.facts)
    except Problem:
        audit.note_refused(call)
        raise


def _announce(call: Call, deprecation: Deprecation, part: str = "") -> None:
    """Adds the deprecation headers, and counts the use of the endpoint or of a part of it (`?name`, `#/name`).

    Raises `Problem` (`gone`) after the last day.
    """
    headers = deprecation.headers(url_of(call.services.settings, call.request))
    if deprecation.over:
        successor = path_of(call.request, deprecation.successor)
        raise Problem("gone", Message("Use {path}.", path=successor), headers=headers)
    call.headers.update(headers)
    endpoint = f"{call.endpoint.method} {call.endpoint.path}{part}"
    call.services.deprecated_uses.add(call.tenant_id, endpoint, call.principal.key)


def _run_stages(stages: tuple[Stage, ...], call: Call) -> None:
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
