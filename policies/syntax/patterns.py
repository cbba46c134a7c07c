"""The patterns of the permission column: `article.*`, `*.view`, `*`.

For letters, digits, `_`, `.` and `*`, which alone are allowed, this answers as Casbin's globMatch does; a test compares
both. Each pattern is expanded once, because globMatch compiles its pattern on every call.
"""

from __future__ import annotations

import re

from .vocabulary import Vocabulary


class Patterns:
    """Which permissions a pattern of the permission column covers. Only `*` is special."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.permissions = frozenset(vocabulary.by_permission)
        self._known: dict[str, frozenset[str]] = {}

    def covered(self, pattern: str) -> frozenset[str]:
        """The permissions that a pattern covers; none when it is misspelt."""
        known = self._known.get(pattern)
        if known is None:
            if "*" in pattern and not re.search(r"[^a-z0-9_.*]|\*\*", pattern):
                expression = re.compile(".*".join(map(re.escape, pattern.split("*"))))
                known = frozenset(filter(expression.fullmatch, self.permissions))
            else:
                known = frozenset((pattern,)) & self.permissions
            self._known[pattern] = known
        return known
