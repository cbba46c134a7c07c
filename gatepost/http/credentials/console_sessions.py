"""Login on the console: an opaque cookie that names a row of `sessions`, and is a credential only at `/console`.

The cookie is `gc_<session id>_<secret>`, stored as a hash. It is not rotated, because no script can read it and each
request looks the row up. It ends after an idle hour, and at the latest half a day after the login (settings
`console_idle_minutes`, `console_hours`).
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from hmac import compare_digest
from typing import Any

from flask import Request

from models.base import Rows, is_id, later, new_id, now
from models.tables.session import CONSOLE, Session, keep_newest, revoke
from models.tables.user import User
from policies import Principal
from settings import Settings

from ..protocol.problems import Problem
from ..request import audit
from ..request.access import lost_role
from ..request.call import Call, Services
from ..request.identity import guest, hashed, logged_in, principal_of
from ..request.urls import path_of
from ..security import passwords
from . import cookies

PREFIX = "gc_"
_NAME = "gatepost_console"
_MINUTE, _HOUR = 60.0, 3600.0
_ID = 36  # characters


def start(call: Call, user: User, login: Mapping[str, Any] | None = None) -> None:
    """Starts a session in a transaction, sets its cookie, and records the login in the user's name.

    login  what a feature notes of the login, by name; `until`: the time at which the session ends at the latest

    Ends the session that the browser had, because an attacker may know it. Raises `Problem` (`forbidden`) for a user
    whose role the policy does not have for users.
    """
    call.write.acted_as = principal_of(user)
    if user.role not in call.access.policy.roles.of_users:
        raise lost_role(user.role)
    settings, id, secret = call.services.settings, new_id(), secrets.token_urlsafe(32)
    previous = _find_login(call.services, call.request)
    if previous is not None:
        revoke(previous[0].tenant_id, Session.id == previous[0].id)
    end = passwords.until(user.password_hash, later(settings.console_hours * _HOUR))
    end = min(end, (login or {}).get("until", end))
    session = Session(id=id, owner_id=user.id, family=id, kind=CONSOLE, token_hash=hashed(f"{PREFIX}{id}_{secret}"),
                      address=audit.address_of(call), device=call.access.environment.device,
                      expires_at=min(later(settings.console_idle_minutes * _MINUTE), end), absolute_expires_at=end,
                      login=json.dumps(login) if login else None)
    call.row = Rows(Session, user.tenant_id).insert(session)
    keep_newest(session, settings.user_sessions)
    _set_cookie(call, f"{PREFIX}{id}_{secret}", round(settings.console_hours * _HOUR))


def end(call: Call) -> None:
    """Ends the session of the caller in a transaction, and clears the cookie."""
    revoke(call.tenant_id, Session.id == (call.credential_id or ""))
    _set_cookie(call, "", 0)


def identify(services: Services, request: Request) -> tuple[Principal, str | None]:
    """Returns the caller of a page and the id of the session: the user of the cookie's session, else a guest.

    Ignores `Authorization`. Raises `Problem`: `forbidden` for a write from a page of another or of an unknown origin;
    `invalid_token` for a session that has ended; `invalid_header`.
    """
    if request.method not in ("GET", "HEAD"):
        cookies.refuse_foreign(services.settings, request, unsaid=False)
    if cookies.sent(request, _name_of(services.settings, request)) is None:
        return guest(services.guest_tenant), None
    login = _find_login(services, request)
    if login is None:
        raise Problem("invalid_token", "The session has ended. Log in again.",
                      headers={"Set-Cookie": cleared(services.settings, request)})
    session, user = login
    idle = later(services.settings.console_idle_minutes * _MINUTE)
    services.audit_writer.session_uses.note(session.id, session.last_used_at, min(idle, session.absolute_expires_at))
    return logged_in(services, principal_of(user), session.id), session.id


def member(services: Services, request: Request) -> tuple[Principal, str | None]:
    """Does the same as `identify` for pages that need a login. Raises `Problem` (`unauthenticated`) for a guest."""
    principal, id = identify(services, request)
    if principal.kind == "guest":
        raise Problem("unauthenticated", "Log in first.")
    return principal, id


def visitor(services: Services, request: Request) -> tuple[Principal, str | None]:
    """Returns a guest, regardless of the cookie, for the login. Raises `Problem` (`forbidden`) as `identify` does."""
    if request.method not in ("GET", "HEAD"):
        cookies.refuse_foreign(services.settings, request, unsaid=False)
    return guest(services.guest_tenant), None


def has_cookie(settings: Settings, request: Request) -> bool:
    """True if the browser has sent a cookie of a session, whether it is valid or not."""
    return bool(cookies.all_sent(request, _name_of(settings, request)))


def cleared(settings: Settings, request: Request) -> str:
    """Returns the header that clears the cookie."""
    return cookies.cookie(settings, request, _name_of(settings, request), "", _path(settings, request), 0)


def _find_login(services: Services, request: Request) -> tuple[Session, User] | None:
    tokens = cookies.all_sent(request, _name_of(services.settings, request))
    token = tokens.pop() if len(tokens) == 1 else ""
    id = token[len(PREFIX):][:_ID]
    session = Session.by_id(id) if token.startswith(PREFIX) and is_id(id) else None
    if session is None or session.kind != CONSOLE or not compare_digest(session.token_hash, hashed(token)):
        return None
    if session.revoked_at is not None or session.expires_at <= now():
        return None
    user = User.by_id(session.owner_id)
    return None if user is None or not user.active else (session, user)


def _set_cookie(call: Call, value: str, seconds: int) -> None:
    settings, request = call.services.settings, call.request
    call.headers["Set-Cookie"] = cookies.cookie(settings, request, _name_of(settings, request), value,
                                                _path(settings, request), seconds)


def _name_of(settings: Settings, request: Request) -> str:
    # With the prefix no neighbouring host can set the cookie, and it is sent to the whole host (RFC 6265bis 4.1.3.2).
    return f"__Host-{_NAME}" if cookies.is_secure(settings, request) else _NAME


def _path(settings: Settings, request: Request) -> str:
    return "/" if cookies.is_secure(settings, request) else path_of(request, "/console")
