"""model.conf: the definitions, which are fixed, and the matchers, which an administrator may change."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeGuard

from . import matcher
from .expression import AllOf, AnyOf, Attribute, Comparison, Expression, atoms, conjunction, disjunction, text
from .finding import Finding, quoted
from .text import decoded

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
WHEN = Attribute("rule", "when")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


@dataclass(frozen=True, slots=True)
class Condition:
    """A word of the `when` column: its branch of the matcher, without the word itself."""

    name: str
    line: int
    expression: Expression

    @property
    def source(self) -> str:
        """The branch as it stands in model.conf."""
        return text(self.expression)


@dataclass(frozen=True)
class Model:
    """What model.conf says."""

    matcher: Expression
    scope_matcher: Expression
    matcher_line: int
    conditions: Mapping[str, Condition]


@dataclass(slots=True)
class _Value:
    line: int
    text: str


@lru_cache(maxsize=4)
def read_model(content: bytes) -> tuple[Model | None, tuple[Finding, ...]]:
    """Read model.conf: what it says, or None and the findings. Remembered, because edits are mostly to rules."""
    findings: list[Finding] = []
    return _read(content, findings), tuple(findings)


def _read(content: bytes, findings: list[Finding]) -> Model | None:
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
        main = matcher.parse(m.text, file=MODEL_FILE, line=m.line, fields=RULE_FIELDS)
        scopes = matcher.parse(m2.text, file=MODEL_FILE, line=m2.line, request="r2", rule="p2", fields=SCOPE_FIELDS)
    except matcher.Refused as refused:
        findings.extend(refused.findings)
        return None
    return Model(main, scopes, m.line, _conditions(main, m))


def _values(lines: list[str], findings: list[Finding]) -> dict[tuple[str, str], _Value]:
    values: dict[tuple[str, str], _Value] = {}
    section, current = "", None
    for number, line in enumerate(lines, 1):
        if current is not None:
            if not line or line.startswith(("#", ";", "[")):
                message = "the line before ends in \\ and needs another line of matcher"
                findings.append(Finding(MODEL_FILE, number, message))
                current = None
                continue
            current.text += "\n" + line.removesuffix("\\")
        elif not line or line.startswith("#"):
            continue
        elif line.startswith("["):
            section = line[1:-1]
            if not line.endswith("]") or section not in DEFINITIONS:
                message = f"this is no section; known are {', '.join(DEFINITIONS)}"
                findings.append(Finding(MODEL_FILE, number, message))
            continue
        else:
            name, equals, value = line.partition("=")
            name = name.strip()
            if not equals or name not in DEFINITIONS.get(section, {}):
                known = section in DEFINITIONS
                message = f"{quoted(name)} does not belong in [{section}]" if known else "this is in no known section"
                findings.append(Finding(MODEL_FILE, number, message))
            elif (section, name) in values:
                message = f"`{name}` is already on line {values[section, name].line}"
                findings.append(Finding(MODEL_FILE, number, message))
            current = _Value(number, value.strip().removesuffix("\\"))
            values[section, name] = current
        if "#" in line or ";" in line:
            findings.append(Finding(MODEL_FILE, number, "write comments on lines of their own"))
        if not line.endswith("\\"):
            current = None
    return values


def _conditions(main: Expression, value: _Value) -> dict[str, Condition]:
    """The words that the matcher compares p.when with, each with what else its branch asks."""
    words = dict.fromkeys(
        atom.right
        for atom in atoms(main)
        if isinstance(atom, Comparison) and _names_condition(atom) and isinstance(atom.right, str)
    )
    branches: dict[object, list[Expression]] = {}
    for word, branch in _branches(main):
        branches.setdefault(word, []).append(branch)
    first: dict[str, int] = {}
    for offset, line in enumerate(value.text.split("\n")):
        for found in _QUOTED.findall(line):
            first.setdefault(found[1:-1], offset)
    return {
        word: Condition(word, value.line + first.get(word, 0), disjunction(branches.get(word, ()))) for word in words
    }


def _names_condition(atom: Expression) -> TypeGuard[Comparison]:
    return isinstance(atom, Comparison) and atom.operator == "==" and atom.left == WHEN


def _branches(expression: Expression) -> Iterator[tuple[object, Expression]]:
    """Every word that p.when is compared with, and what stands beside it; True when nothing does."""
    match expression:
        case Comparison() if _names_condition(expression):
            yield expression.right, True
        case AllOf(parts):
            named = {part.right for part in parts if _names_condition(part)}
            for word in named:
                yield word, conjunction(part for part in parts if not (_names_condition(part) and part.right == word))
            for part in parts:
                if not _names_condition(part):
                    yield from ((word, branch) for word, branch in _branches(part) if word not in named)
        case AnyOf(parts):
            for part in parts:
                yield from _branches(part)
