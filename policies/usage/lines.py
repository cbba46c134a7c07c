"""Identity of a rule by its text, not by its place. So its uses still count after it is moved."""

from __future__ import annotations

from hashlib import blake2s

from ..syntax.rules import Rule

_SIZE = 16  # bytes


def line_of(rule: Rule) -> str:
    """`p, user, article.view, own, allow`."""
    return str(rule)


def digest(rule: Rule) -> str:
    """The digest of the text of a rule, in hexadecimal. So counts reveal nothing about the users whom rules name."""
    return blake2s(line_of(rule).encode(), digest_size=_SIZE).hexdigest()
