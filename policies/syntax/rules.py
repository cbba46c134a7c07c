"""The lines of the CSV files: rules (`p`), scopes (`p2`) and roles (`g`), each with its file and line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from .finding import QUOTED, Finding, quoted, single_person
from .patterns import Patterns
from .roles import RoleLink
from .text import decoded, meaningful

COLUMNS = {
    "p": ("who", "permission", "when", "effect"),
    "p2": ("scope", "permission"),
    "g": ("name", "inherits"),
}
UNKNOWN_PERMISSION = "is no permission, and no pattern of any"  # how a finding about one ends
PERSON = re.compile(r"user:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SCOPE = re.compile(r"(?:read|write|manage):([a-z][a-z0-9_]*)")


@dataclass(frozen=True, slots=True)
class Rule:
    """One `p` line: which role or person may, or may not, do what, and when."""

    file: str
    line: int
    sub: str
    act: str
    when: str
    eft: str

    @property
    def place(self) -> str:
        """`articles.csv:14`."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class ScopeRule:
    """One `p2` line: a permission that a scope covers."""

    file: str
    line: int
    scope: str
    act: str


@dataclass
class Lines:
    """Everything that the CSV files say."""

    rules: list[Rule] = field(default_factory=list)
    scopes: list[ScopeRule] = field(default_factory=list)
    links: list[RoleLink] = field(default_factory=list)


class Reader:
    """Reads CSV files one after the other and collects what is wrong with them."""

    def __init__(
        self,
        roles: frozenset[str],
        patterns: Patterns,
        conditions: Mapping[str, object] | None,
        areas: frozenset[str],
        findings: list[Finding],
    ) -> None:
        """`conditions` are the words of the `when` column (None: not known), `areas` what a scope can be of."""
        self._roles, self._patterns, self._conditions, self._areas = roles, patterns, conditions, areas
        self._findings = findings
        self.lines = Lines()

    def read(self, file: str, content: bytes) -> None:
        """Read one file. Findings are added; lines with a finding are left out."""
        for number, line in meaningful(decoded(file, content, self._findings)):
            kind, *columns = (column.strip() for column in line.split(","))
            wrong = self._wrong(line, kind, columns)
            if wrong:
                self._findings.append(Finding(file, number, wrong, person=single_person(columns[0] if columns else "")))
            elif kind == "p":
                self.lines.rules.append(Rule(file, number, *columns))
            elif kind == "p2":
                self.lines.scopes.append(ScopeRule(file, number, *columns))
            else:
                self.lines.links.append(RoleLink(file, number, *columns))

    def _wrong(self, line: str, kind: str, columns: list[str]) -> str | None:
        if "#" in line:
            return "write comments on lines of their own"
        if '"' in line or "'" in line:
            return "quotes become part of the value; leave them out"
        if kind not in COLUMNS:
            return "a line begins with p, p2 or g, and a comma"
        expected = COLUMNS[kind]
        if len(columns) != len(expected):
            return f"{kind} takes {len(expected)} columns ({', '.join(expected)}), not {len(columns)}"
        if kind == "p":
            return self._wrong_rule(*columns)
        if kind == "p2":
            scope, act = columns
            found = SCOPE.fullmatch(scope)
            if not found:
                return f"{quoted(scope)} is no scope; write read, write or manage, a colon and a collection"
            if found[1] not in self._areas:
                return f"{quoted(scope)} is no scope: {found[1][:QUOTED]} is unknown; {_known(self._areas)}"
            return self._wrong_permission(act)
        name, inherits = columns
        return self._wrong_name(name) or (
            None if inherits in self._roles else f"{quoted(inherits)} is no role; {_known(self._roles)}"
        )

    def _wrong_rule(self, sub: str, act: str, when: str, eft: str) -> str | None:
        wrong = self._wrong_name(sub) or self._wrong_permission(act)
        if wrong:
            return wrong
        if self._conditions is not None and when not in self._conditions:
            return f"{quoted(when)} is no condition; {_known(self._conditions)}"
        return None if eft in ("allow", "deny") else f"{quoted(eft)} is no effect; write allow or deny"

    def _wrong_name(self, name: str) -> str | None:
        if name in self._roles or PERSON.fullmatch(name):
            return None
        return f"{quoted(name)} is neither a role nor user:<id>; {_known(self._roles)}"

    def _wrong_permission(self, act: str) -> str | None:
        return None if self._patterns.covered(act) else f"{quoted(act)} {UNKNOWN_PERMISSION}"


def _known(words: Mapping[str, object] | frozenset[str]) -> str:
    return f"known are {', '.join(sorted(words))}"
