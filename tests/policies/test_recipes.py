"""Recipes and findings in policies/README.md and docs/policy/recipes.md: each does what the text says."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from zoneinfo import ZoneInfo

import pytest

from policies import SHIPPED, Policy, PolicyError, load
from policies.cases.case_file import read_suite
from policies.cases.cases import Coverage, run
from policies.lint.warnings import warnings
from policies.wording.finding import Finding
from tests.policies.editing import add_line, remove_line, replace, shipped_copy
from tests.policies.shipped_vocabulary import VOCABULARY
from tests.running import ROOT
from tests.samples import sampled

TODAY = datetime(2026, 11, 18, 10, tzinfo=UTC)  # some recipes name a time to come
GUIDE = (SHIPPED / "README.md").read_text()
PAGE = (ROOT / "docs/policy/recipes.md").read_text()
EDIT = re.compile(
    r"(?P<verb>Add|Remove)(?: to the matcher of| to| from) `(?P<file>[^`]+)`[^\n]*:\n\n```\n(?P<lines>.*?)```",
    re.DOTALL,
)
IN_GUIDE = [
    "Open an endpoint",
    "Close registration",
    "One person's exception",
    "Office hours",
    "Only from the intranet",
    "A read-only support role",
    "A smaller role",
    "Rows without a value",
    "A read-only auditor",
    "A scoped integration",
    "A new condition",
]
ON_PAGE = [
    "A department manager",
    "Members of a project, by group",
    "With a second factor",
    "Until a date",
    "Old orders",
    "A head for each department",
    "Four eyes",
    "Break glass",
    "A partner, by token and network",
    "A field for managers",
    "Only active users",
    "Lists of states and languages",
    "Only on a desktop",
]


def _section(text: str, title: str) -> str:
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0]


def _parts(text: str, heading: str) -> dict[str, str]:
    """Returns the parts of a text by their headings."""
    return {name: part for name, _, part in (part.partition("\n") for part in text.split(heading)[1:])}


TEXTS = {**_parts(_section(GUIDE, "Recipes"), "\n### "), **_parts(PAGE, "\n## ")}
CASES = _parts(Path(__file__).with_name("recipes.yaml").read_text(), "---\n# ")


@dataclass(frozen=True)
class Recipe:
    name: str
    text: str
    cases: str

    def apply(self, directory: Path) -> int:
        """Makes the edits of the recipe in a copy of the shipped files. Returns the number of edited lines."""
        edited = 0
        for edit in EDIT.finditer(self.text):
            change = add_line if edit["verb"] == "Add" else remove_line
            for line in edit["lines"].splitlines():
                change(directory / edit["file"], line)
                edited += 1
        return edited


RECIPES = [Recipe(name, text, CASES[name]) for name, text in TEXTS.items()]


def test_the_documents_have_the_recipes_that_administrators_ask_for() -> None:
    assert [*TEXTS] == IN_GUIDE + ON_PAGE
    assert sorted(CASES) == sorted(TEXTS)


@pytest.fixture(scope="module")
def before() -> Policy:
    return load(SHIPPED, VOCABULARY)


@cache
def followed(recipe: Recipe) -> Policy:
    """Returns the shipped policy after the edits of the recipe."""
    with TemporaryDirectory() as scratch:
        directory = shipped_copy(Path(scratch) / "policies", invariants=True)
        assert recipe.apply(directory) > 0
        return load(directory, VOCABULARY)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_a_recipe_has_the_effect_that_its_cases_prove_in_each_time_zone(before: Policy, recipe: Recipe) -> None:
    for zone in map(ZoneInfo, ("UTC", "America/Los_Angeles", "Asia/Kolkata", "Pacific/Kiritimati")):
        suite = read_suite(recipe.cases, "recipe", VOCABULARY, zone=zone)
        assert run(before, suite).failures, "the cases pass without the recipe: they prove nothing"
        assert run(followed(recipe), suite).findings == [], "nor do they declare what they do not use"


@pytest.mark.parametrize("recipe", sampled(RECIPES, 2), ids=lambda recipe: recipe.name)
def test_the_cases_of_a_recipe_reach_every_line_that_it_adds(before: Policy, recipe: Recipe) -> None:
    after = followed(recipe)
    added = {(rule.sub, rule.act, rule.when, rule.eft) for rule in after.rules} - {
        (rule.sub, rule.act, rule.when, rule.eft) for rule in before.rules
    }
    suite = read_suite(recipe.cases, "recipe", VOCABULARY)
    coverage = Coverage(after)
    run(after, suite, coverage)
    missed = {(finding.file, finding.line) for finding in coverage.missed()}
    assert not [rule for rule in after.rules
                if (rule.sub, rule.act, rule.when, rule.eft) in added and (rule.file, rule.line) in missed]


@pytest.mark.parametrize("recipe", sampled(RECIPES, 2), ids=lambda recipe: recipe.name)
def test_a_recipe_leaves_files_without_a_warning_beyond_its_purpose(recipe: Recipe) -> None:
    expected = {
        "A department manager": ["no index of order serves lists by department"],
        "Rows without a value": ["this denies nothing where department"],
        "A head for each department": ["no index of order serves lists by department"],
        "Only active users": ["no index of user serves lists by active"],
    }
    found = [finding.message for finding in warnings(followed(recipe), at=TODAY)]
    wanted = expected.get(recipe.name, [])
    assert len(found) == len(wanted)
    assert all(phrase in message for phrase, message in zip(wanted, found, strict=True))


# Findings of `policy check`: a phrase of each message, and an edit that causes it.

Edit = Callable[[Path], None]


def _append(file: str, line: str) -> Edit:
    return lambda directory: add_line(directory / file, line)


def _change(file: str, old: str, new: str) -> Edit:
    return lambda directory: replace(directory / file, old, new)


def _write(file: str, prefix: bytes) -> Edit:
    return lambda directory: _bytes(directory / file, lambda content: prefix + content)


def _bytes(file: Path, change: Callable[[bytes], bytes]) -> None:
    file.write_bytes(change(file.read_bytes()))


def _empty(directory: Path) -> None:
    for file in directory.glob("*.csv"):
        if file.name != "roles.csv":
            file.unlink()


def _odd(expression: str, line: str = "p, user, page.view, odd, allow") -> Edit:
    """A condition `odd`, and a line that uses it."""
    def edit(directory: Path) -> None:
        add_line(directory / "model.conf", f"    p.when == 'odd' && {expression} || \\")
        add_line(directory / "pages.csv", line)

    return edit


def _parameter(word: str) -> Edit:
    """A condition that takes a parameter, and a line that says `word`."""
    def edit(directory: Path) -> None:
        add_line(directory / "model.conf", "    p.when == 'language:' + r.obj.language || \\")
        add_line(directory / "pages.csv", f"p, user, page.view, {word}, allow")

    return edit


CONTACT = "p, support, contact.delete, always, allow"
ERRORS: dict[str, Edit] = {
    "the last line must be the comment": _change("contact.csv", "\n# end", ""),
    "takes 4 columns": _append("contact.csv", "p, user, contact.view, allow"),
    "object and action are one column": _append("contact.csv", "p, user, contact, read, allow"),
    "an expression belongs in model.conf": _append("contact.csv", "p, user, contact.view, r.env.hour > 8, allow"),
    "the columns are who, permission, when, effect": _append("contact.csv", "p, user, contact.view, allow, always"),
    "this is the mark of an unfinished merge": _append("contact.csv", "<<<<<<< HEAD"),
    "is not allowed here": _append("contact.csv", "p, user,\u00a0contact.view, always, allow"),
    "a line begins with p, p2 or g": _append("contact.csv", "q, user, contact.view, always, allow"),
    "a comment begins with #": _append("contact.csv", "; who writes to us"),
    "columns are divided by commas": _append("contact.csv", "p; user; contact.view; always; allow"),
    "is neither a role nor user:": _append("contact.csv", "p, usr, contact.view, always, allow"),
    "is no name for a role": _append("roles.csv", "g, Auditor, guest"),
    "every role inherits guest, which": _append("roles.csv", "g, guest, user"),
    "the role user is missing": _change("roles.csv", "g, user,      guest\n", ""),
    "is no role": _append("model.conf", "    p.when == 'odd' && g(r.sub.role, 'manger') || \\"),
    "is no permission, and no pattern of any": _append("contact.csv", "p, user, contact.veiw, always, allow"),
    "is no condition": _append("contact.csv", "p, user, contact.view, allways, allow"),
    "is no effect": _append("contact.csv", "p, user, contact.view, always, dney"),
    "is no scope": _append("contact.csv", "p2, reed:articles, article.view"),
    "quotes become part of the value": _append("contact.csv", 'p, user, "contact.view", always, allow'),
    "write comments on lines of their own": _append("contact.csv", f"{CONTACT} # yes"),
    "the roles inherit in a circle": _append("roles.csv", "g, user, editor"),
    "begins with a byte order mark": _write("contact.csv", b"\xef\xbb\xbf"),
    "is UTF-16": _write("contact.csv", b"\xff\xfe"),
    "the lines end in CR alone": lambda directory: _bytes(
        directory / "contact.csv", lambda content: content.replace(b"\n", b"\r")),
    "is not UTF-8": _write("contact.csv", b"# \xff\n"),
    "no collection has a column": _odd("r.obj.colour == 'red'"),
    "has no column": _append("admin.csv", "p, user, stats.view, own, allow"),
    "are of different types": _append("model.conf", "    p.when == 'odd' && r.env.hour == r.sub.role || \\"),
    "has no order": _append("model.conf", "    p.when == 'odd' && r.sub.department > 'm' || \\"),
    "`!` over the object": _append("model.conf", "    p.when == 'odd' && !(r.obj.status == 'draft') || \\"),
    "this is not an expression": _append("model.conf", "    p.when == 'odd' && (r.env.hour > 8 || \\"),
    "must end in": _change("model.conf", "p.when == 'always' || \\", "p.when == 'always' ||"),
    "take the \\ off": _change("model.conf", "r.act) )\n", "r.act) ) \\\n"),
    "below the closing bracket": _change("model.conf", "r.act) )\n", "r.act) )\n    p.when == 'x' && r.env.hour > 8\n"),
    "put blanks around": _odd("r.env.hour > 8&& r.env.hour < 18"),
    "is no operator of a matcher": _append("model.conf", "    p.when == 'odd' & r.env.hour > 8 || \\"),
    "is no word of a matcher": _append("model.conf", "    p.when == 'odd' and r.env.hour > 8 || \\"),
    "would read ` in ` as an operator": _append("model.conf", "    p.when == 'odd' && r.obj.status == 'a in b' || \\"),
    "a list is written": _odd("r.obj.status in['draft', 'published']"),
    "write inGroup": _odd("r.sub.groups == 'sales'"),
    "reads differently in each Casbin": _odd("r.obj.status == true"),
    "takes a parameter": _parameter("language"),
    "takes no parameter": _append("contact.csv", "p, user, contact.view, always:x, allow"),
    "a parameter is": _odd("r.obj.title == 'language:' + r.obj.language"),
    "keep one of both": _append("model.conf", "    p.when == 'own:' + r.obj.language || \\"),
    "years and months vary in length": _odd("olderThan(r.obj.created_at, 'P1Y')"),
    "a time takes no `+` and no `-`": _odd("r.obj.created_at < r.env.now - 'P90D'"),
    "is no function of a matcher": _append("model.conf", "    p.when == 'odd' && keyMatch(r.act, p.act) || \\"),
    "is a function of no installed plugin": _append(
        "model.conf", "    p.when == 'odd' && near(r.sub, r.obj, r.env, 'sea') || \\"),
    "part of the matcher holds whatever": _append("model.conf", "    p.when == 'odd' || r.env.hour > 8 || \\"),
    "holds for rules of every role": _change("model.conf", "p.sub))", "p.sub) || r.sub.role == 'support')"),
    "must be `some(where": _change("model.conf", " && !some(where (p.eft == deny))", ""),
    "the file is missing": lambda directory: (directory / "roles.csv").unlink(),
    "this is not a regular file": lambda directory: os.mkfifo(directory / "pipes.csv"),
    "has more than 1 MiB": _append("contact.csv", "#" * 2**20),
    "the policy has no rules": _empty,
    "since IPv4 is compared as IPv4": _odd("ipMatch(r.env.ip, '::ffff:10.0.0.0/104')"),
    "no request has the address": _odd("r.env.ip == '10.1.2.3:443'"),
}
WARNINGS: dict[str, Edit] = {
    "has another branch on line": _append("model.conf", "    p.when == 'own' && r.obj.owner_id == r.sub.id || \\"),
    "the same as": _append("contact.csv", CONTACT),
    "without effect": _append("contact.csv", "p, editor, contact.create, office_hours, allow"),
    "because of this rule": _append("orders.csv", "p, support, order.*, always, allow"),
    "to fewer callers or on a condition": _append("contact.csv", "p, user, contact.view, always, allow"),
    "permissions (article": _append("articles.csv", "p, guest, article.*, always, allow"),
    "never holds": _odd("r.obj.status == 'publised'"),
    "always holds": _odd("(r.env.hour >= 8 || r.env.hour < 18)"),
    "holds for every IPv": _odd("ipMatch(r.env.ip, '::/0')"),
    "can ever meet": _odd("r.obj.status == 'draft' && r.obj.status == 'published'"),
    "has expired": _odd("r.env.date < '2020-01-01'"),
    "holds from now on": _odd("r.env.now >= '2020-01-01T00:00:00.000000Z'"),
    "is the id of": _odd("r.obj.id == r.sub.id"),
    "for names of groups": _odd("inGroup(r.sub, r.obj.status)"),
    "no request for": _odd("r.env.method == 'GET'", "p, developer, page.update, odd, allow"),
    "of no use here": _append("contact.csv", "p, editor, contact.delete, always, allow"),
    "the guarded fields of": _append("orders.csv", "p, support, *.manage, always, allow"),
    "every role inherits guest": _append("contact.csv", "p, guest, contact.view, office_hours, deny"),
    "and this denies them what": _append("orders.csv", "p, user, order.refund, always, deny"),
    "this denies administrators": _append("users.csv", "p, admin, user.*, always, deny"),
    "this denies nothing where": _append("orders.csv", "p, user, order.view, same_department, deny"),
    "a scope to read": _append("orders.csv", "p2, read:orders, order.update"),
    "a scope to write": _append("orders.csv", "p2, write:orders, order.manage"),
    "a scope of": _append("orders.csv", "p2, read:orders, product.view"),
    "was `g,": _change(
        "roles.csv", "g, support,   user", "g, support,   guest\ng, user,      support"),
    "no rule names the role": _append("roles.csv", "g, auditor, guest"),
    "only admin can give the role": _append(
        "roles.csv", "g, auditor, guest\ng, user:0199f3a0-0000-7000-8000-000000000001, auditor"),
    "no index of": _append("orders.csv", "p, user, order.view, same_department, allow"),
}
# The same about the shipped invariants, which would refuse most of the edits above.
INVARIANT_ERRORS: dict[str, Edit] = {
    "forbids this": _append("contact.csv", "p, guest, contact.view, always, allow"),
    "promises otherwise": _append("contact.csv", "p, admin, contact.view, always, deny"),
    "no rule gives it": _append("invariants.csv", "always, user, order.approve, own"),
    "begins with never, only, atmost or always": _append("invariants.csv", CONTACT),
}
INVARIANT_WARNINGS: dict[str, Edit] = {
    "the shipped condition of that name": _change(
        "model.conf", "p.when == 'own_draft' && r.obj.owner_id == r.sub.id && ", "p.when == 'own_draft' && "),
    "matches no permission": _append("invariants.csv", "never, guest, note.*"),
    "the exceptions leave nothing": _append("invariants.csv", "never, guest, order.view, except order.*"),
    "has nothing of": _append("invariants.csv", "never, guest, order.*, except page.view"),
    "keeps nobody out": _append("invariants.csv", "only, guest, audit.view"),
    "forbids nothing": _append("invariants.csv", "atmost, user, order.view, always"),
    "promises nothing": _append("invariants.csv", "always, guest, order.view, own"),
    "undoes": _append("invariants.csv", "only, user, audit.*"),
    "says this already": _append("invariants.csv", "never, guest, order.create"),
    "no invariant promises administrators": _change(
        "invariants.csv", "always, admin,     *,                 always\n", ""),
}


EDITS = {**ERRORS, **WARNINGS, **INVARIANT_ERRORS, **INVARIANT_WARNINGS}
INVARIANTS = INVARIANT_ERRORS.keys() | INVARIANT_WARNINGS.keys()


def test_each_edit_is_reported_in_these_words(tmp_path: Path) -> None:
    faults = {}
    for number, (phrase, edit) in enumerate(EDITS.items()):
        directory = shipped_copy(tmp_path / str(number), invariants=phrase in INVARIANTS)
        edit(directory)
        findings = _findings(directory)
        matching = [finding for finding in findings if phrase in finding.message]
        severity = "error" if phrase in ERRORS or phrase in INVARIANT_ERRORS else "warning"
        if {finding.severity for finding in matching} != {severity} or not (
                all(finding.file for finding in matching) or phrase == "the policy has no rules"):
            faults[phrase] = [str(finding) for finding in findings]
    assert faults == {}


def test_the_guide_explains_findings_that_are_reported() -> None:
    tables = _section(GUIDE, "What the findings mean").split("\n| A warning says")
    phrases = [re.findall(r"^\| (?!An error)([^|]+) \| ", table, re.MULTILINE) for table in tables]
    assert all(len(rows) >= 7 for rows in phrases)
    for rows, edits in zip(phrases, (ERRORS | INVARIANT_ERRORS, WARNINGS | INVARIANT_WARNINGS), strict=True):
        assert [row for row in rows if not any(row.startswith(phrase) for phrase in edits)] == []


def _findings(directory: Path) -> list[Finding]:
    try:
        return list(warnings(load(directory, VOCABULARY)))
    except PolicyError as error:
        return error.findings


def test_every_command_that_the_guide_names_exists() -> None:
    from blueprints.policy.commands.group import policy
    from gatepost.commands.features import commands_of

    named = set(re.findall(r"gatepost policy ([a-z]+)", GUIDE))
    assert named == set(commands_of(policy))
