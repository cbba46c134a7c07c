"""The table of the roles is built once for a policy, and a user adds one column."""

from __future__ import annotations

import gc
from pathlib import Path
from weakref import ref

import pytest

from policies import SHIPPED, Policy, Principal, load
from policies.evaluation.principal import FixedEnvironment
from policies.tools.matrix import matrix, of_person, table_of
from tests.policies.editing import add_line, shipped_copy
from tests.policies.shipped_vocabulary import PERMISSIONS, ROLES, VOCABULARY

ZOE = "user:0199f3a0-0000-7000-8000-000000000001"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return shipped_copy(tmp_path / "policies")


def test_it_is_the_table_of_all_roles_without_persons(directory: Path) -> None:
    add_line(directory / "articles.csv", f"p, {ZOE}, article.publish, own, allow")
    policy = load(directory, VOCABULARY)
    whole, table = matrix(policy), table_of(policy)
    assert (table.columns, table.sections, table.scopes) == (whole.columns, whole.sections, whole.scopes)
    assert list(whole.persons) == [ZOE] and not table.persons


def test_it_is_kept_for_as_long_as_the_policy_is() -> None:
    policy = load(SHIPPED, VOCABULARY)
    assert table_of(policy) is table_of(policy)
    assert table_of(load(SHIPPED, VOCABULARY)) is not table_of(policy), "another snapshot has its own"
    table, gone = table_of(policy), ref(policy)
    del policy
    gc.collect(1)  # of what is young, since a search of everything takes seconds
    assert gone() is None and table.columns, "a table keeps no policy"


@pytest.mark.parametrize("role", sorted(set(ROLES) - {"guest"}))
def test_a_person_without_lines_may_do_what_the_role_may(role: str) -> None:
    policy = load(SHIPPED, VOCABULARY)
    column = policy.roles.names.index(role)
    assert of_person(policy, role, ZOE, PERMISSIONS) == {
        row.permission: row.grants[column] for section in table_of(policy).sections for row in section.rows
        if row.grants[column]}


@pytest.mark.parametrize(("line", "permission", "words"), [
    (f"p, {ZOE}, article.publish, own, allow", "article.publish", "own"),
    (f"p, {ZOE}, article.update, always, allow", "article.update", "always"),
    (f"p, {ZOE}, article.update, published, deny", "article.update", "own_draft, shared_draft, but not published"),
    (f"p, {ZOE}, comment.create, always, deny", "comment.create", None),
    (f"p, {ZOE}, article.publish, anonymous, allow", "article.publish", None),
])
def test_lines_of_their_own_come_on_top_of_the_role(
    directory: Path, line: str, permission: str, words: str | None
) -> None:
    add_line(directory / "articles.csv", line)
    found = of_person(load(directory, VOCABULARY), "user", ZOE, PERMISSIONS)
    assert (found[permission].words if permission in found else None) == words


def test_a_role_that_was_lent_comes_on_top_too(directory: Path) -> None:
    add_line(directory / "roles.csv", f"g, {ZOE}, moderator")
    found = of_person(load(directory, VOCABULARY), "user", ZOE, PERMISSIONS)
    assert found["comment.approve"].words == "always"
    assert "product.create" not in found


def test_the_cells_of_a_person_say_what_the_policy_decides(directory: Path) -> None:
    for line in (f"p, {ZOE}, article.*, own, allow", f"p, {ZOE}, page.view, office_hours, deny",
                 f"p, {ZOE}, order.update, always, allow"):
        add_line(directory / "articles.csv", line)
    policy: Policy = load(directory, VOCABULARY)
    found = of_person(policy, "user", ZOE, PERMISSIONS)
    who = Principal(ZOE.removeprefix("user:"), ZOE, "user", "t")
    for permission in PERMISSIONS:
        cell = found.get(permission)
        # A deny rule that is true at this hour leaves nothing to plan.
        plan = policy.plan(who, permission, FixedEnvironment()).outcome.value
        assert plan == "never" if cell is None else plan == "always" if cell.always else plan != "always" or cell.denies


def test_a_role_that_the_policy_does_not_have_gives_nothing() -> None:
    assert of_person(load(SHIPPED, VOCABULARY), "janitor", ZOE, PERMISSIONS) == {}
