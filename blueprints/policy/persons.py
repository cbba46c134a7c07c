"""Persons as a question names them, and what they are called as far as the asker may see it."""

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
    """A user as the caller may see them. `name` has the e-mail behind it where that may be seen; both are None where
    they may not."""

    id: str
    name: str | None = None
    role: str | None = None


class Who(Line):
    """An e-mail, an id of a user, or a role; the id is loaded in lower case."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(maximum=254, **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        return with_read_id(super()._deserialize(value, attr, data, **kwargs))


def named_person(call: Call, who: str) -> User:
    """The user with that id or e-mail, if the caller may see them under it. Raises `Problem` (404) for any other."""
    users = cast(Readable, call.services.collections[USERS])
    found = Rows(User, call.tenant_id).find(who) if is_id(who) else User.by_email(who)
    if found is None or found.tenant_id != call.tenant_id or not users.counts(found.__data__):
        raise not_found()
    if not call.access.allows(users.view, found.__data__):
        raise not_found()
    # A caller who may not see a person's e-mail must not learn here whether it exists.
    if not is_id(who) and "email" in hidden_of(call, users, found.__data__):
        raise not_found()
    return found


def shown_persons(call: Call, ids: Iterable[str]) -> list[Shown]:
    """These users by name, those without a name last: all of them, also those whom the caller may not view."""
    wanted = list(ids)
    visible = call.services.collections[USERS].visible_many(call, wanted)
    found = (Shown(id, title(row, with_email=True) or None, row.get("role")) if (row := visible.get(id)) else Shown(id)
             for id in wanted)
    return sorted(found, key=lambda one: (one.name is None, (one.name or "").casefold(), one.id))
