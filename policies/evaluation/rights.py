"""The verbs of permissions: which of them only read, and which each right of a share gives."""

from __future__ import annotations

from collections.abc import Mapping

# right → verbs, in the words of permissions (docs/api/shares.md, Rights)
RIGHTS: Mapping[str, tuple[str, ...]] = {
    "read": ("view",),
    "write": ("view", "update"),
    "delete": ("view", "delete"),
    "manage": ("view", "update", "delete", "share"),
}

# Verbs of GET requests.
READS = ("view", "export")
# Verbs of questions that are too long for a URL.
ASKS = ("evaluate",)
SHOWS = "view_"  # verbs of guarded fields begin with it: they show more of what can be viewed


def is_read(permission: str) -> bool:
    """True if the permission only reads."""
    verb = permission.partition(".")[2]
    return verb in (*READS, *ASKS) or verb.startswith(SHOWS)


def rights_for(verb: str) -> tuple[str, ...]:
    """Returns the rights that give the verb; empty for a verb that no share gives."""
    return tuple(right for right, verbs in RIGHTS.items() if verb in verbs)


def rights_to(permission: str, fallbacks: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the rights that give a permission: those that give its fallback, if it has one."""
    return rights_for(fallbacks.get(permission, permission).partition(".")[2])
