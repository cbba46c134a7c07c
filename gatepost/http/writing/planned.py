"""Report of a dry run: what each line of an import would do.

The lines run through the same code as an import, and their transaction is undone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from ..request.call import Call
from .writable import Writable

Values = Mapping[str, Any]
OUTCOMES = CREATED, CHANGED, UNCHANGED = "created", "changed", "unchanged"
MOST_LISTED = 1000  # lines of a report
_LONGEST = 200  # characters of a listed value
_OF_ITSELF = frozenset(("id", "tenant_id", "version", "updated_at"))  # follows from every change


class Plan:
    """Effects of the lines of one import, for the caller of `call`. Lists the first thousand and counts all.

    A value that the caller may not see is not listed. A hidden field counts as changed, whatever its value, as in an
    import.
    """

    def __init__(self, collection: Writable, call: Call) -> None:
        self._collection, self._call = collection, call
        self._names = tuple(name for name in collection.representation.columns if name not in _OF_ITSELF)
        self.begin()

    def begin(self) -> None:
        """Starts again: a transaction may run twice."""
        self._lines: list[dict[str, Any]] = []
        self._unchanged = 0

    def create(self, line: int, row: Values, sent: Values) -> None:
        """Notes a new row, with the fields that the line has `sent`."""
        if len(self._lines) < MOST_LISTED:
            after = self._shown(row)
            self._add(line, CREATED, None, [{"field": name, "before": None, "after": _cut(after[name])}
                                            for name in after if name in sent and after[name] is not None])

    def change(self, line: int, before: Values, after: Values, *, changed: bool) -> None:
        """Notes a line about an existing row."""
        self._unchanged += not changed
        if len(self._lines) >= MOST_LISTED:
            return
        old, new = self._shown(before), self._shown(after)
        changes = [{"field": name, "before": _cut(old[name]), "after": _cut(new[name])}
                 for name in new if name in old and old[name] != new[name]]
        self._add(line, CHANGED if changed else UNCHANGED, before["id"], changes)

    def answer(self) -> dict[str, Any]:
        """Returns the fields that a dry run adds to the result of an import."""
        return {"unchanged": self._unchanged, "lines": sorted(self._lines, key=lambda one: one["line"])}

    def _add(self, line: int, outcome: str, id: str | None, found: list[dict[str, Any]]) -> None:
        self._lines.append({"line": line, "outcome": outcome, "id": id, "changes": found})

    def _shown(self, row: Values) -> dict[str, Any]:
        return self._collection.represent(self._call, [dict(row)], self._names)[0]


def _cut(value: Any) -> Any:
    """Returns a short value as it is; of a long text or a long list as JSON, the beginning."""
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return value if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
