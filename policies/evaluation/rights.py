"""The rights of shares, and the verbs that each of them gives."""

from __future__ import annotations

from collections.abc import Mapping

# right → verbs, in the words of permissions (docs/api.md, Shares)
RIGHTS: Mapping[str, tuple[str, ...]] = {
    "read": ("view",),
    "write": ("view", "update"),
    "delete": ("view", "delete"),
    "manage": ("view", "update", "delete", "share"),
}


def rights_for(verb: str) -> tuple[str, ...]:
    """The rights, any of which gives the verb; none for a verb that no share gives."""
    return tuple(right for right, verbs in RIGHTS.items() if verb in verbs)
