"""Who asks, and in which environment: what a condition reads as `r.sub` and `r.env`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller of one request: what a condition reads as `r.sub`, and what narrows it.

    `key` is `user:<id>`, or `guest` without credentials. `kind` is user, service or guest. `scopes` is None
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


class Environment(Protocol):
    """What a condition reads as `r.env`: hour 0–23, weekday ISO 1–7, date YYYY-MM-DD; request is read or write."""

    @property
    def hour(self) -> int: ...
    @property
    def weekday(self) -> int: ...
    @property
    def date(self) -> str: ...
    @property
    def ip(self) -> str | None: ...
    @property
    def device(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def request(self) -> str: ...
