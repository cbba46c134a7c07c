"""`Idempotency-Key`: a request that is sent twice has its effect once, and both get the same answer.

The claim of a key is the first row of the effect's own transaction. A twin at the same time waits for the database and
then replays the answer. Only successful answers are stored; a request without an effect may be retried.

Before a replay, `identify` and `admit` check the caller again. This module checks the content of the answer: its row
must still be visible, and it omits guarded fields that the caller may no longer see. Rules about the object, its state
and the preconditions are not checked again: they held at the time of the effect.

A large answer is stored without its body; so is every answer of a caller for whom much was stored within a day. Its
replay has the same status, `Location` and `ETag`, an empty body, and `Preference-Applied: return=minimal` (RFC 7240
section 4.2). The stored answer does not depend on `Prefer`, which is applied after storing and after a replay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from hmac import digest

import orjson
from flask import Response

from models.base import Record, later
from models.engine.errors import AlreadyExists, TimedOut
from models.tables import idempotency
from models.tables.idempotency import IdempotencyKey

from ..protocol.problems import Fault, Problem, not_found
from ..request.call import Call, Peer
from ..request.endpoint import REPEATED_BY_KEY
from ..schemas.guarded import present, remove

KEPT = 24 * 60 * 60  # seconds
LARGE = 16 * 2**10  # bytes of an answer above which its body is not stored
_HEADER, _ENVIRON_KEY = "Idempotency-Key", "HTTP_IDEMPOTENCY_KEY"
_KEY = re.compile(r'"([\x21\x23-\x7e]{1,255})"|([\x21\x23-\x7e]{1,255})')
_CLAIMED = ("principal", "credential", "method", "path", "key", "fingerprint", "expires_at")
_REPLAYED_HEADERS = ("Content-Type", "Content-Language", "ETag", "Location", "Preference-Applied")


class Claimed(Exception):
    """Signal that another request holds this key: undo the transaction, and replay the other's answer."""


def check_syntax(call: Call) -> None:
    """Raises `Problem` for an invalid key: `idempotency_unsupported`, `invalid_header`."""
    header = _header(call)
    if header is None:
        return
    if not call.endpoint.repeatable or call.principal.kind == "guest":
        raise Problem("idempotency_unsupported", "Only writes of a logged-in caller can be repeated by key, and no "
                                                 "request whose answer is a secret.")
    if _KEY.fullmatch(header) is None:
        fault = Fault("invalid_header", "Send 1 to 255 visible characters, quoted or bare.", header=_HEADER)
        raise Problem.of([fault], "invalid_header")


def replay(call: Call) -> None:
    """Replays the stored answer of the same request, if there is one.

    Raises `Problem`: `idempotency_mismatch` if the key was used with another body or query, `not_found` if the caller
    can no longer see the row in the answer.
    """
    header = _header(call)
    match = _KEY.fullmatch(header) if header is not None else None
    if match is None:
        return
    call.claim = IdempotencyKey(principal=call.principal.key, credential=_credential(call), method=call.request.method,
                                path=call.request.path, key=match[1] or match[2],
                                fingerprint=next(_fingerprints(call)), expires_at=later(KEPT))
    _answer_again(call, call.claim)


def claim(call: Call) -> None:
    """Claims the key, at the start of the transaction. Raises `Claimed` if a twin was faster."""
    if call.claim is None:
        return
    # A new row each time, because a transaction may run twice.
    call.claim = IdempotencyKey(**{name: getattr(call.claim, name) for name in _CLAIMED})
    try:
        idempotency.claim(call.tenant_id, call.claim)
    except AlreadyExists:
        raise Claimed from None
    except TimedOut:
        raise _in_progress() from None


def remember(call: Call, response: Response) -> None:
    """Stores the answer with its effect, at the end of the transaction."""
    if call.claim is None:
        return
    headers = {name: response.headers[name] for name in _REPLAYED_HEADERS if name in response.headers}
    _note_row(call, call.claim)
    body = response.get_data()
    keeps_body = len(body) <= LARGE and call.services.limits.may_keep(call.principal, len(body))
    idempotency.keep_answer(call.tenant_id, call.claim, response.status_code, orjson.dumps(headers).decode(),
                            body if keeps_body else None)


