"""Findings: the errors and warnings about policy files, each with file and line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One remark about a line; line 0 means the whole file. `severity` is error or warning."""

    file: str
    line: int
    message: str
    severity: str = "error"

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {'warning: ' if self.severity == 'warning' else ''}{self.message}"


class PolicyError(Exception):
    """A policy that must not be used, with every reason at once in `findings`."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = sorted(set(findings))
        super().__init__("\n".join(str(finding) for finding in self.findings))
