"""Principal of a request: a guest, a user with an access token, or a program with a service token.

Features may accept further bearer tokens, each of a program that acts for a user (`Feature.bearer`).

Only the `Authorization` header carries credentials (RFC 6750 section 2.1). The case of the scheme does not matter.
A request with invalid credentials is refused, even if a guest could send it.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from functools import cached_property, lru_cache
from hashlib import sha256
from hmac import compare_digest
from typing import Any

from flask import Request

from models.base import Rows, is_id, new_id, now, read_id
from models.engine.errors import TimedOut, Unavailable
from models.tables.service_token import Bearer, ServiceToken
from models.tables.session import Session, SessionUser
from models.tables.user import User
from policies import Principal
from policies.evaluation.principal import LoggedIn, Login

from ..protocol.problems import Problem
from .call import Services

SERVICE = "gp_"  # prefix of a service token: gp_<id>_<secret>


def identify(services: Services, request: Request) -> tuple[Principal, str | None]:
    """Returns the principal and its credential: the id of its session or service token, looked up on every request.

    The credential of a token that a feature accepts is a text with its origin, which is no id. Raises `Problem`:
    `invalid_token` or `token_expired`, each a 401 with its challenge, and what a feature raises.
    """
    header = request.environ.get("HTTP_AUTHORIZATION")
    if header is None:
        return guest(services.guest_tenant), None
    scheme, _, token = header.partition(" ")
    token = token.strip(" ")
    if scheme.lower() != "bearer" or not token:
        raise Problem("invalid_token", "Send Authorization: Bearer <token>.")
    return _service(services, token) if token.startswith(SERVICE) else _user(services, token)


def identify_if_possible(services: Services, request: Request) -> tuple[Principal, str | None]:
    """Identifies the caller of an endpoint that works without the database: the guest while it is unavailable.

    The same holds while a feature cannot check a token.
    """
    if "HTTP_AUTHORIZATION" in request.environ:
        try:
            with suppress(Unavailable, TimedOut), services.database.connected():
                return identify(services, request)
        except Problem as problem:
            if problem.code not in ("unavailable", "overloaded"):
                raise
    return guest(services.guest_tenant), None


def as_of_now(services: Services, principal: Principal, credential_id: str | None) -> Principal:
    """Returns the same caller with their current role, department and groups, after slow work.

    The access token may have expired since the work began. Raises `Problem` (`invalid_token`) if the account is no
    longer active, or if the session or service token has ended.
    """
    if principal.id is None:
        return principal
    account: SessionUser | Bearer | User | None
    if credential_id is None or not is_id(credential_id):
        account = Rows(User, principal.tenant_id).find(principal.id)
    elif principal.kind == "service":
        account = ServiceToken.bearer(services.database, credential_id)
    else:
        account = Session.user_of(services.database, credential_id)
    if account is None or not account.active or getattr(account, "revoked_at", None) is not None:
        raise Problem("invalid_token", "The session has ended. Log in again.")
    current = _principal(principal.id, account, principal.kind, principal.scopes)
    return current if principal.kind == "service" else logged_in(services, current, credential_id)


@lru_cache(maxsize=64)
def guest(tenant_id: str) -> Principal:
    """Returns the caller without credentials."""
    return Principal(id=None, key="guest", role="guest", tenant_id=tenant_id, department=None, kind="guest",
                     groups=(), scopes=None)


def principal_of(user: User) -> Principal:
    """Returns a user as the principal of a login without scopes."""
    return _principal(user.id, user, "user", None)


class SessionLogin(Login):
    """Attributes of the caller that features declare. The session is read when a rule first needs one of them."""

    def __init__(self, services: Services, session_id: str) -> None:
        self._services, self._session_id = services, session_id

    @cached_property
    def _session(self) -> Session | None:
        with self._services.database.connected():
            return Session.by_id(self._session_id)

    def __missing__(self, name: str) -> Any:
        attribute = self._services.caller.get(name)
        value = None if attribute is None or self._session is None else attribute.value(self._session)
        self[name] = value
        return value

    def __reduce__(self) -> tuple[type[Login], tuple[dict[str, Any]]]:
        """Becomes its values in another process, such as that of a policy trial."""
        return Login, ({name: self[name] for name in self._services.caller},)


def logged_in(services: Services, principal: Principal, session_id: str | None) -> Principal:
    """Returns a user with the attributes that features declare, as their session has them."""
    if not services.caller or session_id is None:
        return principal
    return with_login(principal, SessionLogin(services, session_id))


def with_login(principal: Principal, login: Mapping[str, Any]) -> LoggedIn:
    """Returns a principal with these values of attributes that features declare."""
    return LoggedIn(principal.id, principal.key, principal.role, principal.tenant_id, principal.department,
                    principal.kind, principal.groups, principal.scopes, login)


def without_login(principal: Principal) -> Principal:
    """Returns a principal without these values: a program has no login."""
    return Principal(**{field.name: getattr(principal, field.name) for field in fields(Principal)})


def service_token() -> tuple[str, str, str]:
    """Creates a service token: its id, the hash to store, and the text to show once."""
    id, secret = new_id(), secrets.token_urlsafe(32)
    return id, hashed(secret), f"{SERVICE}{id}_{secret}"


def hashed(token: str) -> str:
    """Returns the stored hash of a token. The token has 256 random bits, so neither salt nor stretching is needed."""
    return sha256(token.encode()).hexdigest()


def _user(services: Services, token: str) -> tuple[Principal, str]:
    try:
        claims = services.access_tokens.verify(token)
    except Problem as problem:
        if problem.code != "invalid_token" or (accepted := _accepted(services, token)) is None:
            raise
        return accepted
    account = Session.user_of(services.database, claims.session_id)
    # A disabled user, a new password, a logout and a lowered role take effect with the next request, because the role
    # in the database counts.
    if (account is None or not account.active or account.revoked_at is not None or account.expires_at <= now()
            or account.user_id != claims.user_id or account.tenant_id != claims.tenant_id
            or account.token_version != claims.version):
        raise Problem("invalid_token", "The session has ended. Log in again.")
    login = SessionLogin(services, claims.session_id) if services.caller else None
    return _principal(account.user_id, account, "user", claims.scopes, login), claims.session_id


def _accepted(services: Services, token: str) -> tuple[Principal, str] | None:
    """Returns the program whose token a feature accepts; None if no feature knows the token."""
    for bearer in services.bearers:
        if (accepted := bearer(services, token)) is not None:
            user = User.by_id(accepted.user_id) if is_id(accepted.user_id) else None
            if user is None or not user.active:
                raise Problem("invalid_token", "The account of this token is disabled, or does not exist.")
            scopes = services.policy.current.scope_names.intersection(accepted.scopes)
            return _principal(user.id, user, "service", scopes), f"token of {accepted.origin}"
    return None


def _service(services: Services, token: str) -> tuple[Principal, str]:
    text, _, secret = token.removeprefix(SERVICE).partition("_")
    id = read_id(text)
    bearer = None if id is None else ServiceToken.bearer(services.database, id)
    if id is None or bearer is None or not compare_digest(bearer.token_hash, hashed(secret)) or not bearer.active:
        raise Problem("invalid_token", "This is not a valid service token.")
    if bearer.expires_at is not None and bearer.expires_at <= now():
        raise Problem("token_expired", "The service token has expired.")
    services.audit_writer.token_uses.note(id, bearer.last_used_at)
    return _principal(bearer.user_id, bearer, "service", bearer.scopes), id


def _principal(id: str, account: SessionUser | Bearer | User, kind: str, scopes: frozenset[str] | None,
               login: SessionLogin | None = None) -> Principal:
    # By position: each request makes one.
    if login is None:
        return Principal(id, f"user:{id}", account.role, account.tenant_id, account.department, kind,
                         tuple(account.groups), scopes)
    return LoggedIn(id, f"user:{id}", account.role, account.tenant_id, account.department, kind,
                    tuple(account.groups), scopes, login)
