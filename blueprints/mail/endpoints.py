"""Endpoints: ask for a link to choose a new password, send one to a user, and verify one's address.

`POST /api/password-resets` does not reveal whether an address has an account: the answer is the same, and so are the
statements. A job does the rest, and looks the account up again. It begins at a random moment: its work slows down other
requests, so the requests right after a reset could tell.
"""

from __future__ import annotations

import secrets
from typing import Any

from marshmallow import fields

from gatepost import Call, Problem, Routes, Rows, StrictSchema, Text, later
from gatepost.http.pipeline.limiting import count_for_the_day
from gatepost.http.security import passwords
from models.base import new_id
from models.records.mailboxes import mailbox
from models.tables.user import User

from ..password_links import links
from . import configured, verifications
from .jobs import (
    OFF,
    email_changed,
    email_verification,
    login,
    passkey_added,
    passkey_removed,
    password_changed,
    password_link,
    second_factor_added,
    second_factor_removed,
)

routes = Routes("password_mail", "Links to choose a password, by mail.")
verification_routes = Routes("email_verification", "Links by mail, with which users verify their address.")

# Hooks of this module are registered.
mailings = (password_link, email_verification, password_changed, email_changed, second_factor_added,
            second_factor_removed, passkey_added, passkey_removed, login)

SPREAD = 5.0  # seconds within which a requested link is mailed
HOURLY = 5  # links that are mailed to one address in an hour because a stranger may have asked
_HOUR = 3600
_LARGEST_BODY = 32 * 2**10  # bytes of a guest's body
_LONGEST_TOKEN = 200


class ResetSchema(StrictSchema):
    email = Text(required=True, maximum=254, metadata={"example": "noor@example.org"})


class SentSchema(StrictSchema):
    """The answer for every address, with an account or without one."""

    hours = fields.Integer(required=True, metadata={"description": "Hours that a mailed link is valid."})


class PasswordOfAccountSchema(StrictSchema):
    password = Text(maximum=passwords.LONGEST, load_only=True, allow_none=True, metadata={
        "description": "The password of the account: not needed with a session of it.",
        "example": "seven green lanterns"})


class VerificationSchema(PasswordOfAccountSchema):
    token = Text(required=True, maximum=_LONGEST_TOKEN)


def require_mail(call: Call) -> None:
    """Raises `Problem` (`not_found`) where mail is off."""
    if not configured.is_on(call.services.settings):
        raise Problem("not_found", OFF)


def _limit(call: Call) -> None:
    require_mail(call)
    count_for_the_day(call, "password_reset")
    # Beyond this limit the answer stays the same, so it does not reveal the requests of others.
    address = mailbox(call.body["email"]).casefold()
    call.prepared = call.services.limits.within("password_resets", address, HOURLY, _HOUR)


@routes.post("/api/password-resets", public="who forgot their password cannot log in", body=ResetSchema(),
             answer=SentSchema(), status=202, secret=True, tight=True, problems=(404,), prepare=_limit,
             recorded="user.request_password_reset", largest_body=_LARGEST_BODY, operation="password_reset_request")
def request_reset(call: Call) -> dict[str, Any]:
    """Mail the user with this address a link to choose a password: the answer is the same if there is none."""
    # Without an account, a job for a user that nobody is, so that the statements are the same.
    nobody = call.tenant_id, new_id()
    tenant_id, id = User.ids_by_email(call.body["email"]) or nobody
    if call.prepared:
        password_link.post(tenant_id, id, at=later(secrets.randbelow(1000) / 1000 * SPREAD),
                           language=call.services.translations.wanted(call.request).tag)
    return _sent(call)


def _account(call: Call) -> User | None:
    user: User | None = call.services.collections["users"].load_record(call)  # type: ignore[attr-defined]
    return user


@routes.post("/api/users/<id>/password-link/mail", permission="user.create_password_link", answer=SentSchema(),
             status=202, secret=True, problems=(404,), load=_account, rules=links.rules,
             recorded="user.send_password_link", operation="users_send_password_link")
def send_link(call: Call) -> dict[str, Any]:
    """Mail the user a link to choose a password: nobody else sees it."""
    require_mail(call)
    password_link.post(call.row.tenant_id, call.row.id)
    call.write.enqueued = True
    return _sent(call)


def _sent(call: Call) -> dict[str, Any]:
    return {"hours": call.services.settings.password_link_hours}


def _own_account(call: Call, *, lock: bool = True) -> User | None:
    return Rows(User, call.tenant_id).find(call.principal.id or "", lock=lock)


def _limit_verification(call: Call) -> None:
    require_mail(call)
    with call.services.database.connected():
        user = _own_account(call, lock=False)
    if user is not None and user.email_verified_at is None and not verifications.within_limits(
            call.services.limits, user):
        raise Problem("rate_limited", "Enough messages were sent to this address. Try again in an hour.",
                      headers={"Retry-After": str(_HOUR)})


@verification_routes.post("/api/profile/verify-email", permission="profile.update", answer=SentSchema(), status=202,
                          secret=True, problems=(404, 409), fetch=_limit_verification, load=_own_account,
                          recorded="profile.request_verification", operation="profile_verify_email")
def request_verification(call: Call) -> dict[str, Any]:
    """Mail the caller a link with which they verify that their address is theirs."""
    if call.row.email_verified_at is not None:
        raise Problem("conflict", "Your e-mail address is verified already.")
    email_verification.post(call.row.tenant_id, call.row.id, counted=True,
                            language=call.services.translations.wanted(call.request).tag)
    call.write.enqueued = True
    return {"hours": verifications.HOURS}


def _prepare_verification(call: Call) -> None:
    verifications.prepare(call, call.body["token"], call.body.get("password"))


@verification_routes.post("/api/email-verifications", public="the token of the link is the credential",
                          body=VerificationSchema(), status=204, secret=True, tight=True, problems=(403, 404),
                          prepare=_prepare_verification, recorded="profile.verify_email", largest_body=_LARGEST_BODY,
                          operation="email_verification_use")
def verify(call: Call) -> None:
    """Verify the address of a user with the token of a link, and with their password or session: it starts no session.
    """
    verifications.use(call, call.body["token"])
