"""A diff lists the effects of a change of the files on users, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from policies import SHIPPED, Policy, load
from policies.questions.changes import Change
from policies.questions.diff import diff
from tests.policies.editing import add_line, remove_line, replace, shipped_copy
from tests.policies.shipped_vocabulary import ROLES, VOCABULARY


@pytest.fixture(scope="module")
def shipped() -> Policy:
    return load(SHIPPED, VOCABULARY)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return shipped_copy(tmp_path / "policies")


def changes(old: Policy, directory: Path) -> list[Change]:
    return list(diff(old, load(directory, VOCABULARY)))


# No change


def test_equal_files_differ_in_nothing(shipped: Policy) -> None:
    assert not diff(shipped, shipped)


def test_a_line_that_moves_to_another_file_is_no_change(shipped: Policy, directory: Path) -> None:
    remove_line(directory / "articles.csv", "p, moderator, article.view, always, allow")
    add_line(directory / "admin.csv", "p,moderator,article.view,always,allow")
    assert changes(shipped, directory) == []


def test_a_renamed_condition_is_no_change(shipped: Policy, directory: Path) -> None:
    replace(directory / "model.conf", "'own_pending'", "'mine_and_pending'")
    replace(directory / "comments.csv", "own_pending, ", "mine_and_pending, ")
    assert changes(shipped, directory) == []


def test_facts_in_another_order_are_no_change(shipped: Policy, directory: Path) -> None:
    replace(
        directory / "model.conf",
        "r.obj.owner_id == r.sub.id && r.obj.status == 'pending'",
        "r.obj.status == 'pending' && r.obj.owner_id == r.sub.id",
    )
    assert changes(shipped, directory) == []


@pytest.mark.parametrize(
    "line",
    [
        "p, editor, article.publish, always, allow",
        "p, editor, article.update, own, allow",
        "p, user, article.view, own_draft, allow",
        "p, user, article.view, anonymous, allow",
    ],
)
def test_a_line_that_grants_what_was_granted_is_no_change(
    shipped: Policy, directory: Path, line: str
) -> None:
    add_line(directory / "articles.csv", line)
    assert changes(shipped, directory) == []


# More, less, other


def test_a_new_line_gives_more_to_all_roles_that_inherit_it(shipped: Policy, directory: Path) -> None:
    add_line(directory / "articles.csv", "p, user, article.export, own, allow")
    [change] = changes(shipped, directory)
    assert change.kind == "more"
    assert (change.permission, change.before, change.after) == ("article.export", "", "own")
    assert change.who == ("user", "support", "moderator", "manager", "developer")
    assert str(change) == "+ article.export: never → own, for user, support, moderator, manager, developer"
    [place] = [rule.place for rule in load(directory, VOCABULARY).rules if rule.act == "article.export"]
    assert (change.lines, change.gone) == ((place,), ())
    assert (str(change.gained), change.lost) == ("owner_id is the caller's id", None)


def test_a_removed_line_gives_less(shipped: Policy, directory: Path) -> None:
    remove_line(directory / "session.csv", "p, guest, user.register, always, allow")
    [change] = changes(shipped, directory)
    assert (change.kind, change.permission, change.before, change.after) == ("less", "user.register", "always", "")
    assert set(change.who) == set(ROLES) - {"owner", "admin"}
    [place] = [rule.place for rule in shipped.rules if rule.act == "user.register"]
    assert (change.lines, change.gone) == ((), (place,))
    assert (change.gained, str(change.lost)) == (None, "always")


def test_a_deny_gives_less(shipped: Policy, directory: Path) -> None:
    add_line(directory / "contact.csv", "p, support, contact.view, office_hours, deny")
    [change] = changes(shipped, directory)
    assert (change.kind, change.before, change.after) == ("less", "always", "always, but not office_hours")
    assert change.who == ("support", "owner", "admin")
    [place] = [rule.place for rule in load(directory, VOCABULARY).rules if rule.eft == "deny"]
    assert (change.lines, change.gone) == ((place,), ())


def test_a_wider_condition_gives_more(shipped: Policy, directory: Path) -> None:
    remove_line(directory / "articles.csv", "p, user, article.update, own_draft, allow")
    add_line(directory / "articles.csv", "p, user, article.update, own, allow")
    [change] = changes(shipped, directory)
    assert (change.kind, change.before, change.after) == ("more", "own_draft, shared_draft", "shared_draft, own")
    assert change.gained is not None and change.gained.row is not None
    assert change.gained.row["owner_id"] == change.gained.principal.id and change.gained.row["status"] != "draft"


def test_another_condition_is_neither_more_nor_less(shipped: Policy, directory: Path) -> None:
    remove_line(directory / "articles.csv", "p, guest, article.view, published, allow")
    add_line(directory / "articles.csv", "p, guest, article.view, approved, allow")
    first, second = changes(shipped, directory)
    assert (first.who, first.kind, first.before, first.after) == (("guest",), "other", "published", "approved")
    assert (str(first.gained), str(first.lost)) == ("status is approved", "status is published")
    assert second.who == ("user", "support", "manager")
    assert (second.before, second.after) == ("published, own, shared", "own, shared, approved")


def test_a_condition_redefined_in_the_model_is_described_in_its_terms(shipped: Policy, directory: Path) -> None:
    replace(
        directory / "model.conf",
        "'own_pending' && r.obj.owner_id == r.sub.id && r.obj.status == 'pending'",
        "'own_pending' && r.obj.owner_id == r.sub.id",
    )
    [change] = changes(shipped, directory)
    assert change.permission == "comment.update"
    assert change.kind == "more"
    assert change.before == "r.obj.owner_id == r.sub.id && r.obj.status == 'pending'"
    assert change.after == "r.obj.owner_id == r.sub.id"
    assert change.lines == (f"model.conf:{shipped.conditions['own_pending'].line}",)


def test_a_role_that_inherits_more_is_changed_in_all_that_it_gets(shipped: Policy, directory: Path) -> None:
    add_line(directory / "roles.csv", "g, developer, support")
    found = changes(shipped, directory)
    assert {change.who for change in found} == {("developer",)}
    assert {change.kind for change in found} == {"more"}
    assert {change.permission for change in found} == {
        "order.view", "order.view_total", "order.refund", "order.update", "contact.view", "contact.delete",
    }
    [link] = [link for link in load(directory, VOCABULARY).roles.links if link.inherits == "support"
              and link.name == "developer"]
    assert {change.lines for change in found} == {(f"roles.csv:{link.line}",)}, "the line that lends, not what is lent"


def test_a_scope_that_covers_less_is_described_for_the_scope(shipped: Policy, directory: Path) -> None:
    remove_line(directory / "orders.csv", "p2, write:orders, order.delete")
    [change] = changes(shipped, directory)
    assert str(change) == "− order.delete: always → never, for scope write:orders"


def test_the_other_way_round_everything_is_reversed(shipped: Policy, directory: Path) -> None:
    add_line(directory / "articles.csv", "p, user, article.export, own, allow")
    remove_line(directory / "orders.csv", "p2, write:orders, order.delete")
    new = load(directory, VOCABULARY)
    mirrored = {"more": "less", "less": "more", "other": "other"}
    there = {(one.who, one.permission, mirrored[one.kind], one.after, one.before, one.gone, one.lines)
             for one in diff(shipped, new)}
    back = {(one.who, one.permission, one.kind, one.before, one.after, one.lines, one.gone)
            for one in diff(new, shipped)}
    assert there == back
