"""Limit on guesses of a password: counted by network and by account, together for all endpoints."""

from __future__ import annotations

from contextlib import AbstractContextManager

from models.base import DAY, later, new_id
from models.records.mailboxes import mailbox
from models.tables.audit import origins
from models.tables.user import User

from ..request.call import Call

REMEMBERED = 30.0 * DAY  # seconds for which the network of a successful login counts as the account's


def guessing(call: Call, email: str) -> AbstractContextManager[None]:
    """Counts a guess of the password of this e-mail address if the block raises `Problem`.

    All spellings that find the same account are counted together (`User.by_email`). Raises `Problem` (`rate_limited`)
    for too many guesses.
    """
    def recent_origins() -> set[str]:
        with call.services.database.connected():
            user = User.by_email(email)
            # The audit log is also read if there is no account, so that the answer takes as long.
            tenant_id, id = (call.tenant_id, new_id()) if user is None else (user.tenant_id, user.id)
            return origins(tenant_id, f"user:{id}", later(-REMEMBERED))

    return call.services.limits.guessing(mailbox(email).casefold(), call.address, recent_origins)
