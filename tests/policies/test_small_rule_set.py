"""The small rule set: each role has exactly its listed permissions; its cases need every line; its invariants hold."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from policies import SHIPPED, Policy, PolicyError, load
from policies.cases.case_file import read_suite
from policies.cases.cases import Coverage, run
from policies.evaluation.grants import Grants
from policies.invariants.lines import INVARIANTS_FILE
from policies.lint.warnings import warnings
from policies.loading.loader import CASES_FILE
from policies.loading.rule_sets import FOLDERS, FULL, SMALL, files_of, load_set
from tests.policies.editing import add_line, shipped_copy
from tests.policies.shipped_vocabulary import PERMISSIONS, VOCABULARY

FOLDER = FOLDERS[SMALL]
FILES = sorted(path.name for path in FOLDER.glob("*.csv"))
ROLES = ("guest", "member", "user", "staff", "owner", "admin")  # each inherits from the one before it
# The permissions that each role adds, written by hand. "a, b when" grants both on that condition.
GRANTED = {
    "guest": """session.create, user.register, contact.create, health.view; article.view, page.view published;
        product.view active; comment.view approved_public; category.view""",
    "member": "profile.*; session.view, session.delete own",
    "user": """token.* own; job.view, job.delete, job.retry own; user.view; user.update own;
        article.create, article.view, article.submit, article.share own;
        article.update, article.delete own_draft;
        comment.create, comment.view, comment.delete own; comment.update own_pending;
        order.create, order.view, order.update, order.cancel own;
        article.view, article.share, product.view, product.share, order.view, order.share shared;
        product.update, product.delete, order.update, order.delete shared;
        article.update, article.delete shared_draft;
        article.view_private, comment.view_private, order.view_private, product.view_private, page.view_private,
        category.view_private, user.view_private own""",
    "staff": """article.*, comment.*, category.*, page.*, product.*, order.*; contact.view, contact.delete;
        stats.view""",
    "owner": """user.*, audit.view, audit.view_facts, policy.view, policy.evaluate, session.view, session.delete, job.*,
        token.view, token.delete""",
    "admin": "*",
}


@pytest.fixture(scope="module")
def small() -> Policy:
    return load_set(SMALL, VOCABULARY)


def _expected(role: str) -> set[tuple[str, str]]:
    pairs = set()
    for phrase in ";".join(GRANTED[one] for one in ROLES[: ROLES.index(role) + 1]).split(";"):
        *patterns, last = re.split(r",\s*", phrase.strip())
        pattern, _, condition = last.partition(" ")
        for wanted in (*patterns, pattern):
            found = [one for one in PERMISSIONS
                     if fnmatchcase(one, wanted) or fnmatchcase(VOCABULARY.fallbacks.get(one, ""), wanted)]
            assert found, f"the table's {wanted!r} is no permission"
            pairs |= {(permission, condition or "always") for permission in found}
    unconditional = {permission for permission, condition in pairs if condition == "always"}
    return {(permission, condition) for permission, condition in pairs
            if condition == "always" or permission not in unconditional}


@pytest.mark.parametrize("role", ROLES)
def test_a_role_is_granted_what_the_table_says_and_nothing_more(small: Policy, role: str) -> None:
    grants = Grants(small)
    granted = {(permission, part.word) for permission in PERMISSIONS for part in grants.of(role, permission).allows}
    assert granted == _expected(role)


def test_it_declares_six_roles_and_denies_nothing(small: Policy) -> None:
    assert small.roles.names == ROLES
    assert {rule.eft for rule in small.rules} == {"allow"}
    assert warnings(small) == ()


def test_it_has_the_files_and_the_scopes_of_the_full_set(small: Policy) -> None:
    assert files_of(SMALL).keys() == files_of(FULL).keys()
    full = load_set(FULL, VOCABULARY)
    assert {(one.scope, one.act) for one in small.scopes} == {(one.scope, one.act) for one in full.scopes}
    assert {one.name for one in FOLDER.iterdir()} == {*files_of(SMALL)} - {"model.conf", "scopes.csv"}


def test_its_cases_pass_and_reach_every_line(small: Policy) -> None:
    suite, coverage = read_suite((FOLDER / CASES_FILE).read_text(), CASES_FILE, VOCABULARY), Coverage(small)
    assert run(small, suite, coverage).findings == []
    assert coverage.missed() == []


@pytest.mark.parametrize("file", [name for name in FILES if name != INVARIANTS_FILE])
def test_without_any_one_line_a_case_fails(file: str, tmp_path: Path) -> None:
    directory = shipped_copy(tmp_path / "policies", rules=SMALL)
    suite = read_suite((FOLDER / CASES_FILE).read_text(), CASES_FILE, VOCABULARY)
    questions = list(suite.questions(VOCABULARY, load_set(SMALL, VOCABULARY).followers))
    lines = (FOLDER / file).read_text().splitlines(keepends=True)
    for number, line in enumerate(lines):
        kind, *columns = (column.strip() for column in line.split(","))
        if kind not in ("p", "p2", "g"):
            continue
        (directory / file).write_text("".join(lines[:number] + lines[number + 1:]))
        if kind == "g":
            with pytest.raises(PolicyError, match=f"the role {columns[0]}|no role.*{columns[0]}|g, {columns[0]}, "):
                load(directory, VOCABULARY)  # the line declares the role
            continue
        changed = load(directory, VOCABULARY)
        asked = [one for one in questions if fnmatchcase(one.permission, columns[1])]
        assert any(one.asked_of(changed) != one.expected for one in asked), f"no case needs {file}:{number + 1}: {line}"


@pytest.mark.parametrize(("file", "line"), [
    ("articles.csv", "p, guest, article.create, always, allow"),
    ("articles.csv", "p, member, article.create, own, allow"),
    ("comments.csv", "p, member, comment.delete, own, allow"),
    ("users.csv", "p, member, user.view, always, allow"),
    ("users.csv", "p, member, user.update, own, allow"),
    ("orders.csv", "p, user, order.view, always, allow"),
    ("users.csv", "p, staff, user.delete, always, allow"),
    ("admin.csv", "p, staff, audit.view, always, allow"),
    ("admin.csv", "p, staff, policy.view, always, allow"),
    ("contact.csv", "p, user, contact.view, always, allow"),
    ("session.csv", "p, guest, session.create, always, deny"),
    ("admin.csv", "p, admin, article.view, always, deny"),
    ("session.csv", "p, user, token.view, always, allow"),
    ("jobs.csv", "p, user, job.view, always, allow"),
])
def test_an_edit_that_breaks_an_invariant_is_refused(file: str, line: str, tmp_path: Path) -> None:
    directory = shipped_copy(tmp_path / "policies", invariants=True, rules=SMALL)
    load(directory, VOCABULARY)
    add_line(directory / file, line)
    with pytest.raises(PolicyError, match=INVARIANTS_FILE):
        load(directory, VOCABULARY)


def test_it_has_every_invariant_of_the_full_set_that_names_its_roles() -> None:
    full, small = (_lines(folder / INVARIANTS_FILE) for folder in (SHIPPED, FOLDER))
    renamed = {line.replace("only,support,", "only,staff,") for line in full}
    assert renamed - small == {"only,developer,policy.view"}


def _lines(file: Path) -> set[str]:
    return {re.sub(r",\s+", ",", re.sub(r"\s+$", "", line)) for line in file.read_text().splitlines()
            if line and not line.startswith("#")}


@pytest.mark.parametrize("file", FILES)
def test_the_columns_of_a_file_are_aligned_and_it_closes_with_its_end(file: str) -> None:
    text, starts = (FOLDER / file).read_text(), dict[tuple[str, int], set[int]]()
    for line in text.splitlines():
        if line and not line.startswith("#"):
            for column, comma in enumerate(re.finditer(r", *", line)):
                starts.setdefault((line.split(",")[0], column), set()).add(comma.end())
    assert all(len(found) == 1 for found in starts.values())
    assert re.match(r"# [A-Z]", text)
    assert text.endswith("\n# end\n")
