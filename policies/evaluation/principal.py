"""Who asks."""

from __future__ import annotations

from dataclasses import dataclass


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
