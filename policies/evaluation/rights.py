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
# Verbs of guarded fields, which show more of what can be viewed; and of questions that are too long for a URL.
SHOWS = ("view_private", "view_facts", "evaluate")


def is_read(permission: str) -> bool:
    """True if the permission only reads."""
    return permission.partition(".")[2] in (*READS, *SHOWS)


def rights_for(verb: str) -> tuple[str, ...]:
    """Returns the rights that give the verb; empty for a verb that no share gives."""
    return tuple(right for right, verbs in RIGHTS.items() if verb in verbs)
