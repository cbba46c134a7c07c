"""Attributes of the caller that features declare."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from models.tables.session import Session
    from policies.syntax.vocabulary import Column


class CallerAttribute(NamedTuple):
    """An attribute of the caller, which conditions read as `r.sub.<name>`. Only a user who is logged in has a value.

    type       bool, int or str. Conditions compare a bool with 1 and 0
    value      takes the row of the session (`models.tables.session.Session`); returns the value, None if it has none
    strongest  the value of the strongest login, by which a refused request is tried again
    challenge  takes the value that would suffice; returns the parameter of the challenge in a 401 (RFC 9470), such as
               `max_age="600"`
    values     the only values; empty: any of the type
    least      the least number
    """

    type: type[bool] | type[int] | type[str]
    value: Callable[[Session], Any]
    strongest: bool | int | str
    challenge: Callable[[Any], str]
    values: tuple[str, ...] | tuple[int, ...] = ()
    least: int | None = None

    @property
    def column(self) -> Column:
        """The attribute as rules see it."""
        from policies.syntax.vocabulary import Column  # not loaded by `gatepost --help`

        return Column(self.type, True, values=self.values, least=self.least)
