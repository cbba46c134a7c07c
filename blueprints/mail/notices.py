"""Messages to users about their account: a new password, another e-mail address, a second factor or passkey that was
added or removed, a login from a new network.

A user with a new address also gets the link that verifies it. All are context managers around the handlers that make
such a change, and store a job in the same transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gatepost import Call, later
from gatepost.http.credentials.guessing import REMEMBERED
from gatepost.http.operations.limits import network_of
from models.records.mailboxes import mailbox
from models.tables.audit import origins
from models.tables.session import Session
from models.tables.user import User
from settings import Settings

from . import configured, jobs

if TYPE_CHECKING:
    from gatepost.features import Around


def around(settings: Settings) -> Mapping[str, Around]:
    """Returns the messages by the name of the change in the audit log; none where they are off."""
    if not configured.is_on(settings):
        return {}
    addresses: Mapping[str, Around] = {"user.register": account, "profile.update": email, "user.update": email}
    if not settings.mail_notices:
        return addresses
    return {"profile.password": password, "user.use_password_link": password, "session.create": network,
            "profile.add_second_factor": added_factor, "profile.remove_second_factor": removed_factor,
            "user.remove_second_factor": removed_factor, "profile.add_passkey": added_passkey,
            "profile.remove_passkey": removed_passkey, **addresses}


@contextmanager
def password(call: Call) -> Iterator[None]:
    """Tells the user that their password was changed, and if a link has removed other credentials."""
    yield
    jobs.password_changed.post(call.row.tenant_id, call.row.id, language=_language(call),
                               dropped=bool(call.write.dropped))
    call.write.enqueued = True


@contextmanager
def account(call: Call) -> Iterator[None]:
    """Sends a user who opened an account the link that verifies their address."""
    yield
    jobs.email_verification.post(call.row.tenant_id, call.row.id, language=_language(call))
    call.write.enqueued = True


@contextmanager
def email(call: Call) -> Iterator[None]:
    """Tells the user at the former address that it was changed, and sends the link that verifies the new one."""
    former, verified_at = (call.row.email, call.row.email_verified_at) if isinstance(call.row, User) else (None, None)
    yield
    user = call.row
    if former is not None and isinstance(user, User) and mailbox(user.email) != mailbox(former):
        language = _language(call) if user.id == call.principal.id else None
        if call.services.settings.mail_notices:
            jobs.email_changed.post(user.tenant_id, user.id, to=former, verified=verified_at is not None,
                                    language=language)
        jobs.email_verification.post(user.tenant_id, user.id, language=language)
        call.write.enqueued = True


@contextmanager
def added_factor(call: Call) -> Iterator[None]:
    """Tells the user that a second factor was added."""
    yield
    _tell(call, jobs.second_factor_added)


@contextmanager
def removed_factor(call: Call) -> Iterator[None]:
    """Tells the user that their second factor was removed, by themselves or by an administrator."""
    yield
    _tell(call, jobs.second_factor_removed)


@contextmanager
def added_passkey(call: Call) -> Iterator[None]:
    """Tells the user that a passkey was added."""
    yield
    _tell(call, jobs.passkey_added)


@contextmanager
def removed_passkey(call: Call) -> Iterator[None]:
    """Tells the user that a passkey was removed."""
    yield
    _tell(call, jobs.passkey_removed)


def _tell(call: Call, mailing: jobs.Mailing) -> None:
    user: User = call.row
    mailing.post(user.tenant_id, user.id, language=_language(call) if user.id == call.principal.id else None)
    call.write.enqueued = True


@contextmanager
def network(call: Call) -> Iterator[None]:
    """Tells the user about a login from a network from which they did not log in for `REMEMBERED`."""
    yield
    session: Session = call.row
    # The event of this login is stored after the handler.
    addresses = origins(session.tenant_id, f"user:{session.owner_id}", later(-REMEMBERED))
    if session.address is not None and network_of(session.address) not in map(network_of, addresses):
        jobs.login.post(session.tenant_id, session.owner_id, session=session.id, language=_language(call))
        call.write.enqueued = True


def _language(call: Call) -> str:
    return call.services.translations.wanted(call.request).tag
