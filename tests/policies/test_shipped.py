"""The shipped rules that clients rely on: each role has exactly its listed permissions."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from gatepost.collections.plugins.discovery import discover
from policies import SHIPPED, Policy, PolicyError, load
from policies.cases.case_file import read_suite
from policies.cases.cases import Coverage, Question, run
from policies.evaluation.grants import Grants
from policies.invariants.lines import INVARIANTS_FILE
from policies.lint.warnings import warnings
from tests.policies.editing import shipped_copy
from tests.policies.shipped_vocabulary import PERMISSIONS, RESOURCES, ROLES, VOCABULARY
from tests.samples import parts

# The permissions of each role, written by hand. "a, b when" grants both on that condition.
GRANTED = {
    "guest": """session.create, user.register, contact.create, health.view; article.view, page.view published;
        product.view active; comment.view approved_public; category.view""",
    "user": """profile.*; user.update own; session.view, session.delete own; token.* own;
        job.view, job.delete, job.retry own;
        article.create, article.view, article.submit, article.share own;
        article.update, article.delete own_draft;
        comment.create, comment.view, comment.delete own; comment.update own_pending;
        order.create, order.view, order.update, order.cancel own;
        article.view, article.share, product.view, product.share, order.view, order.share shared;
        product.update, product.delete, order.update, order.delete shared;
        article.update, article.delete shared_draft; user.view;
        article.view_private, comment.view_private, order.view_private, product.view_private, page.view_private,
        category.view_private, user.view_private own""",
    "support": "order.view, order.refund, order.update; contact.view, contact.delete; comment.view",
    "editor": "article.*, page.*; category.create, category.update; comment.view",
    "moderator": "comment.*; article.view",
    "manager": "product.*, category.*, order.*; stats.view",
    "developer": """policy.view, stats.view;
        article.view, product.view, category.view, comment.view, page.view""",
    "owner": """user.*, audit.view, audit.view_facts, policy.view, policy.evaluate, session.view, session.delete, job.*,
        token.view, token.delete""",
    "admin": "*",
}
INHERITS = {
    "guest": (),
    "user": ("guest",),
    "support": ("user",),
    "editor": ("user",),
    "moderator": ("user",),
    "manager": ("user",),
    "developer": ("user",),
    "owner": ("manager", "editor", "moderator", "support"),
    "admin": ("owner", "developer"),
}
STATE_ACTIONS = {
    "article": ("submit", "approve", "reject", "publish", "archive"),
    "product": ("publish", "archive"),
    "order": ("approve", "reject", "cancel", "ship", "complete", "refund"),
    "comment": ("approve", "reject"),
    "category": (),
    "page": ("publish", "archive"),
    "user": ("disable", "enable"),
}
COLLECTIONS = {
    "article": "articles",
    "product": "products",
    "order": "orders",
    "comment": "comments",
    "category": "categories",
    "page": "pages",
    "user": "users",
}


@pytest.fixture(scope="module")
def shipped() -> Policy:
    return load(SHIPPED, VOCABULARY)


def _written(role: str) -> set[tuple[str, str]]:
    """Returns the pairs of permission and condition that the table gives the role itself."""
    pairs = set()
    for phrase in GRANTED[role].split(";"):
        *patterns, last = re.split(r",\s*", phrase.strip())
        pattern, _, condition = last.partition(" ")
        for wanted in (*patterns, pattern):
            found = [one for one in PERMISSIONS
                     if fnmatchcase(one, wanted) or fnmatchcase(VOCABULARY.fallbacks.get(one, ""), wanted)]
            assert found, f"the table's {wanted!r} is no permission"
            pairs |= {(permission, condition or "always") for permission in found}
    return pairs


def _expected(role: str) -> set[tuple[str, str]]:
    pairs = _written(role)
    for inherited in INHERITS[role]:
        pairs |= _expected(inherited)
    return pairs


@pytest.mark.parametrize("role", sorted(ROLES))
def test_a_role_is_granted_what_the_table_says_and_nothing_more(shipped: Policy, role: str) -> None:
    expected = _expected(role)
    unconditional = {permission for permission, condition in expected if condition == "always"}
    expected = {(permission, condition) for permission, condition in expected
                if condition == "always" or permission not in unconditional}
    grants = Grants(shipped)
    granted = {
        (permission, part.word)
        for permission in PERMISSIONS
        for part in grants.of(role, permission).allows
    }
    assert granted == expected


def test_nothing_is_denied(shipped: Policy) -> None:
    assert {rule.eft for rule in shipped.rules} == {"allow"}


@pytest.mark.parametrize("resource", sorted(COLLECTIONS))
def test_scopes_read_write_and_manage_a_collection(shipped: Policy, resource: str) -> None:
    area = COLLECTIONS[resource]
    read_only = {f"{resource}.{action}" for action in ("view", "view_private", "export")}
    written = read_only | {f"{resource}.{action}" for action in
                           ("create", "update", "delete", *STATE_ACTIONS[resource])}
    everything = {one for one in PERMISSIONS if one.startswith(f"{resource}.")}
    read_only |= {one for one, fallback in VOCABULARY.fallbacks.items() if fallback in read_only}
    written |= {one for one, fallback in VOCABULARY.fallbacks.items() if fallback in written}
    assert _covered(shipped, f"read:{area}") == read_only
    assert _covered(shipped, f"write:{area}") == written
    assert _covered(shipped, f"manage:{area}") == everything


def test_scopes_of_the_profile_read_and_write_it(shipped: Policy) -> None:
    assert _covered(shipped, "read:profile") == {"profile.view"}
    assert _covered(shipped, "read:policy") == {"policy.view", "policy.evaluate"}
    assert _covered(shipped, "write:profile") == {"profile.view", "profile.update"}


def test_there_are_no_other_scopes(shipped: Policy) -> None:
    known = {f"{verb}:{area}" for verb in ("read", "write", "manage") for area in COLLECTIONS.values()}
    assert shipped.scope_names == known | {"read:profile", "write:profile", "read:policy", "read:jobs", "write:jobs"}


def _covered(policy: Policy, scope: str) -> set[str]:
    lines = [line for line in policy.scopes if line.scope == scope]
    return {one for line in lines for one in policy.patterns.covered(line.act)}


def test_the_installed_collections_speak_the_words_of_the_contract() -> None:
    words = discover().vocabulary
    assert load(SHIPPED, words).roles.names == ROLES
    assert set(words.by_permission) >= PERMISSIONS
    suite = read_suite((SHIPPED / "tests.yaml").read_text(), "tests.yaml", words)
    assert run(load(SHIPPED, words), suite).failures == []


def test_the_installed_collections_say_of_columns_and_endpoints_what_the_contract_says() -> None:
    words, faults = discover().vocabulary.resources, []
    for resource in RESOURCES:
        mine = words[resource.name]
        pairs = {name: (getattr(resource, name), getattr(mine, name)) for name in ("collection", "on_viewed")}
        pairs["methods"] = (dict(resource.methods), dict(mine.methods))
        pairs |= {f"{name}.{part}": (getattr(column, part), getattr(mine.columns[name], part))
                  for name, column in resource.columns.items()
                  for part in ("values", "same_as", "least", "most", "row_of", "spelled")}
        faults += [f"{resource.name}.{name}: {wanted} is {given}" for name, (wanted, given) in pairs.items()
                   if wanted != given]
    assert faults == []


def test_the_shipped_files_give_no_warning(shipped: Policy) -> None:
    assert warnings(shipped) == ()


def test_the_shipped_cases_pass_and_reach_every_line(shipped: Policy) -> None:
    suite, coverage = read_suite((SHIPPED / "tests.yaml").read_text(), "tests.yaml", VOCABULARY), Coverage(shipped)
    assert run(shipped, suite, coverage).findings == []
    assert coverage.missed() == []


def _policy_lines() -> list[tuple[str, int]]:
    return [
        (file.name, number)
        for file in sorted(SHIPPED.glob("*.csv")) if file.name != INVARIANTS_FILE
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if line and not line.startswith("#")
    ]


@pytest.fixture(scope="module")
def questions(shipped: Policy) -> list[Question]:
    suite = read_suite((SHIPPED / "tests.yaml").read_text(), "tests.yaml", VOCABULARY)
    return list(suite.questions(VOCABULARY, shipped.followers))


@pytest.mark.parametrize("numbers", parts(range(100), 3))
@pytest.mark.parametrize("file", sorted({file for file, _ in _policy_lines()}))
def test_without_any_one_line_a_case_fails(
    shipped: Policy, file: str, numbers: list[int], questions: list[Question], tmp_path: Path
) -> None:
    directory = shipped_copy(tmp_path / "policies")
    lines = (SHIPPED / file).read_text().splitlines(keepends=True)
    assert len(lines) < 100
    for number in [number for name, number in _policy_lines() if name == file and number in numbers]:
        kind, *columns = (column.strip() for column in lines[number - 1].split(","))
        if (kind, columns[0]) == ("g", "admin"):
            continue  # admin has `*` anyway; its inheritance says which users an admin may create and delete
        (directory / file).write_text("".join(lines[: number - 1] + lines[number:]))
        if kind == "g" and sum(columns[0] == link.name for link in shipped.roles.links) == 1:
            with pytest.raises(PolicyError, match=f"g, {columns[0]}, guest"):
                load(directory, VOCABULARY)  # the line declares the role
            continue
        changed = load(directory, VOCABULARY)
        asked = [one for one in questions if kind == "g" or fnmatchcase(one.permission, columns[1])]
        wrong = any(one.asked_of(changed) != one.expected for one in asked)
        assert wrong, f"no case needs {file}:{number}: {lines[number - 1]}"


@pytest.mark.parametrize("file", sorted(path.name for path in SHIPPED.glob("*.csv")))
def test_the_columns_of_a_file_stand_below_each_other(file: str) -> None:
    starts: dict[tuple[str, int], set[int]] = {}
    for line in (SHIPPED / file).read_text().splitlines():
        if line and not line.startswith("#"):
            for column, comma in enumerate(re.finditer(r", *", line)):
                starts.setdefault((line.split(",")[0], column), set()).add(comma.end())
    assert all(len(found) == 1 for found in starts.values())


@pytest.mark.parametrize("file", [*sorted(path.name for path in SHIPPED.glob("*.csv")), "model.conf"])
def test_a_file_opens_with_a_comment_and_closes_with_its_end(file: str) -> None:
    text = (SHIPPED / file).read_text()
    assert re.match(r"# [A-Z]", text)
    assert text.endswith("\n# end\n")
