"""Sessions of clients: an access token that lasts minutes, and a refresh token that renews it.

A refresh token is `gr_<session id>_<secret><seal>`, stored as a hash. Its successor is an HMAC of it, so that a client
that exchanges it again within `GRACE` (a lost answer, eight tabs) gets the same one. The seal is an HMAC as well: it
distinguishes a used token from a forged one.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from hmac import compare_digest, digest
from typing import Any

from models.base import DAY, Rows, is_id, later, new_id, now
from models.tables.session import API, Session, keep_newest, revoke
from models.tables.user import User

from ..protocol.problems import Problem
from ..request import audit
from ..request.access import Access, lost_role
from ..request.call import Call, Write
from ..request.identity import hashed, logged_in, principal_of
from ..security import passwords
from ..security.base64url import encode
from ..security.keys import Keys

GRACE = 10.0  # seconds
PREFIX = "gr_"
_ID, _SECRET, _SEAL = 36, 43, 22  # characters of an id, of 256 and of 128 bits


def ask_next_steps(call: Call, user: User, login: Mapping[str, Any] | None = None) -> None:
    """Asks each feature if a login needs another step, before the transaction that opens the session.

    login  what is known of the login so far, to be noted in the session: a feature sees there if its step is done

    Raises `Problem` (`login_incomplete`).
    """
    call.login = login
    for next_step in call.services.next_steps:
        next_step(call, user)


def open_session(call: Call, user: User, login: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Starts a session in a transaction, records the login in the user's name, and returns its answer.

    login  what a feature notes of the login, by name; `until`: the time at which the session ends at the latest

    Raises `Problem` (`forbidden`) for a user whose role the policy does not have for users.
    """
    _require_role(call, user)
    settings, id = call.services.settings, new_id()
    refresh = _sealed(call.services.keys, id, secrets.token_urlsafe(32))
    end = passwords.until(user.password_hash, later(settings.refresh_absolute_days * DAY))
    end = min(end, (login or {}).get("until", end))
    session = Session(id=id, owner_id=user.id, family=id, token_hash=hashed(refresh),
                      address=audit.address_of(call), device=call.access.environment.device,
                      expires_at=min(later(settings.refresh_idle_days * DAY), end), absolute_expires_at=end,
                      login=json.dumps(login) if login else None)
    call.row = Rows(Session, user.tenant_id).insert(session)
    keep_newest(session, settings.user_sessions)
    return _answer(call, user, session, refresh)


def exchange(call: Call, token: str, *, newest: bool = False) -> dict[str, Any]:
    """Returns a new access token and the successor of the refresh token.

    newest  for a token that was used a moment ago, returns the last successor: for tabs, which share one cookie

    Raises `Problem`: `invalid_token`, which ends all sessions of the family if the token was used before;
    `rate_limited`; `forbidden` for a user whose role the policy does not have for users.
    """
    services, id, answer = call.services, token[len(PREFIX):][:_ID], None
    login = _find_login(token)
    if login is not None:
        session, user = login
        accepted = hashed(token) in _acceptable(session)
        # Only the valid token takes the user's units; otherwise a thief could use them up with an old one.
        if accepted:
            services.limits.spend_of_session(principal_of(user))
        # A forged token does not make other writers wait either.
        if accepted or _is_genuine(services.keys, id, token):
            answer = services.database.transact(lambda: _exchange(call, id, token, newest))
    if answer is None:
        raise invalid()
    return answer


def renewable(token: str) -> tuple[Session, User] | None:
    """Returns the session that this refresh token can renew now, and its user."""
    login = _find_login(token)
    return login if login is not None and hashed(token) in _acceptable(login[0]) else None


def invalid(headers: dict[str, str] | None = None) -> Problem:
    """Returns the refusal of a refresh token that is forged or used, or whose session has ended."""
    return Problem("invalid_token", "The refresh token is not valid, or the session has ended. Log in again.",
                   headers=headers or {})


def _find_login(token: str) -> tuple[Session, User] | None:
    """Returns the session that a refresh token names, without checking the rest of the token."""
    id = token[len(PREFIX):][:_ID]
    return _active_login(id) if token.startswith(PREFIX) and is_id(id) else None


def _active_login(id: str, *, lock: bool = False) -> tuple[Session, User] | None:
    """Returns the session and its user, if both are active."""
    session = Session.by_id(id, lock=lock)
    if session is None or session.kind != API or session.revoked_at is not None or session.expires_at <= now():
        return None
    user = User.by_id(session.owner_id)
    return None if user is None or not user.active else (session, user)


