"""JSON pointers (RFC 6901): where in a body something is."""

from __future__ import annotations


def below(pointer: str, name: str) -> str:
    """The pointer to the member `name` of what `pointer` names."""
    return f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"
