"""The output of a diff: a summary by role, each change with an example and its rules; the same as JSON."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from policies import Policy, load
from policies.comparison.prover import Comparison
from policies.invariants.lines import INVARIANTS_FILE
from policies.questions.changes import NOTHING, Changes, grouped
from policies.questions.diff import diff
from policies.syntax.rules import Lines
from tests.policies.editing import add_line, remove_line, replace, shipped_copy
from tests.policies.shipped_vocabulary import VOCABULARY

ZOE = "user:0199f3a0-0000-7000-8000-000000000001"


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    return load(shipped_copy(tmp_path_factory.mktemp("shipped") / "policies"), VOCABULARY)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return shipped_copy(tmp_path / "policies")


def changes(old: Policy, directory: Path) -> Changes:
    return diff(old, load(directory, VOCABULARY))


# The summary


def test_the_summary_comes_first_by_role_with_numbers_and_permissions(shipped: Policy, directory: Path) -> None:
    add_line(directory / "orders.csv", "p, support, order.approve, always, allow")
    remove_line(directory / "contact.csv", "p, support, contact.delete, always, allow")
    assert changes(shipped, directory).as_lines()[:2] == [
        "support gains 1 (order.approve), loses 1 (contact.delete)", "owner loses 1 (contact.delete)",
    ]


def test_those_who_change_alike_are_summed_up_together(shipped: Policy, directory: Path) -> None:
    remove_line(directory / "session.csv", "p, guest, user.register, always, allow")
    add_line(directory / "contact.csv", "p, support, contact.view, office_hours, deny")
    assert [line for line in changes(shipped, directory).as_lines() if line.endswith(")")] == [
        "guest, user, editor, moderator, manager, developer lose 1 (user.register)",
        "support loses 2 (user.register, contact.view)",
        "owner, admin lose 1 (contact.view)",
    ]


def test_all_permissions_of_a_resource_are_one_word_in_the_summary() -> None:
    orders = VOCABULARY.resources["order"].permissions
    assert grouped(sorted(orders), VOCABULARY) == ["order.*"]
    assert grouped([*sorted(orders)[1:], "stats.view"], VOCABULARY) == [*sorted(orders)[1:], "stats.view"]
    assert grouped(VOCABULARY.by_permission, VOCABULARY) == ["*"]


def test_a_role_that_gains_every_permission_of_a_resource_is_said_to_gain_the_resource(
    shipped: Policy, directory: Path
) -> None:
    add_line(directory / "categories.csv", "p, developer, category.*, always, allow")
    remove_line(directory / "categories.csv", "p, guest, category.view, always, allow")
    assert "developer gains 9 (" in changes(shipped, directory).as_lines()[1]
    back = diff(load(directory, VOCABULARY), shipped)
    assert back.as_lines()[0].startswith("guest, user, support, editor, moderator gain 1 (category.view)")


# Each change


def test_a_change_is_told_with_an_example_and_the_lines_on_either_side(shipped: Policy, directory: Path) -> None:
    remove_line(directory / "articles.csv", "p, guest, article.view, published, allow")
    add_line(directory / "articles.csv", "p, guest, article.view, approved, allow")
    new = load(directory, VOCABULARY)
    [line] = [rule.place for rule in new.rules if rule.when == "approved" and rule.sub == "guest"]
    [gone] = [rule.place for rule in shipped.rules if (rule.sub, rule.act) == ("guest", "article.view")]
    assert diff(shipped, new).as_lines()[1:8] == [
        "",
        "~ article.view: published → approved",
        "    for    guest",
        "    gains  for example: status is approved",
        "    loses  for example: status is published",
        f"    rule   {line}",
        f"    was    {gone}",
    ]


def test_a_truth_value_is_told_as_conditions_write_it(shipped: Policy, directory: Path) -> None:
    always = "    p.when == 'always' || \\\n"
    replace(directory / "model.conf", always, f"{always}    p.when == 'enabled' && r.obj.active == 1 || \\\n")
    add_line(directory / "users.csv", "p, guest, user.view, enabled, allow")
    assert "    gains  for example: active is 1" in changes(shipped, directory).as_lines()


def test_permissions_that_change_alike_are_told_together(shipped: Policy, directory: Path) -> None:
    add_line(directory / "contact.csv", "p, support, contact.*, always, deny")
    found = changes(shipped, directory)
    assert len(found.all) == 3
    assert [line for line in found.as_lines() if line.startswith("− ")] == ["− contact.*: always → never"]


def test_the_roles_with_which_a_person_is_reached_are_told(shipped: Policy, directory: Path) -> None:
    add_line(directory / "articles.csv", f"p, {ZOE}, article.publish, own, allow")
    lines = changes(shipped, directory).as_lines()
    assert lines[0] == f"{ZOE} gains 1 (article.publish)"
    assert lines[3:5] == [f"    for    {ZOE}", "    as     user, support, moderator, manager, developer"]


def test_of_many_persons_a_few_are_named(shipped: Policy, directory: Path) -> None:
    for number in range(30):
        add_line(directory / "articles.csv",
                 f"p, user:0199f3a0-0000-7000-8000-{number:012}, article.publish, own, allow")
    found = changes(shipped, directory)
    assert sum(line.count("user:") for line in found.as_lines()) == 18
    assert "".join(found.as_lines()).count("21 others") == 2
    [change] = found.as_json()["changes"]
    assert len(change["who"]) == 30


def test_every_line_is_at_most_100_columns_wide(shipped: Policy, directory: Path) -> None:
    replace(directory / "model.conf", "'own' && r.obj.owner_id == r.sub.id",
            "'own' && r.obj.owner_id == r.sub.id "
            "&& (r.env.hour >= 6 || r.env.device == 'desktop') && r.env.ip != '10.0.0.1'")
    add_line(directory / "roles.csv", f"g, {ZOE}, moderator")
    lines = changes(shipped, directory).as_lines()
    assert len(lines) > 50 and max(map(len, lines)) <= 100


def test_no_difference_is_one_sentence(shipped: Policy) -> None:
    found = diff(shipped, shipped)
    assert not found and found.as_lines() == [NOTHING]


# JSON


def test_json_has_the_versions_the_summary_and_each_change(shipped: Policy, directory: Path) -> None:
    remove_line(directory / "orders.csv", "p2, write:orders, order.delete")
    add_line(directory / "contact.csv", "p, support, contact.view, office_hours, deny")
    new = load(directory, VOCABULARY)
    data = json.loads(json.dumps(diff(shipped, new).as_json()))
    assert (data["old"], data["new"]) == (shipped.version, new.version)
    assert data["summary"] == [
        {"who": ["support", "owner", "admin"], "gains": [], "loses": ["contact.view"], "both": [], "undecided": []},
        {"who": ["scope write:orders"], "gains": [], "loses": ["order.delete"], "both": [], "undecided": []},
    ]
    denied, narrowed = data["changes"]
    assert (denied["who"], denied["permission"], denied["change"]) == (
        ["support", "owner", "admin"], "contact.view", "less")
    assert (denied["before"], denied["after"]) == ("always", "always, but not office_hours")
    assert denied["gained"] is None and denied["lost"]["facts"]["r.env.hour"] in range(8, 18)
    assert denied["lines"] == [rule.place for rule in new.rules if rule.eft == "deny"]
    assert (narrowed["before"], narrowed["after"], narrowed["lost"]) == ("always", None, None)
    assert (narrowed["lines"], len(narrowed["lines_before"])) == ([], 1)
    assert (data["undecided"], data["invariants"]) == ([], [])


# Entries that are not decisions, and undecided ones


def test_what_takes_too_long_is_said_to_be_undecided_and_is_a_difference(
    shipped: Policy, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("policies.questions.answers.Comparison", partial(Comparison, most=0))
    remove_line(directory / "articles.csv", "p, user, article.update, own_draft, allow")
    add_line(directory / "articles.csv", "p, user, article.update, own, allow")
    found = changes(shipped, directory)
    assert found and not found.proved
    lines = found.as_lines()
    assert lines[0] == "user, support, moderator, manager, developer are undecided in 1 (article.update)"
    assert lines[2].startswith("? article.update: own_draft, shared_draft → shared_draft, own, too many combinations")
    assert not any(line.startswith(("    gains", "    loses")) for line in lines)
    data = found.as_json()
    assert data["changes"] == [] and [one["permission"] for one in data["undecided"]] == ["article.update"]


def test_lines_of_invariants_are_told_apart_from_decisions(shipped: Policy) -> None:
    def guarded(text: str) -> Policy:
        files = {**shipped.files, INVARIANTS_FILE: text.encode()}
        lines = Lines([*shipped.rules], [*shipped.scopes], [*shipped.roles.links])
        return Policy(VOCABULARY, shipped.model, lines, files, "version")

    old = guarded("never, guest,   *.delete\nonly, admin, policy.*\n# end\n")
    new = guarded("# mine\nnever, guest, *.delete\nonly, owner, policy.*\n# end\n")
    found = diff(old, new)
    assert found and not found.all
    assert found.as_json()["invariants"] == ["− only, admin, policy.*", "+ only, owner, policy.*"]
    assert found.as_lines() == [
        NOTHING, "", "Invariants:", "  − only, admin, policy.*", "  + only, owner, policy.*",
    ]