def _acceptable(session: Session) -> list[str]:
    """Returns the hashes of the tokens that may be exchanged, each before its successor; the valid one is the last."""
    return [*(used for used, _ in _uses(session)), session.token_hash]


def _uses(session: Session) -> list[tuple[str, str]]:
    """Returns (hash, time) of each token that was used within `GRACE`."""
    begin, uses = later(-GRACE), [use.partition(" ") for use in session.recent or ()]
    return [(used, at) for used, _, at in uses if at > begin]


def _exchange(call: Call, id: str, token: str, newest: bool) -> dict[str, Any] | None:
    call.write = Write()  # a transaction may run twice
    keys, moment, login = call.services.keys, now(), _active_login(id, lock=True)
    if login is None:
        return None
    (session, user), token_hash = login, hashed(token)
    call.row = session
    hashes = _acceptable(session)
    if token_hash in hashes:
        _require_role(call, user)
    if compare_digest(token_hash, session.token_hash):
        refresh = _successor(keys, id, token)
        session.recent = [" ".join(use) for use in (*_uses(session), (token_hash, moment))]
        session.token_hash, session.last_used_at = hashed(refresh), moment
        session.expires_at = min(later(call.services.settings.refresh_idle_days * DAY), session.absolute_expires_at)
        Rows(Session, session.tenant_id).save(session)
        answer = _answer(call, user, session, refresh)
        audit.record(call)
        return answer
    if token_hash in hashes:
        issued: str | None = token
        successors = hashes[hashes.index(token_hash) + 1:]
        for successor in successors if newest else successors[:1]:
            issued = None if issued is None else _reissued(keys, id, issued, successor)
        return None if issued is None else _answer(call, user, session, issued)
    if _is_genuine(keys, id, token):
        revoke(session.tenant_id, Session.family == session.family)
        call.write.acted_as = principal_of(user)
        audit.record(call, result="refused", reason="a used refresh token came back: its sessions were ended")
    return None


def _require_role(call: Call, user: User) -> None:
    """Raises 403 for a user whose role the policy does not have. The session stays, for when they get another role."""
    if user.role not in call.access.policy.roles.of_users:
        call.write.acted_as = principal_of(user)
        raise lost_role(user.role)


def _answer(call: Call, user: User, session: Session, refresh: str) -> dict[str, Any]:
    """Returns the answer to a login or refresh (RFC 6749 section 5.1)."""
    tokens = call.services.access_tokens
    call.write.acted_as = principal = logged_in(call.services, principal_of(user), session.id)
    permissions = Access(call.access.policy, principal, call.access.environment).patterns()
    call.headers["Cache-Control"] = "no-store"
    return {"access_token": tokens.issue(user, session.id, permissions), "token_type": "Bearer",
            "expires_in": int(tokens.lifetime.total_seconds()), "refresh_token": refresh, "scope": "*"}


def _sealed(keys: Keys, id: str, secret: str) -> str:
    return PREFIX + id + "_" + secret + _seal(keys.derive("refresh token"), id, secret)


def _successor(keys: Keys, id: str, token: str) -> str:
    return _sealed(keys, id, encode(digest(keys.derive("refresh successor"), token.encode(), "sha256")))


def _reissued(keys: Keys, id: str, token: str, token_hash: str) -> str | None:
    """Returns the successor that was issued, perhaps before a rotation of the keys."""
    for (_, key), (_, sealing) in zip(keys.every("refresh successor"), keys.every("refresh token"), strict=True):
        secret = encode(digest(key, token.encode(), "sha256"))
        candidate = PREFIX + id + "_" + secret + _seal(sealing, id, secret)
        if compare_digest(hashed(candidate), token_hash):
            return candidate
    return None


def _is_genuine(keys: Keys, id: str, token: str) -> bool:
    """True if Gatepost issued this token."""
    secret, seal = token[len(PREFIX) + _ID + 1:-_SEAL], token[-_SEAL:]
    return len(secret) == _SECRET and any(
        [compare_digest(_seal(key, id, secret).encode(), seal.encode()) for _, key in keys.every("refresh token")])


def _seal(key: bytes, id: str, secret: str) -> str:
    return encode(digest(key, f"{id}{secret}".encode(), "sha256")[:16])
