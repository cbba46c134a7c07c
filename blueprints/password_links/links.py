"""A one-time link: its token, its URL, the rules about who may make one, and its use.

The token has 256 random bits and is stored as a hash. A link is valid for `password_link_hours`, for one use, and until
the account changes (`PasswordLink`).
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator

from flask import Request

from gatepost import Call, Fault, Message, Problem, Rows, later, now
from gatepost.http.request.identity import hashed, principal_of
from gatepost.http.request.urls import url_of
from gatepost.http.security import passwords
from gatepost.http.writing.rules_in_code import LOGIN, NOT_OWN, STATE, RuleInCode, rank
from models.tables.password_link import PasswordLink, replace_link
from models.tables.service_token import ServiceToken
from models.tables.session import end_all
from models.tables.user import User
from settings import Settings

PAGE = "/console/password/<token>"
_HOUR = 3600.0


def make(settings: Settings, user: User, *, mailed: bool = False, maker_id: str | None = None) -> tuple[str, str]:
    """Stores a new link of a user in the current transaction, which has locked the user. Returns token and expiry.

    mailed    the link is sent to the user's address and shown to nobody, so its use verifies the address
    maker_id  the user who passes the link on
    """
    token = secrets.token_urlsafe(32)
    expires_at = later(settings.password_link_hours * _HOUR)
    return token, replace_link(user, hashed(token), expires_at, mailed=mailed, maker_id=maker_id).expires_at


def url(settings: Settings, token: str, request: Request | None = None) -> str:
    """Returns the link: below `public_url`, else the path alone, because `Host` may be forged."""
    return url_of(settings, request, PAGE.replace("<token>", token), by_proxy=False)


def rules(call: Call, user: User | None) -> Iterator[RuleInCode]:
    """Yields the rules in code about who may create a link for the user; None: for any user."""
    if call.principal.kind == "service":
        yield RuleInCode(LOGIN, Message("the caller uses a service token"),
                         Problem("forbidden", "A service token cannot create a password link."))
    else:
        yield RuleInCode(LOGIN, Message("the caller uses no service token"))
    yield rank(call.access, None if user is None else user.role)
    if user is None:
        yield RuleInCode(STATE, Message("the account must be active"), sent=True)
        return
    mine = user.id == call.principal.id
    yield RuleInCode(NOT_OWN, Message("it is the caller's own account") if mine else
                     Message("it is the account of another user"),
                     Problem("forbidden", "Change your own password with your current one.") if mine else None)
    yield RuleInCode(STATE, Message("the account is active") if user.active else Message("the account is disabled"),
                     None if user.active else disabled(), reads=("active",))


def disabled() -> Problem:
    """Returns the refusal of a link for a disabled account."""
    return Problem("conflict", "The account is disabled. Enable it first.")


def holder(call: Call, token: str) -> User:
    """Returns the user of a valid link. Raises `Problem` (`not_found`)."""
    with call.services.database.connected():
        user = PasswordLink.user_of(hashed(token))
    if user is None:
        raise invalid()
    return user


def prepare(call: Call, token: str, password: str) -> str:
    """Returns the hash of a new password for the user of a link, before the transaction.

    Raises `Problem`: `not_found` before the password is hashed; `invalid_field` for a weak password.
    """
    user = holder(call, token)
    if (reason := passwords.objection(password, user.name, user.email)) is not None:
        raise Problem.of([Fault("invalid_field", reason, pointer="/new_password")], "invalid_body")
    return passwords.hash_password(password)


def drops_credentials(user: User, token: str) -> bool:
    """True if the use of a link removes other credentials, which the user of the link may not know. The database is
    connected."""
    return (user.email_verified_at is None and user.password_hash != passwords.UNUSABLE
            and PasswordLink.is_mailed(hashed(token)))


def use(call: Call, token: str, password_hash: str) -> None:
    """Uses a link in a transaction: sets the password, and ends all sessions. A mailed link verifies the address.

    Raises `Problem` (`not_found`).
    """
    user = PasswordLink.user_of(hashed(token), lock=True)
    link = None if user is None else PasswordLink.take(hashed(token))
    if user is None or link is None:
        raise invalid()
    call.row, call.write.acted_as = user, principal_of(user)
    user.password_hash = password_hash
    if link.mailed:
        if user.email_verified_at is None:
            _drop_credentials(call, user)
        user.email_verified_at = now()
    end_all(user)
    Rows(User, user.tenant_id).save(user)


def _drop_credentials(call: Call, user: User) -> None:
    """Removes what lets anyone log in beside the new password: until now, nobody had proved that the address is theirs.

    A stranger could have opened the account with the address of the user who now takes it over.
    """
    tokens = Rows(ServiceToken, user.tenant_id).discard(owner_id=user.id)
    dropped = [f"service tokens ({tokens})"] if tokens else []
    for drop in call.services.droppers:
        dropped.extend(drop(call, user))
    call.write.dropped = tuple(dropped)


def invalid() -> Problem:
    """Returns one refusal for an unknown, used, replaced or expired link, so that it does not tell which."""
    return Problem("not_found", "This link is not valid. It was used, replaced, or has expired. Ask for a new one.")
