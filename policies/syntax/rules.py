"""The lines of the CSV files: rules (`p`), scopes (`p2`) and roles (`g`), each with its file and line."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from ..wording import casbin_lines
from ..wording import columns as form
from ..wording.finding import MOST_ALIKE, QUOTED, Finding, quoted, single_person
from ..wording.suggestions import did_you_mean, hint, nearest
from .conditions import is_word, wrong_word
from .roles import (
    GROUP,
    GROUP_PREFIX,
    GUEST,
    LONGEST_GROUP,
    LONGEST_ROLE,
    ROLE,
    ROLES_FILE,
    USER,
    RoleLink,
    RoleOfGroup,
    undeclared,
)
from .text import decoded, unreported
from .vocabulary import Patterns

COLUMNS = {
    "p": ("who", "permission", "when", "effect"),
    "p2": ("scope", "permission"),
    "g": ("name", "inherits"),
}
UNKNOWN_PERMISSION = "is no permission, and no pattern of any"  # what a finding about one says
NO_NAME = "is neither a role nor user:<id>"
NO_ROLE = "is no role"
NO_BRANCH = "is no condition yet"
EFFECTS = ("allow", "deny")
PERSON = re.compile(r"user:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
FIND_ID = "`gatepost user list` shows the id of a user"
# Wrong words beyond these get no suggestion: a file with so many is none of ours, or one word is wrong everywhere.
MOST_SUGGESTIONS = 200
_WORD = re.compile(r"[\w.-]+")
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

    def __hash__(self) -> int:
        # No two lines stand in one place, and tools look up thousands of them.
        return hash((self.line, self.file))

    def __str__(self) -> str:
        """`p, user, article.view, own, allow`."""
        return f"p, {self.sub}, {self.act}, {self.when}, {self.eft}"

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

    def __str__(self) -> str:
        """`p2, read:articles, article.view`."""
        return f"p2, {self.scope}, {self.act}"


@dataclass
class Lines:
    """Everything that the CSV files say.

    remarks   warnings about lines that have no effect
    left_out  lines about collections that the operator left out, read no further
    """

    rules: list[Rule] = field(default_factory=list)
    scopes: list[ScopeRule] = field(default_factory=list)
    links: list[RoleLink] = field(default_factory=list)
    groups: list[RoleOfGroup] = field(default_factory=list)
    remarks: list[Finding] = field(default_factory=list)
    left_out: list[Rule | ScopeRule] = field(default_factory=list)


class Reader:
    """Reads CSV files one after the other and collects what is wrong with them."""

    def __init__(
        self,
        roles: Collection[str],
        patterns: Patterns,
        conditions: Mapping[str, object] | None,
        areas: frozenset[str],
        findings: list[Finding],
        branches: Mapping[str, str] | None = None,
    ) -> None:
        """`roles` are the declared ones, `conditions` the words of the `when` column (None: not known), `areas` what a
        scope can be of, `branches` the lines of the matcher by which plugins would give further words a meaning."""
        self._roles, self._patterns, self._conditions, self._areas = roles, patterns, conditions, areas
        self._findings, self._branches = findings, branches or {}
        self._gone: dict[tuple[str, str], list[tuple[int, str]]] = {}  # file, why → lines without effect, and of what
        self._strangers: dict[str, tuple[int, str]] = {}  # how many lines name what is no role, and what was said
        self._waiting: dict[str, list[Finding]] = {}  # word that wants a branch → what is said of each of its lines
        self.lines = Lines()

    def read(self, file: str, content: bytes) -> None:
        """Read one file. Findings are added; lines with a finding are left out."""
        lines = decoded(file, content, self._findings)
        for number, line, is_new in unreported(file, lines, self._findings):
            kind, *columns = (column.strip() for column in line.split(","))
            if self._is_gone(file, number, kind, columns):
                continue
            wrong = self._wrong_role(file, kind, columns) or self._wrong(line, kind, columns)
            if wrong and (not is_new or self._again(wrong, columns)):
                continue
            if wrong:
                finding = Finding(file, number, wrong, person=single_person(columns[0] if columns else ""))
                if f" {NO_BRANCH}; " in wrong and len(columns) == len(COLUMNS["p"]):
                    self._waiting.setdefault(columns[2], []).append(finding)
                else:
                    self._findings.append(finding)
            elif kind == "p":
                self.lines.rules.append(Rule(file, number, *columns))
            elif kind == "p2":
                self.lines.scopes.append(ScopeRule(file, number, *columns))
            elif columns[0].startswith(GROUP_PREFIX):
                self.lines.groups.append(RoleOfGroup(file, number, *columns))
            else:
                self.lines.links.append(RoleLink(file, number, *columns))

    def close(self) -> None:
        """Once every file is read: add on how many more lines a name stands that is no role, and the line of roles.csv
        that may have misspelt it; the first line of each word that wants a branch; and the remarks about lines without
        effect."""
        for first, *others in self._waiting.values():
            also = f" ({len(others)} more rule{'s' * (len(others) > 1)})" if others else ""
            self._findings.append(replace(first, message=f"{first.message}{also}"))
        for (file, why), places in self._gone.items():
            (number, act), more = places[0], len(places) - 1
            also = f", and neither {'has' if more == 1 else 'have'} {more} more of this file" if more else ""
            self.lines.remarks.append(Finding(file, number, f"{quoted(act)}: {why}; this rule has no effect{also}",
                                              "warning"))
        named = {rule.sub for rule in (*self.lines.rules, *self.lines.left_out) if isinstance(rule, Rule)}
        named |= {link.inherits for link in self.lines.links} | {one.role for one in self.lines.groups}
        idle = {link.name: link for link in reversed(self.lines.links) if link.name not in named}
        for name, (number, message) in self._strangers.items():
            if number > MOST_ALIKE:
                self._findings.append(Finding(ROLES_FILE, 0, f"{message} ({number - MOST_ALIKE} more rules)"))
            if link := idle.get(nearest(name, idle)):
                self._findings.append(Finding(link.file, link.line, f"no rule names the role {quoted(link.name)}; did "
                                                                    f"you mean {name}?"))

    def _is_gone(self, file: str, number: int, kind: str, columns: list[str]) -> bool:
        """Returns true, and notes the line, if it is about a permission that is no word any more."""
        if kind not in ("p", "p2") or len(columns) != len(COLUMNS[kind]):
            return False
        act = columns[1]
        if self._patterns.left_out(act):
            self.lines.left_out.append((Rule if kind == "p" else ScopeRule)(file, number, *columns))
            return True
        why = self._patterns.gone(act)
        if why is not None:
            self._gone.setdefault((file, why), []).append((number, act))
        return why is not None

    def _again(self, wrong: str, columns: list[str]) -> bool:
        """True if enough findings already name this unknown role. All rules of a missing role have the same mistake."""
        names = (name for name, fault in zip(columns, (NO_NAME, NO_ROLE), strict=False)
                 if wrong.startswith(f"{quoted(name)} {fault}"))
        if (name := next(names, None)) is None:
            return False
        number, message = self._strangers.get(name, (0, wrong))
        self._strangers[name] = (number + 1, message)
        return number >= MOST_ALIKE and name == columns[0]

    def _wrong(self, line: str, kind: str, columns: list[str]) -> str | None:
        complete = kind in COLUMNS and len(columns) == len(COLUMNS[kind])
        wrong = self._wrong_columns(kind, columns) if complete else None
        if complete and wrong is None:
            return None
        if kind not in COLUMNS and (mark := form.conflict(line)):
            return mark
        if kind == "p" and "#" not in line and casbin_lines.has_expression(line):
            return casbin_lines.EXPRESSION
        if mark := form.wrong_marks(line, COLUMNS.get(kind)):
            return mark
        if kind not in COLUMNS:
            near = form.unknown_beginning(line, COLUMNS)
            return "a line begins with p, p2 or g, and a comma" + (f"; {near}" if near else "")
        wrong = wrong or self._wrong_number(kind, columns)
        if wrong and kind == "p" and (meant := casbin_lines.rule(columns, self._kinds)):
            return meant
        if wrong and (ordered := form.in_order(columns, COLUMNS[kind], self._kinds)):
            return f"the columns are {', '.join(COLUMNS[kind])}; write {', '.join((kind, *ordered))}"
        return wrong

    def _wrong_columns(self, kind: str, columns: list[str]) -> str | None:
        if kind == "p":
            return self._wrong_rule(*columns)
        if kind == "p2":
            return self._wrong_scope(columns[0]) or self._wrong_permission(columns[1])
        name, inherits = columns
        wrong = self._wrong_group(name, inherits) if name.startswith(GROUP_PREFIX) else self._wrong_name(name)
        return wrong or (
            None if inherits in self._roles else f"{quoted(inherits)} {NO_ROLE}{self._or_declare(inherits)}"
        )

    def _wrong_group(self, group: str, role: str) -> str | None:
        """Describes what is wrong with a line that gives a role to a group; None if nothing is."""
        if not GROUP.fullmatch(group) or len(group) > LONGEST_GROUP:
            return (f"{quoted(group)} is no group of an identity provider; write oidc:<provider>/<group> with ASCII "
                    f"letters, digits, blanks and . _ - / : @ & +, at most {LONGEST_GROUP} characters")
        if role == GUEST:
            return f"no user can have the role {GUEST}; write another role"
        given = next((one for one in self.lines.groups if one.group == group), None)
        return f"{quoted(group)} gets a role already, by {given.place}; one line a group" if given else None

    def _wrong_role(self, file: str, kind: str, columns: list[str]) -> str | None:
        """Describes what is wrong with the role name on the left of a `g` line; None if nothing is."""
        if kind != "g" or len(columns) != len(COLUMNS["g"]):
            return None
        name, inherits = columns
        if name == GUEST:
            return f"every role inherits {GUEST}, which inherits nothing; was g, {inherits}, {GUEST} meant?"
        if file == ROLES_FILE and _WORD.fullmatch(name) and not ROLE.fullmatch(name):
            return (f"{quoted(name)} is no name for a role: it has small letters, digits, _ and -, a letter first, at "
                    f"most {LONGEST_ROLE}{self._near(name, self._roles)}")
        return None

    def _wrong_number(self, kind: str, columns: list[str]) -> str:
        expected = COLUMNS[kind]
        message = f"{kind} takes {len(expected)} columns ({', '.join(expected)}), not {len(columns)}"
        for other, names in COLUMNS.items():
            if len(columns) == len(names) and all(self._kinds[name](one) for name, one in zip(names, columns,
                                                                                             strict=True)):
                return f"{message}; a line with these begins with {other}"
        if kind == "g" and len(columns) == len(expected) + 1 and all(columns):
            return f"{message}; {casbin_lines.NO_DOMAIN}"
        if wrong := form.wrong_number(columns, expected, self._kinds):
            return message + wrong
        unknown = not any(is_one(word) for word in columns[1:] for is_one in self._kinds.values())
        return f"{message}; {casbin_lines.ONE_COLUMN}" if kind == "p" and unknown else message

    def _wrong_scope(self, scope: str) -> str | None:
        match = SCOPE.fullmatch(scope)
        if match and match[1] in self._areas:
            return None
        near = self._near(scope, [f"{verb}:{area}" for verb in ("read", "write", "manage") for area in self._areas])
        if not match:
            return f"{quoted(scope)} is no scope; write read, write or manage, a colon and a collection{near}"
        return f"{quoted(scope)} is no scope: {match[1][:QUOTED]} is unknown{near or self._hint('', self._areas)}"

    def _wrong_rule(self, sub: str, act: str, when: str, eft: str) -> str | None:
        wrong = self._wrong_name(sub) or self._wrong_permission(act)
        if wrong:
            return wrong
        if self._conditions is not None and when in self._branches and when not in self._conditions:
            return f"{quoted(when)} {NO_BRANCH}; add this line to the matcher of model.conf, below that of " \
                   f"always: {self._branches[when]}"
        if self._conditions is not None and (wrong := wrong_word(when, self._conditions, self._near_condition)):
            return wrong
        if eft in EFFECTS:
            return None
        meant = form.effect_of(eft)
        near = f"; did you mean {meant}?" if meant else self._near(eft, EFFECTS)
        return f"{quoted(eft)} is no effect; write allow or deny{near}"

    def _wrong_name(self, name: str) -> str | None:
        if name in self._roles or PERSON.fullmatch(name):
            return None
        return f"{quoted(name)} {NO_NAME}{self._meant(name)}"

    def _or_declare(self, name: str) -> str:
        return undeclared(name, self._roles, self._near(name, self._roles))

    def _meant(self, name: str) -> str:
        """Suggests a replacement for an invalid name."""
        bare = "".join(name.removeprefix("user:").split()).casefold()
        if PERSON.fullmatch(f"user:{bare}"):
            return f"; write user:{bare}"
        if "@" in name or name.startswith("user:"):
            return f"; {FIND_ID}"
        if name.casefold() in form.EVERYBODY:
            return f"; write {GUEST} for every caller, {USER} for those who are signed in"
        bare = name.removeprefix("role:")
        if ":" in bare:
            return f"; {casbin_lines.GROUP}"
        meant = self._or_declare(bare)
        return meant if meant.startswith("; did you mean") or not ROLE.fullmatch(name) else f"{meant}; {FIND_ID}"

    def _wrong_permission(self, act: str) -> str | None:
        if self._patterns.covered(act):
            return None
        message = f"{quoted(act)} {UNKNOWN_PERMISSION}"
        if not act:
            return f"{message}; the column is empty"
        if instead := casbin_lines.of_path(act, lambda one: bool(self._patterns.covered(one))):
            return f"{message}; {instead}"
        if "**" in act or re.search(r"[^\w.*:/ -]", act, re.ASCII):
            return f"{message}; {form.NO_PATTERN}"
        if like := sorted(one for one in self._patterns.covered(f"*.{act}") if "*" not in act):
            return f"{message}; write it with its resource, as in {like[0]}"
        meant = casbin_lines.permission_of(act, lambda one: bool(self._patterns.covered(one)))
        if near := f"; did you mean {meant}?" if meant else self._near(act, self._patterns.permissions):
            return message + near
        return message if "." in act else f"{message}; {casbin_lines.ONE_COLUMN}"

    def _near_condition(self, word: str, words: Iterable[str]) -> str:
        if "always" in words and not word.strip("*-"):
            return "; write always if there is none"
        return self._hint(word, words)

    def _near(self, word: str, words: Iterable[str]) -> str:
        return did_you_mean(word, words) if self._suggests() else ""

    def _hint(self, word: str, words: Iterable[str]) -> str:
        return hint(word if self._suggests() else "", words)

    def _suggests(self) -> bool:
        return len(self._findings) < MOST_SUGGESTIONS

    @cached_property
    def _kinds(self) -> form.Kinds:
        def person(word: str) -> bool:
            return word in self._roles or bool(PERSON.fullmatch(word))

        def name(word: str) -> bool:
            return person(word) or bool(GROUP.fullmatch(word))

        return {
            "who": person, "name": name, "inherits": self._roles.__contains__,
            "permission": lambda word: bool(self._patterns.covered(word)), "effect": EFFECTS.__contains__,
            "when": lambda word: is_word(word, self._conditions or {}),
            "scope": lambda word: bool(SCOPE.fullmatch(word)),
        }
