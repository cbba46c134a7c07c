"""A link with which a user verifies that they get the mail of their address: its token, its URL, and its use.

It is valid for `HOURS`, for one use, and for this address alone. Its token has 256 random bits and is stored as a hash.
"""

from __future__ import annotations

import secrets

from gatepost import Call, Problem, Rows, later, now
from gatepost.http.operations.limits import Limits
from gatepost.http.request.identity import hashed, principal_of
from gatepost.http.request.urls import url_of
from models.records.mailboxes import mailbox
from models.tables.email_verification import EmailVerification, replace_verification
from models.tables.password_link import PasswordLink
from models.tables.user import User
from settings import Settings

PAGE = "/console/verify-email/<token>"
HOURS = 24
HOURLY = 5  # messages that one user causes in an hour, and messages to one address
_HOUR = 3600


def make(user: User) -> str:
    """Stores a new link of a user in the current transaction, which has locked the user. Returns its token."""
    token = secrets.token_urlsafe(32)
    replace_verification(user, hashed(token), later(HOURS * float(_HOUR)))
    return token


def url(settings: Settings, token: str) -> str:
    """Returns the link: below `public_url`, else the path alone."""
    return url_of(settings, None, PAGE.replace("<token>", token))


def within_limits(limits: Limits, user: User, address: str | None = None, *,
                  counter: str = "email_verifications") -> bool:
    """Counts a message to an address, or the user's own. Returns False if either had enough within an hour."""
    return all(limits.within(counter, key, HOURLY, _HOUR) for key in (user.id, mailbox(address or user.email)))


def holder(call: Call, token: str) -> User:
    """Returns the user of a valid link. Raises `Problem` (`not_found`)."""
    with call.services.database.connected():
        user = EmailVerification.user_of(hashed(token))
    if user is None:
        raise invalid()
    return user


def use(call: Call, token: str) -> None:
    """Uses a link in a transaction: notes that the address is verified. Raises `Problem` (`not_found`)."""
    user = EmailVerification.user_of(hashed(token), lock=True)
    if user is None or not EmailVerification.take(hashed(token)):
        raise invalid()
    call.row, call.write.acted_as, version = user, principal_of(user), user.version
    user.email_verified_at = now()
    Rows(User, user.tenant_id).save(user)
    PasswordLink.keep(user, version)


def invalid() -> Problem:
    """Returns one refusal for an unknown, used, replaced or expired link, and for one of a former address."""
    return Problem("not_found", "This link is not valid. It was used, replaced, or has expired. Ask for a new one.")
