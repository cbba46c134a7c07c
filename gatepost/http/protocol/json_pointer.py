"""JSON pointers (RFC 6901): places in a body."""

from __future__ import annotations


def below(pointer: str, name: str) -> str:
    """Returns the pointer to the member `name` of the value at `pointer`."""
    return f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"
