"""Users in questions: look-up by e-mail or id, and their names as far as the caller may see them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from gatepost.collections.names import USERS, title
from gatepost.http.protocol.problems import not_found
from gatepost.http.reading.readable import Readable
from gatepost.http.request.call import Call
from gatepost.http.request.reasons import hidden_of
from gatepost.http.schemas.fields import Line
from models.base import Rows, is_id, with_read_id
from models.tables.user import User


@dataclass(frozen=True, slots=True)
class Shown:
    """A user as the caller may see them: `name` includes the visible e-mail address; `name` and `role` may be None."""

    id: str
    name: str | None = None
    role: str | None = None


class Who(Line):
    """An e-mail address, an id of a user, or a role; an id is loaded in lower case."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(maximum=254, **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        return with_read_id(super()._deserialize(value, attr, data, **kwargs))


def named_person(call: Call, who: str) -> User:
    """Returns the user with that id or e-mail.

    Raises `Problem` (404) if the caller may not see the user, or may not see the e-mail.
    """
    users = cast(Readable, call.services.collections[USERS])
    user = Rows(User, call.tenant_id).find(who) if is_id(who) else User.by_email(who)
    if user is None or user.tenant_id != call.tenant_id or not users.counts(user.__data__):
        raise not_found()
    if not call.access.allows(users.view, user.__data__):
        raise not_found()
    # A caller who may not see the e-mail must not learn if it exists.
    if not is_id(who) and "email" in hidden_of(call, users, user.__data__):
        raise not_found()
    return user


def shown_persons(call: Call, ids: Iterable[str]) -> list[Shown]:
    """Lists these users by name, those without a name last. Users whom the caller may not view have only an id."""
    wanted = list(ids)
    visible = call.services.collections[USERS].visible_many(call, wanted)
    users = (Shown(id, title(row, with_email=True) or None, row.get("role")) if (row := visible.get(id)) else Shown(id)
             for id in wanted)
    return sorted(users, key=lambda user: (user.name is None, (user.name or "").casefold(), user.id))
