"""Who is asking: a guest, a user with an access token, or a service with a token of its own.

Credentials come in the `Authorization` header alone (RFC 6750 section 2.1), the scheme in any case.
Whoever sends credentials that are not valid is told so, even where a guest would be welcome.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Request

from models.base import now
from models.session import Caller, Session
from models.user import User
from policies import Principal

from .errors import Problem

if TYPE_CHECKING:
    from .services import Services


def identify(services: Services, request: Request) -> tuple[Principal, str | None]:
    """The principal and the id of its session; both are looked up again on every request.

    Raises `Problem`: `invalid_token` or `token_expired`, each a 401 with its challenge.
    """
    header = request.headers.get("Authorization")
    if header is None:
        return guest(services.guest_tenant), None
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise Problem("invalid_token", "Send Authorization: Bearer <token>.")
    return _user(services, token.strip(" "))


def guest(tenant_id: str) -> Principal:
    """The caller without credentials."""
    return Principal(id=None, key="guest", role="guest", tenant_id=tenant_id, department=None, kind="guest",
                     groups=(), scopes=None)


def _user(services: Services, token: str) -> tuple[Principal, str]:
    claims = services.tokens.verify(token)
    caller = Session.caller(services.database, claims.session_id)
    # A lowered role, a disabled user, a new password and a logout act on the very next request.
    if (caller is None or not caller.active or caller.revoked_at is not None or caller.expires_at <= now()
            or caller.user_id != claims.user_id or caller.token_version != claims.version):
        raise Problem("invalid_token", "The session has ended. Log in again.")
    return _principal(caller.user_id, caller, claims.scopes), claims.session_id


def principal_of(user: User) -> Principal:
    """A user as the principal of an ordinary, unscoped login."""
    return _principal(user.id, user, None)


def _principal(id: str, who: Caller | User, scopes: frozenset[str] | None) -> Principal:
    return Principal(id=id, key=f"user:{id}", role=who.role, tenant_id=who.tenant_id, department=who.department,
                     kind="user", groups=tuple(who.groups), scopes=scopes)
