"""Lines as their files have them, with the comment above: what somebody wrote, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..syntax.rules import COLUMNS, Rule

_HEADINGS = [*COLUMNS["p"]]


@dataclass(frozen=True, slots=True)
class Written:
    """A line of a policy file, without the blanks around it.

    comment  the comment lines directly above it, from the first on, without their `#`; the headings of the columns,
             which stand above the first line of a file, are no comment
    """

    text: str
    comment: tuple[str, ...]


class Files:
    """The files of one policy, each taken apart when a line of it is first asked for."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        """`files`: those of a policy that was loaded, by name."""
        self._files = files
        self._lines: dict[str, list[str]] = {}

    def at(self, rule: Rule) -> Written:
        """The line that a rule was read from. Raises KeyError and IndexError where the files do not have it."""
        lines = self._lines.get(rule.file)
        if lines is None:
            text = self._files[rule.file].decode("utf-8")
            lines = self._lines[rule.file] = [line.strip() for line in text.split("\n")]
        first = number = rule.line - 1
        while first and lines[first - 1].startswith("#"):
            first -= 1
        comment = (line.lstrip("#").strip() for line in lines[first:number])
        return Written(lines[number], tuple(line for line in comment if line.split() != _HEADINGS))
