"""Jobs that send mail. A job has ids: its letter, with the token of a link, exists while the job runs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from gatepost import Message, Problem, Task
from gatepost.http.security.passwords import UNUSABLE
from gatepost.jobs.hooks import Hook
from models.base import Rows
from models.tables.audit import add
from models.tables.job import Job, enqueue
from models.tables.session import Session
from models.tables.user import User

from ..password_links import links
from . import configured, verifications

if TYPE_CHECKING:
    from collections.abc import Callable

    from settings import Settings

    from .letters import Letter

ATTEMPTS = 8  # within about three hours: servers put strangers off for minutes (greylisting)
OFF = Message("This service sends no mail.")


class Mailing(Hook):
    """A function that sends one message to a user. Its jobs are of the kind `mail.<function>`."""

    @property
    def name(self) -> str:
        return f"mail.{self.handle.__name__}"

    def post(self, tenant_id: str, user_id: str, *, at: str | None = None, **payload: Any) -> None:
        """Stores a job that sends this message, in the current transaction. It runs at once, or from `at` on."""
        due = {} if at is None else {"run_at": at}
        enqueue(tenant_id, self.name, {"user": user_id, **payload}, max_attempts=ATTEMPTS, **due)


def require_mail(task: Task) -> None:
    """Raises `Problem`, which ends the job, if mail was turned off meanwhile."""
    if not configured.is_on(task.services.settings):
        raise Problem("conflict", OFF)


def reader(task: Task, *, lock: bool = False) -> User | None:
    """Returns the user to write to; None for an unknown, disabled or erased one."""
    user = Rows(User, task.tenant_id).find(task.payload["user"], lock=lock)
    return user if user is not None and user.active and user.erased_at is None else None


def send(task: Task, to: str, letter: Letter) -> None:
    """Sends a letter. Raises `Problem`: with 503 the job is retried, otherwise it has failed."""
    from . import letters, smtp  # a service without mail does not load them

    settings = task.services.settings
    translation = task.services.translations.in_language(task.payload.get("language"))
    task.check()
    try:
        smtp.deliver(settings, letters.composed(settings, translation, to, letter, task.id))
    except smtp.Undelivered as error:
        raise Problem("conflict" if error.final else "unavailable",
                      Message("The message was not sent: {reason}.", reason=str(error))) from None


@Mailing
def password_link(task: Task) -> None:
    """Send a user a link to choose a password. Each attempt makes a new one, which replaces the last."""
    from . import letters

    require_mail(task)
    settings = task.services.settings

    def make() -> tuple[str, str, bool] | None:
        user = reader(task, lock=True)
        if user is None:
            return None
        add(tenant_id=user.tenant_id, principal="system:mail", role="system", action="create_password_link",
            resource="user", resource_id=user.id, result="allowed", reason="mail")
        return user.email, links.make(settings, user, mailed=True)[0], user.password_hash == UNUSABLE

    if (made := task.keep(make)) is not None:
        address, token, invited = made
        send(task, address, letters.link(settings, links.url(settings, token), invited=invited))


@Mailing
def email_verification(task: Task) -> None:
    """Send a user a link to verify their address. Each attempt makes a new one, which replaces the last.

    Changes of addresses are counted here, so that nobody can send messages to others with them.
    """
    from . import letters

    require_mail(task)
    settings, counted = task.services.settings, bool(task.payload.get("counted")) or task.attempt > 1
    with task.services.database.connected():
        user = reader(task)
    if user is None or user.email_verified_at is not None or not (
            counted or verifications.within_limits(task.services.limits, user)):
        return

    def make() -> tuple[str, str] | None:
        user = reader(task, lock=True)
        return None if user is None or user.email_verified_at is not None else (user.email, verifications.make(user))

    if (made := task.keep(make)) is not None:
        address, token = made
        send(task, address, letters.verification(settings, verifications.url(settings, token), verifications.HOURS))


@Mailing
def password_changed(task: Task) -> None:
    """Tell a user that their password was changed."""
    from . import letters

    _notify(task, partial(letters.password_changed, dropped=bool(task.payload.get("dropped"))))


@Mailing
def passkey_added(task: Task) -> None:
    """Tell a user that a passkey was added."""
    from . import letters

    _notify(task, letters.passkey_added)


@Mailing
def passkey_removed(task: Task) -> None:
    """Tell a user that a passkey was removed."""
    from . import letters

    _notify(task, letters.passkey_removed)


@Mailing
def second_factor_added(task: Task) -> None:
    """Tell a user that a second factor was added."""
    from . import letters

    _notify(task, letters.second_factor_added)


@Mailing
def second_factor_removed(task: Task) -> None:
    """Tell a user that their second factor was removed."""
    from . import letters

    _notify(task, letters.second_factor_removed)


@Mailing
def login(task: Task) -> None:
    """Tell a user about a login from a new network."""
    from . import letters

    require_mail(task)
    with task.services.database.connected():
        user, session = reader(task), task.rows(Session).find(task.payload["session"])
    if user is not None and session is not None and _may_notify(task, user):
        send(task, user.email, letters.login(task.services.settings, session.address or "?", session.created_at))


@Mailing
def email_changed(task: Task) -> None:
    """Tell a user at the former address that it was changed. The job forgets the address when it ends."""
    from . import letters

    def forget() -> None:
        rest = {name: value for name, value in task.payload.items() if name != "to"}
        task.rows(Job).change({Job.payload: orjson.dumps(rest).decode()}, Job.id == task.id)

    try:
        require_mail(task)
        with task.services.database.connected():
            user = reader(task)
        if user is not None and (former := task.payload.get("to")) is not None and _may_notify(task, user, former):
            send(task, former, letters.email_changed(task.services.settings, task.job.created_at))
    except Problem as problem:
        if problem.status < 500 or task.attempt >= ATTEMPTS:
            task.keep(forget)
        raise
    task.finish(forget)


def _notify(task: Task, letter: Callable[[Settings, str], Letter]) -> None:
    require_mail(task)
    with task.services.database.connected():
        user = reader(task)
    if user is not None and _may_notify(task, user):
        send(task, user.email, letter(task.services.settings, task.job.created_at))


def _may_notify(task: Task, user: User, former: str | None = None) -> bool:
    """Counts a notice to an address that was not verified, because it may be a stranger's. Returns False after too many
    within an hour.

    former  an earlier address of the user: the job knows if it was verified
    """
    is_verified = task.payload.get("verified") if former is not None else user.email_verified_at is not None
    return bool(is_verified) or task.attempt > 1 or verifications.within_limits(
        task.services.limits, user, former, counter="notices")
