"""The caller and the environment of a request: a condition reads them as `r.sub` and `r.env`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from typing import Any, Protocol

from ..syntax.vocabulary import date_time

OPERATOR = "operator"  # the key of an administrator without an id: who imports rows by a command


class Login(dict[str, Any]):
    """Values of attributes of the caller that features declare, by name. All others are missing."""

    def __missing__(self, name: str) -> Any:
        return None


NO_LOGIN: Mapping[str, Any] = Login()


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller of one request: what a condition reads as `r.sub`, and what narrows it.

    `key` is `user:<id>`, `guest` without credentials, or `OPERATOR`. `kind` is user, service or guest. `scopes` is None
    for an unscoped principal; an empty set grants nothing.
    """

    id: str | None
    key: str
    role: str
    tenant_id: str
    department: str | None = None
    kind: str = "user"
    groups: tuple[str, ...] = ()
    scopes: frozenset[str] | None = None

    @property
    def login(self) -> Mapping[str, Any]:
        """Values of attributes that features declare. `login[name]` is None if a value is missing."""
        return NO_LOGIN


@dataclass(frozen=True, slots=True)
class LoggedIn(Principal):
    """A caller with a login, of which features know more: `r.sub.mfa`."""

    login: Mapping[str, Any] = field(default_factory=Login, compare=False)


class Environment(Protocol):
    """The environment that a condition reads as `r.env`.

    hour, weekday, date  0–23, ISO 1–7 and YYYY-MM-DD, in the zone of the settings
    now                  YYYY-MM-DDTHH:MM:SS.ffffffZ, in UTC
    request              read or write
    """

    @property
    def hour(self) -> int: ...
    @property
    def weekday(self) -> int: ...
    @property
    def date(self) -> str: ...
    @property
    def now(self) -> str: ...
    @property
    def ip(self) -> str | None: ...
    @property
    def device(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def request(self) -> str: ...


@dataclass(frozen=True, slots=True)
class FixedEnvironment:
    """Circumstances that are given instead of observed: those of a case, an example or a question."""

    hour: int = 10
    weekday: int = 3
    date: str = "2026-11-18"
    now: str = "2026-11-18T10:00:00.000000Z"
    ip: str | None = "203.0.113.7"
    device: str = "desktop"
    method: str = "GET"
    request: str = "read"

    def at(self, moment: datetime, zone: tzinfo) -> FixedEnvironment:
        """The same environment at another time, as a clock on a wall in `zone` shows it. A moment without an offset is
        what that clock shows. Raises OverflowError beyond the years that there are."""
        aware = moment.replace(tzinfo=zone) if moment.tzinfo is None else moment
        # By way of UTC: an hour that a change of the clock leaves out becomes the one that the clock shows instead.
        shown = aware.astimezone(UTC).astimezone(zone)
        return replace(self, hour=shown.hour, weekday=shown.isoweekday(), date=shown.date().isoformat(),
                       now=date_time(shown))

    def having(self, values: Mapping[str, Any]) -> FixedEnvironment:
        """The same environment but for these attributes."""
        return replace(self, **values)
