"""What is wrong with the lines of an import, as its answer says it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from ..protocol.messages import Message, plural
from ..protocol.problems import Fault, Problem

MOST = 1000  # faults that one answer lists


class Faults:
    """What is wrong with which line; the first thousand faults are kept for the answer, and end the import."""

    def __init__(self, lines: int = 0, listed: Iterable[tuple[int, Fault]] = ()) -> None:
        self.lines = lines
        self._listed = list(listed)

    def copy(self) -> Faults:
        return Faults(self.lines, self._listed)

    @property
    def full(self) -> bool:
        """Whether no more faults can be listed."""
        return len(self._listed) >= MOST

    @property
    def listed(self) -> Iterator[Fault]:
        """Every fault that is kept."""
        return (fault for _, fault in self._listed)

    def add(self, line: int, problem: Problem) -> None:
        """Note every fault of one line; a line is added once."""
        self.lines += 1
        if not self.full:
            self._listed += [(line, fault) for fault in problem.faults or [Fault(problem.code, problem.detail)]]

    def stop_if_full(self) -> None:
        """Raises `Problem` once no more faults can be listed, also where lines may be skipped: to look at every line of
        a file of bad ones costs far more than to send it."""
        if self.full:
            raise self.problem()

    def answer(self) -> list[dict[str, Any]]:
        """`{line, code, detail, pointer}` of each, in the order of the lines."""
        return [{"line": line, "code": fault.code, "detail": fault.detail, "pointer": fault.pointer}
                for line, fault in self._sorted()]

    def problem(self) -> Problem:
        """The refusal of the whole file."""
        found = [replace(fault, meta={**(fault.meta or {}), "line": line}) for line, fault in self._sorted()]
        detail = (Message("The first {number} lines that cannot be imported ended the import; nothing was imported.",
                          number=self.lines) if self.full else
                  plural("{number} line cannot be imported; nothing was.",
                         "{number} lines cannot be imported; nothing was.", self.lines))
        return Problem("invalid_body", detail, found)

    def _sorted(self) -> list[tuple[int, Fault]]:
        return sorted(self._listed, key=lambda one: one[0])[:MOST]
