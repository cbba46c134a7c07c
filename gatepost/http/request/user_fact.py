"""Facts about users that features declare, for access reviews."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from settings import Settings

    from ..protocol.messages import Message


class UserFact(NamedTuple):
    """A fact about users, for access reviews.

    name    of its field, and of its column in a file
    title   its name on the console
    empty   its value for users without it: `False`, `0` or `[]`
    values  takes the settings and ids of users; returns id → value: a truth value, a number, or a list of texts
    """

    name: str
    title: Message
    empty: bool | int | list[str]
    values: Callable[[Settings, Sequence[str]], Mapping[str, bool | int | list[str]]]
