"""A line by what it says, wherever it stands: so its uses are counted on when it moves."""

from __future__ import annotations

from hashlib import blake2s

from ..syntax.rules import Rule

_SIZE = 16  # bytes


def line_of(rule: Rule) -> str:
    """`p, user, article.view, own, allow`."""
    return f"p, {rule.sub}, {rule.act}, {rule.when}, {rule.eft}"


def digest(rule: Rule) -> str:
    """The digest of what a line says, in hexadecimal: counts tell nothing of the persons whom lines name."""
    return blake2s(line_of(rule).encode(), digest_size=_SIZE).hexdigest()
