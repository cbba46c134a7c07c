"""Sensitive changes, which also need the caller's password: a stolen token must not suffice.

These are a change of the caller's e-mail address, and a new service token. The password is in the field
`current_password` of the body. It is not needed for `FRESH` after the login of the session. Checking it takes
milliseconds, so that happens outside the transaction (`confirm`, `confirm_email`). The transaction checks that the
password is still the same (`require`, `allowed`). An operator's command has no credential, and needs no password.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from models.base import Rows, later
from models.records.mailboxes import mailbox
from models.tables.session import Session
from models.tables.user import User

from ..protocol.problems import Fault, Problem
from ..request import audit
from ..request.call import Call
from ..schemas.fields import Text
from ..security import passwords
from .guessing import guessing

FRESH = 600.0  # seconds after a login for which its session suffices
FIELD = "current_password"

Values = Mapping[str, Any]


class CurrentPassword(Text):
    """Password of the caller, which a sensitive change needs. An empty cell of an imported file is no password.

    `on_create` is True if creating a row is also such a change.
    """

    def __init__(self, *, about: str, on_create: bool = True) -> None:
        description = f"Your own password, to {about}: not needed within {FRESH / 60:.0f} minutes of a login."
        super().__init__(maximum=passwords.LONGEST, load_only=True, allow_none=True,
                         metadata={"description": description, "on_create": on_create})


def confirm(call: Call) -> None:
    """Checks the password in the body, if one is needed, while no other writer waits.

    Raises `Problem`: `forbidden` if it is missing or wrong, `rate_limited` after too many wrong ones.
    """
    _confirm(call, call.body, lambda user: True)


def confirm_email(call: Call, id: str, body: Values) -> None:
    """Runs `confirm` if `body` changes the address of the user `id` and that user is the caller.

    Raises `Problem` as well if the caller's password is sent with another user.
    """
    if id != call.principal.id:
        refuse_elsewhere(body)
    elif "email" in body:
        _confirm(call, body, lambda user: _changes_email(user, body))


def refuse_elsewhere(body: Values) -> None:
    """Raises `Problem` if the caller's password is sent with another account."""
    if body.get(FIELD) is not None:
        fault = Fault("invalid_field", "Only a change of your own account takes current_password.",
                      pointer=f"/{FIELD}")
        raise Problem.of([fault], "invalid_body")


def require(call: Call) -> None:
    """Checks in the transaction that the result of `confirm` still holds. Raises `Problem` (`forbidden`)."""
    user = _caller(call, lock=True)
    if user is not None:
        _require(call, user)


def allowed(call: Call, user: User, changes: Values) -> dict[str, Any]:
    """Returns the changes of the user's columns, after checking in the transaction that the caller may make them.

    An address that was stored before addresses were normalized stays unchanged while another user has its mailbox.
    Raises `Problem` (`forbidden`).
    """
    if user.id == call.principal.id and _changes_email(user, changes):
        _require(call, user)
    keeps_email = "email" in changes and not _changes_email(user, changes) and user.shares_mailbox()
    return {name: value for name, value in changes.items() if name != FIELD and not (keeps_email and name == "email")}


def _caller(call: Call, *, lock: bool = False) -> User | None:
    return Rows(User, call.tenant_id).find(call.principal.id or "", lock=lock)


def _confirm(call: Call, body: Values, sensitive: Callable[[User], bool]) -> None:
    with call.services.database.connected():  # holds no connection while the password is hashed
        user = _caller(call)
        if user is None or not sensitive(user) or not needs_password(call):
            return
    _check(call, user, body.get(FIELD))


def _changes_email(user: User, body: Values) -> bool:
    return "email" in body and mailbox(body["email"]) != mailbox(user.email)


def needs_password(call: Call) -> bool:
    """True if the caller must send a password: with a service token always, with a session unless it is recent."""
    if call.credential_id is None:
        return False
    session = Session.by_id(call.credential_id) if call.principal.kind == "user" else None
    return session is None or session.revoked_at is not None or session.proved_at <= later(-FRESH)


def _check(call: Call, user: User, password: str | None) -> None:
    if password is None:
        raise missing()
    with guessing(call, user.email):
        if not passwords.verify(password, user.password_hash):
            audit.note_failure(call, user)
            raise audit.WrongPassword.of([Fault("forbidden", "The current password is wrong.", pointer=f"/{FIELD}")],
                                         "forbidden")
    call.confirmed = user.password_hash


def _require(call: Call, user: User) -> None:
    if call.confirmed != user.password_hash and needs_password(call):
        raise missing()


def missing() -> Problem:
    """Returns the refusal of a sensitive change without the password."""
    return Problem.of([Fault("forbidden", "This needs your current password, or a login within the last ten minutes: "
                                          "send it as current_password.", pointer=f"/{FIELD}")], "forbidden")
