"""model.conf: the definitions, which are fixed, and the matchers, which an administrator may change."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ..wording.columns import conflict
from ..wording.expressions import balance
from ..wording.finding import Finding, quoted
from ..wording.suggestions import did_you_mean, hint, nearest
from . import matcher
from .conditions import Conditions, conditions, named_branches
from .expression import AnyOf, Expression, FunctionCall, atoms, attributes
from .matcher import Places
from .text import decoded
from .vocabulary import Function

MODEL_FILE = "model.conf"
RULE_FIELDS = ("sub", "act", "when", "eft")
SCOPE_FIELDS = ("scope", "act")
DEFINITIONS: Mapping[str, Mapping[str, str | None]] = {
    "request_definition": {"r": "sub, act, obj, env", "r2": "scope, act"},
    "policy_definition": {"p": "sub, act, when, eft", "p2": "scope, act"},
    "role_definition": {"g": "_, _"},
    "policy_effect": {
        "e": "some(where (p.eft == allow)) && !some(where (p.eft == deny))",
        "e2": "some(where (p.eft == allow))",
    },
    "matchers": {"m": None, "m2": None},
}
_ASSIGNMENT = re.compile(r"(\w+)\s*=(?!=)")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


@dataclass(frozen=True)
class Model:
    """The content of model.conf.

    places   where the parts of the matcher stand
    remarks  warnings about conditions
    """

    matcher: Expression
    scope_matcher: Expression
    matcher_line: int
    scope_line: int
    conditions: Conditions
    places: Places
    remarks: tuple[Finding, ...] = ()

    @cached_property
    def rule_columns(self) -> tuple[str, ...]:
        """The columns of a rule by which its condition can differ from that of another rule."""
        read = (one for atom in atoms(self.matcher) if not isinstance(atom, FunctionCall) for one in attributes(atom))
        return tuple(sorted({one.name for one in read if one.root == "rule"} | {"when", "eft"}))

    def line(self, part: Expression) -> int:
        """The first line that says this, or where the matcher begins."""
        lines = self.places.lines
        return lines.get(part) or min((lines[atom] for atom in atoms(part) if atom in lines), default=self.matcher_line)


class _Value:
    """A value that begins on `line`, and the brackets that are still open in it."""

    def __init__(self, line: int, text: str) -> None:
        self.line = line
        self._rows: list[str] = []
        self.open = 0
        self.add(text)

    def add(self, row: str, above: int = 0) -> None:
        """Another line, with so many empty ones above it."""
        self._rows += [*[""] * above, row.rstrip().removesuffix("\\")]
        self.open += balance(row)

    @property
    def text(self) -> str:
        """The value with the line breaks of the file."""
        return "\n".join(self._rows)


@lru_cache(maxsize=4)
def read_model(content: bytes, functions: tuple[Function, ...] = ()) -> tuple[Model | None, tuple[Finding, ...]]:
    """Read model.conf: what it says, or None and the findings. Remembered, because edits are mostly to rules.

    `functions` are those of plugins, which the matcher may call.
    """
    findings: list[Finding] = []
    return _read(content, functions, findings), tuple(findings)


def _read(content: bytes, functions: tuple[Function, ...], findings: list[Finding]) -> Model | None:
    lines = decoded(MODEL_FILE, content, findings)
    if not lines:
        return None
    values = _values(lines, findings)
    for section, definitions in DEFINITIONS.items():
        for name, expected in definitions.items():
            value = values.get((section, name))
            if value is None:
                findings.append(Finding(MODEL_FILE, 0, f"[{section}] lacks `{name}`"))
            elif expected is not None and "".join(value.text.split()) != "".join(expected.split()):
                findings.append(Finding(MODEL_FILE, value.line, f"`{name}` must be `{expected}`"))
    if findings:
        return None
    try:
        m, m2 = values["matchers", "m"], values["matchers", "m2"]
        main, places = matcher.parse(m.text, file=MODEL_FILE, line=m.line, fields=RULE_FIELDS, functions=functions)
        scopes, _ = matcher.parse(m2.text, file=MODEL_FILE, line=m2.line, request="r2", rule="p2", fields=SCOPE_FIELDS)
    except matcher.Refused as refused:
        findings.extend(refused.findings)
        return None
    return Model(main, scopes, m.line, m2.line, conditions(main, _quoted(m), m.line), places, _twice(places))


def _values(lines: list[str], findings: list[Finding]) -> dict[tuple[str, str], _Value]:
    return _Frame(findings).read(lines)


class _Frame:
    """Reads sections and values; a value goes on below a line that ends in `\\`."""

    def __init__(self, findings: list[Finding]) -> None:
        self._findings = findings
        self._values: dict[tuple[str, str], _Value] = {}
        self._section = ""
        self._current: _Value | None = None  # the value that the last line belongs to
        self._open = False  # whether that line ends in a backslash
        self._last = 0  # its number

    def read(self, lines: list[str]) -> dict[tuple[str, str], _Value]:
        for number, line in enumerate(lines, 1):
            if mark := conflict(line):
                self._report(number, mark)
            elif not line or line.startswith(("#", ";", "[")):
                self._end(number)
                if line.startswith("["):
                    self._enter(number, line)
                elif line.startswith(";"):
                    self._report(number, "a comment begins with #")
            else:
                self._add(number, line)
        return self._values

    def _report(self, number: int, message: str) -> None:
        self._findings.append(Finding(MODEL_FILE, number, message))

    def _end(self, number: int) -> None:
        """A value cannot go on over a blank line, a comment or a section."""
        if self._open and self._current is not None:
            if self._current.open > 0:
                self._report(number, "the line before ends in \\ and needs another line of matcher: "
                                     "no blank line and no comment is allowed inside")
            else:
                self._report(self._last, "take the \\ off this line: the matcher ends here")
        self._open = False

    def _enter(self, number: int, line: str) -> None:
        self._section, self._current = line[1:-1], None
        if not line.endswith("]") or self._section not in DEFINITIONS:
            self._report(number, f"this is no section{hint(self._section, DEFINITIONS)}")
            self._section = nearest(self._section, DEFINITIONS)

    def _add(self, number: int, line: str) -> None:
        name = self._assigned(line)
        # Elsewhere a semicolon may stand for a comma.
        text, *comment = re.split("[#;]" if self._section == "matchers" else "#", line, maxsplit=1)
        if comment:
            in_text = text.count("'") % 2 or text.count('"') % 2
            self._report(number, "`#` and `;` begin a comment for Casbin, in quotes as well; leave them out of the text"
                         if in_text else "write comments on lines of their own")
        if not name and self._current is not None and self._section == "matchers":
            self._go_on(number)
            self._current.add(text, number - self._last - 1)
        else:
            if self._open:
                self._report(self._last, "take the \\ off this line: the next one begins something else")
            self._begin(number, text)
        self._open, self._last = text.rstrip().endswith("\\") or line.endswith("\\"), number

    def _assigned(self, line: str) -> str:
        """The name that a line gives a value to; empty in a line of matcher."""
        match = _ASSIGNMENT.match(line)
        return match[1] if match and any(match[1] in names for names in DEFINITIONS.values()) else ""

    def _go_on(self, number: int) -> None:
        if not self._open and self._current is not None:
            if self._current.open > 0 and number == self._last + 1:
                self._report(self._last, "this line must end in \\, because the matcher goes on below it")
            elif self._current.open <= 0:
                self._report(number, "this is below the closing bracket of the matcher; move it above that")

    def _begin(self, number: int, line: str) -> None:
        name, equals, value = line.partition("=")
        name = name.strip()
        allowed = DEFINITIONS.get(self._section, {})
        if not equals or name not in allowed:
            if self._section in DEFINITIONS:
                where = next((one for one, names in DEFINITIONS.items() if name in names), "")
                near = f"; it belongs in [{where}]" if where else did_you_mean(name, allowed)
                self._report(number, f"{quoted(name)} does not belong in [{self._section}]{near}")
            else:
                self._report(number, "this is in no known section")
        elif (self._section, name) in self._values:
            self._report(number, f"`{name}` is already on line {self._values[self._section, name].line}")
        self._current = self._values[self._section, name] = _Value(number, value.strip())


def _twice(places: Places) -> tuple[Finding, ...]:
    """A warning for each branch whose word has another branch."""
    lines: dict[str, list[int]] = {}
    for parts in places.alternatives:
        for part, line in parts:
            for word in dict.fromkeys(one for one, _ in named_branches(part)) if not isinstance(part, AnyOf) else ():
                lines.setdefault(word, []).append(line)
    return tuple(
        Finding(MODEL_FILE, line, f"`{word}` has another branch on line {other}; it holds where either does", "warning")
        for word, numbers in lines.items() if len(numbers) > 1
        for at, line in enumerate(numbers) for other in (numbers[1] if at == 0 else numbers[0],)
    )


def _quoted(value: _Value) -> dict[str, int]:
    """Each text in quotes with the first line on which it stands."""
    first: dict[str, int] = {}
    for line, row in enumerate(value.text.split("\n"), value.line):
        for literal in _QUOTED.findall(row):
            first.setdefault(literal[1:-1], line)
    return first