def replay_twin(call: Call, claimed: IdempotencyKey) -> None:
    """Replays the answer of the twin. Raises `Problem` as `replay` does, and if the answer does not exist yet."""
    _answer_again(call, claimed)
    if call.write.response is None:
        raise _in_progress()


def _header(call: Call) -> str | None:
    """Returns the header, if the method is not idempotent by itself (RFC 9110 section 9.2.2).

    The method of the endpoint counts, which is POST for a form that deletes.
    """
    return call.request.environ.get(_ENVIRON_KEY) if call.endpoint.method in REPEATED_BY_KEY else None


def _credential(call: Call) -> str:
    """Returns a digest of session, service token and scopes: none of them replays the answer of another."""
    scopes = call.principal.scopes
    return sha256(orjson.dumps(
        [call.principal.kind, call.credential_id, None if scopes is None else sorted(scopes)])).hexdigest()


def _fingerprints(call: Call) -> Iterator[str]:
    """Fingerprints of the query and body of this request, one for each key of the instance, the newest first.

    A body may hold a password, so its hash needs a key.
    """
    content = call.digest or sha256(call.request.get_data()).hexdigest()
    for _, key in call.services.keys.every("idempotency fingerprint"):
        yield digest(key, call.request.query_string + b"\n" + content.encode(), "sha256").hex()


def _answer_again(call: Call, claimed: IdempotencyKey) -> None:
    with call.services.database.connected():
        stored = idempotency.stored(call.tenant_id, claimed)
        if stored is None:
            return
        if stored.fingerprint not in _fingerprints(call):
            raise Problem("idempotency_mismatch", "This key was used for another body or query.")
        if stored.status is None or stored.headers is None:
            raise _in_progress()
        hidden = _hidden_fields(call, stored)
        # The first commit may not have reached its standby: a replay must not confirm it.
        call.services.database.confirm()
    headers = {**orjson.loads(stored.headers), "Cache-Control": "no-store", "Idempotency-Replayed": "true"}
    body = None if stored.body is None else bytes(stored.body)
    if hidden:
        # The tag has the version, which may be a hidden field.
        headers.pop("ETag", None)
        if body:
            answer = orjson.loads(body)
            remove(answer, hidden)
            body = orjson.dumps(answer)
    if body is None:
        headers.pop("Content-Type", None)
        headers["Preference-Applied"] = "return=minimal"
    call.write.response = Response(body or b"", stored.status, headers)
    if "Content-Type" not in headers:
        del call.write.response.headers["Content-Type"]


def _note_row(call: Call, claimed: IdempotencyKey) -> None:
    """Notes the row in the answer, if the caller may view it.

    A caller who may create a row but not view it gets the same answer again, because it shows nothing that a read would
    hide. The same holds for a form that deletes a row.
    """
    peer = _peer(call)
    if peer is None or call.endpoint.answer is None or not call.access.allows(peer.view, call.facts):
        return
    claimed.collection, claimed.row_id = peer.name, call.facts["id"]
    result = call.write.result
    if isinstance(result, dict):
        shown = {name for name in peer.guards if present(result, name)}
        claimed.guarded = sorted(shown.difference(peer.hidden(call, call.facts, shown)))


def _peer(call: Call) -> Peer | None:
    """Returns the collection of the row; if several share a table, that of the endpoint's permission."""
    if not isinstance(call.row, Record):
        return None
    resource = (call.endpoint.permission or "").partition(".")[0]
    peers = [peer for peer in call.services.collections.values() if isinstance(call.row, peer.model)]
    return max(peers, key=lambda peer: peer.resource == resource, default=None)


def _hidden_fields(call: Call, stored: IdempotencyKey) -> frozenset[str]:
    """Returns the guarded fields of a stored answer that the caller can no longer see. Raises `not_found` as a read."""
    if stored.row_id is None:
        return frozenset()
    peer = call.services.collections.get(stored.collection or "")
    row = None if peer is None else peer.visible(call, stored.row_id)
    if peer is None or row is None:
        raise not_found()
    return frozenset(peer.hidden(call, row, stored.guarded))


def _in_progress() -> Problem:
    return Problem("idempotency_in_progress", "The first request with this key may still run. Try again.",
                   headers={"Retry-After": "1"})
