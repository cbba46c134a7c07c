"""invariants.csv: what may never happen, line by line. It contains no rules; `breaches` checks a policy against it.

    never,  WHO, PERMISSION[, except PERMISSION …]
    only,   WHO, PERMISSION[, except PERMISSION …]
    atmost, ROLE, PERMISSION, CONDITION
    always, ROLE, PERMISSION, CONDITION

The form is that of the other CSV files; WHO is a role or `user:<id>`, and permissions are patterns as on a `p` line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..evaluation.policy import Policy
from ..syntax.conditions import wrong_word
from ..syntax.roles import undeclared
from ..syntax.rules import COLUMNS, PERSON, UNKNOWN_PERMISSION, Rule
from ..syntax.text import decoded, unreported
from ..syntax.vocabulary import Patterns
from ..wording.columns import unknown_beginning, wrong_marks
from ..wording.finding import Finding, quoted, single_person
from ..wording.suggestions import did_you_mean

INVARIANTS_FILE = "invariants.csv"
NEVER, ONLY, ATMOST, ALWAYS = "never", "only", "atmost", "always"
KINDS = {
    NEVER: ("who", "permission", "except …"),
    ONLY: ("who", "permission", "except …"),
    ATMOST: ("role", "permission", "condition"),
    ALWAYS: ("role", "permission", "condition"),
}
EXCEPT = "except"
_PATTERN = re.compile(r"(?!.*\*\*)[a-z0-9_.]*\*[a-z0-9_.*]*")


@dataclass(frozen=True, slots=True)
class Invariant:
    """One line of invariants.csv.

    when        the condition of `atmost` and `always`; empty for the others
    exceptions  the patterns of permissions that `never` and `only` leave out
    """

    line: int
    kind: str
    who: str
    act: str
    when: str = ""
    exceptions: tuple[str, ...] = ()

    def __str__(self) -> str:
        last = f", {EXCEPT} {' '.join(self.exceptions)}" if self.exceptions else f", {self.when}" if self.when else ""
        return f"{self.kind}, {self.who}, {self.act}{last}"

    @property
    def place(self) -> str:
        """`invariants.csv:7`."""
        return f"{INVARIANTS_FILE}:{self.line}"

    @property
    def rule(self) -> Rule:
        """A rule that would give the permissions of this line to its role under its condition."""
        return Rule(INVARIANTS_FILE, self.line, self.who, self.act, self.when, "allow")

    def covered(self, patterns: Patterns) -> frozenset[str]:
        """The permissions that it speaks of."""
        return patterns.covered(self.act).difference(*map(patterns.covered, self.exceptions))


def read(
    content: bytes, roles: frozenset[str], patterns: Patterns, conditions: Mapping[str, object] | None,
    findings: list[Finding],
) -> tuple[Invariant, ...]:
    """Returns the lines of a file without wrong ones, and adds a finding for each wrong line.

    `conditions` are the words of the `when` column (None: not known).
    """
    invariants = []
    lines = decoded(INVARIANTS_FILE, content, findings)
    for number, line, is_new in unreported(INVARIANTS_FILE, lines, findings):
        kind, *columns = (column.strip() for column in line.split(","))
        wrong = _wrong_form(line, kind, columns) or _wrong_words(kind, columns, roles, patterns, conditions)
        if wrong and is_new:
            person = single_person(columns[0] if columns else "")
            findings.append(Finding(INVARIANTS_FILE, number, wrong, person=person))
        elif wrong:
            continue
        elif kind in (NEVER, ONLY):
            invariants.append(Invariant(number, kind, columns[0], columns[1], exceptions=_exceptions(columns)))
        else:
            who, act, when = columns
            invariants.append(Invariant(number, kind, who, act, when))
    return tuple(invariants)


def lines_of(policy: Policy) -> tuple[Invariant, ...]:
    """The invariants of a policy that was loaded; none where it has no such file."""
    content = policy.files.get(INVARIANTS_FILE)
    if content is None:
        return ()
    return read(content, frozenset(policy.roles.names), policy.patterns, policy.conditions, [])


def _wrong_form(line: str, kind: str, columns: list[str]) -> str | None:
    if wrong := wrong_marks(line, KINDS.get(kind)):
        return wrong
    if kind not in KINDS:
        near = "rules stand in other files" if kind in COLUMNS else unknown_beginning(line, KINDS)
        instead = f"; {near}" if near else did_you_mean(kind, KINDS)
        return f"a line of {INVARIANTS_FILE} begins with {_listed(KINDS)}, and a comma{instead}"
    if kind in (NEVER, ONLY):
        return None if len(columns) == 2 or (len(columns) == 3 and _exceptions(columns)) else \
            f"{kind} takes who and permission, and may end in `{EXCEPT}` and permissions: {kind}, user, order.*, " \
            f"{EXCEPT} order.view order.create"
    return None if len(columns) == 3 else \
        f"{kind} takes 3 columns ({', '.join(KINDS[kind])}), not {len(columns)}"


def _wrong_words(
    kind: str, columns: list[str], roles: frozenset[str], patterns: Patterns, conditions: Mapping[str, object] | None
) -> str | None:
    who, act, *rest = columns
    if who not in roles:
        if not PERSON.fullmatch(who):
            return f"{quoted(who)} is neither a role nor user:<id>{undeclared(who, roles)}"
        if kind in (ATMOST, ALWAYS):
            return f"{kind} is about a role; what one user may not do is written with {NEVER}"
    for pattern in (act, *_exceptions(columns)):
        # A pattern may wait for a plugin; a name in full is a misspelling.
        if not patterns.covered(pattern) and not _PATTERN.fullmatch(pattern) and not patterns.gone(pattern):
            return f"{quoted(pattern)} {UNKNOWN_PERMISSION}{did_you_mean(pattern, patterns.permissions)}"
    return wrong_word(rest[0], conditions) if kind in (ATMOST, ALWAYS) and conditions is not None else None


def _exceptions(columns: list[str]) -> tuple[str, ...]:
    words = columns[2].split() if len(columns) == 3 else []
    return tuple(words[1:]) if words[:1] == [EXCEPT] else ()


def _listed(words: Iterable[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} or {last}"
