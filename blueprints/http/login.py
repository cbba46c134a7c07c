"""Sessions as clients see them: an access token that lives for minutes, a refresh token that renews it.

Refresh tokens are opaque and kept as hashes only.
"""

from __future__ import annotations

import secrets
from datetime import timedelta
from hashlib import sha256
from typing import Any

from models.base import Rows, later, new_id
from models.session import Session
from models.user import User

from .access import Access
from .call import Call
from .identity import principal_of

_DAY = timedelta(days=1).total_seconds()


def open_session(call: Call, user: User) -> dict[str, Any]:
    """Start a session of the user and make the caller its principal; the answer of a login."""
    settings, refresh = call.services.settings, secrets.token_urlsafe(32)
    session = Session(id=new_id(), user_id=user.id, token_hash=hashed(refresh),
                      expires_at=later(settings.refresh_idle_days * _DAY),
                      absolute_expires_at=later(settings.refresh_absolute_days * _DAY))
    session.family = session.id
    Rows(Session, user.tenant_id).insert(session)
    call.principal, call.session_id = principal_of(user), session.id
    call.access = Access(call.access.policy, call.principal, call.access.environment)
    return answer(call, user, session, refresh)


def answer(call: Call, user: User, session: Session, refresh: str) -> dict[str, Any]:
    """What login and refresh answer (RFC 6749 section 5.1)."""
    tokens = call.services.tokens
    access = Access(call.access.policy, principal_of(user), call.access.environment)
    call.headers["Cache-Control"] = "no-store"
    return {"access_token": tokens.issue(user, session.id, access.permissions()), "token_type": "Bearer",
            "expires_in": int(tokens.lifetime.total_seconds()), "refresh_token": refresh, "scope": "*"}


def hashed(token: str) -> str:
    """How an opaque token of 256 random bits is kept: no salt and no stretching are needed."""
    return sha256(token.encode()).hexdigest()
