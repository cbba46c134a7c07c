"""Protection of the last administrator: over HTTP, only an administrator can make another one.

An administrator is an active user, of any tenant, whose stored role is `admin`. Each change that ends the rights of one
first locks all of them, in one order. So if two administrators remove each other at the same time, one waits and is
refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from models.tables.user import ADMINISTRATOR, User

from ..credentials import step_up
from ..protocol.messages import Message
from ..request.access import Access
from ..request.call import Call
from .actions import Conflict
from .rules_in_code import LAST_ADMINISTRATOR, PASSWORD, RuleInCode


def lock_before(user: User | None, access: Access) -> None:
    """Locks all administrators before the row of one, for a caller who ranks high enough to change that row."""
    if user is not None and user.administers and access.ranks_over(user.role):
        User.administrators(lock=True)


def unmakes(changes: Mapping[str, Any]) -> bool:
    """Returns True if these changes end the rights of an administrator."""
    return bool(changes.get("role", ADMINISTRATOR) != ADMINISTRATOR or not changes.get("active", True))


def keep_one(user: User) -> None:
    """Raises `Conflict` (`last_administrator`) if this user is the only administrator."""
    if _is_last(user, lock=True):
        raise _conflict()


def rules(call: Call, verb: str, user: User | None) -> Iterator[RuleInCode]:
    """Returns the rules in code about a user who may be the last administrator, and about the caller's own account."""
    if user is None:
        return
    if verb in ("update", "delete", "disable"):
        yield _stays(user, sent=verb == "update")
    if verb == "update" and user.id == call.principal.id:
        yield RuleInCode(PASSWORD, Message("another e-mail address of one's own needs the current password, or a "
                                           "login within ten minutes"), step_up.missing(), sent=True)


def _stays(user: User, *, sent: bool) -> RuleInCode:
    """Returns the rule that an administrator besides this user must remain; `sent`: only some changes end one."""
    if not user.administers:
        return RuleInCode(LAST_ADMINISTRATOR, Message("the user is no active administrator"), reads=("role", "active"))
    last = _is_last(user, lock=False)
    text = Message("the user is the last active administrator, and must stay one") if last else \
        Message("the user is not the only active administrator")
    return RuleInCode(LAST_ADMINISTRATOR, text, _conflict() if last else None, sent=sent and last,
                      reads=("role", "active"))


def _is_last(user: User, *, lock: bool) -> bool:
    return user.administers and User.administrators(lock=lock) == [user.id]


def _conflict() -> Conflict:
    return Conflict("This is the last active administrator. Make another user an administrator first.",
                    "last_administrator")
