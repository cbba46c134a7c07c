"""Findings: the errors and warnings about policy files, each with file and line.

A finding is shown to callers over HTTP, and the file may be none of ours: a key file under a wrong name, a link to
/etc/shadow. So it quotes a word only from a line that begins like one of ours, and no more than `QUOTED` characters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

QUOTED = 60  # characters
MOST_ALIKE = 3  # lines at which the same is said


def quoted(word: str) -> str:
    """A word of a policy line as findings show it, cut short."""
    return f"`{word}`" if len(word) <= QUOTED else f"`{word[:QUOTED]}…`"


def single_person(name: str) -> str:
    """The name on a line as `Finding.person` has it: empty for a role."""
    return name if name.startswith("user:") else ""


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One remark about a line; line 0 means the whole file.

    severity  error or warning
    person    whom the line is about, where that is a single person: `user:<id>`
    outdated  true if an older version accepted the line
    """

    file: str
    line: int
    message: str
    severity: str = "error"
    person: str = ""
    outdated: bool = False

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place and f'{place}: '}{'warning: ' if self.severity == 'warning' else ''}{self.message}"


def summed(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings, those that say the same of more than `MOST_ALIKE` lines of a file as one: at the first line, with
    the number of the others. Each outdated line is named, because an upgrade asks for all of them."""
    alike: dict[Finding, list[Finding]] = {}
    for one in sorted(set(findings)):
        alike.setdefault(replace(one, line=0), []).append(one)
    for first, *others in alike.values():
        if len(others) < MOST_ALIKE or first.outdated:
            yield from (first, *others)
        else:
            yield replace(first, message=f"{first.message} ({len(others)} more lines)")


class PolicyError(Exception):
    """A policy that must not be used, with every reason at once in `findings`."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = sorted(set(findings))
        super().__init__("\n".join(str(finding) for finding in self.findings))

    @property
    def outdated(self) -> bool:
        """True if an older version accepted the policy: there are errors, and each is about a line that it accepted."""
        errors = [finding for finding in self.findings if finding.severity == "error"]
        return bool(errors) and all(finding.outdated for finding in errors)
