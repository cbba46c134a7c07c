"""A link with which a user verifies that they get the mail of their address: its token, its URL, and its use.

It is valid for `HOURS`, for one use, and for this address alone. Its token has 256 random bits and is stored as a hash.
A use also needs the password of the account, or a session of it. Otherwise a stranger could open an account with the
address of another person, and that person would verify it by following the link.
"""

from __future__ import annotations

import secrets

from gatepost import Call, Fault, Message, Problem, Rows, later, now
from gatepost.http.credentials.guessing import guessing
from gatepost.http.operations.limits import Limits
from gatepost.http.request import audit
from gatepost.http.request.identity import hashed, principal_of
from gatepost.http.request.urls import url_of
from gatepost.http.security import passwords
from models.records.mailboxes import mailbox
from models.tables.email_verification import EmailVerification, replace_verification
from models.tables.password_link import PasswordLink
from models.tables.user import User
from settings import Settings

PAGE = "/console/verify-email/<token>"
HOURS = 24
HOURLY = 5  # messages that one user causes in an hour, and messages to one address
_HOUR = 3600
_WRONG = Message("The password is wrong.")


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


def prepare(call: Call, token: str, password: str | None) -> None:
    """Checks, before the transaction, that the account is the caller's: by its password, or by a session of it.

    Raises `Problem`: `not_found`, `forbidden` without the right password, `rate_limited` after too many wrong ones.
    """
    user = holder(call, token)
    if _is_logged_in(call, user):
        return
    if user.password_hash == passwords.UNUSABLE:
        raise _refusal(Message("This account has no password. Log in first, or ask for a link to choose a password: "
                               "that verifies the address, too."))
    if not password:
        raise _refusal(Message("This needs the password of the account, or a login to it."))
    with guessing(call, user.email):
        if not passwords.verify(password, user.password_hash):
            audit.note_failure(call, user)
            raise audit.WrongPassword.of([_fault(_WRONG)], "forbidden")
    call.prepared = user.password_hash


def use(call: Call, token: str) -> None:
    """Uses a link in a transaction, after `prepare`: notes that the address is verified.

    Raises `Problem`: `not_found`; `forbidden` if the password was changed meanwhile.
    """
    user = EmailVerification.user_of(hashed(token), lock=True)
    if user is None or not EmailVerification.take(hashed(token)):
        raise invalid()
    if not _is_logged_in(call, user) and call.prepared != user.password_hash:
        raise _refusal(_WRONG)
    call.row, call.write.acted_as, version = user, principal_of(user), user.version
    user.email_verified_at = now()
    Rows(User, user.tenant_id).save(user)
    PasswordLink.keep(user, version)


def _is_logged_in(call: Call, user: User) -> bool:
    return call.principal.kind == "user" and call.principal.id == user.id


def _refusal(detail: Message) -> Problem:
    return Problem.of([_fault(detail)], "forbidden")


def _fault(detail: Message) -> Fault:
    return Fault("forbidden", detail, pointer="/password")


def invalid() -> Problem:
    """Returns one refusal for an unknown, used, replaced or expired link, and for one of a former address."""
    return Problem("not_found", "This link is not valid. It was used, replaced, or has expired. Ask for a new one.")
