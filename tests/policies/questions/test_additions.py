"""The additions of an upgrade: shipped rules that are new for an instance, and the files with them.

The shipped files serve as those of a later version: the test declares some of their permissions newer than 0.1, and
removes these from the instance's copy.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from policies import SHIPPED, Policy, load
from policies.lint.warnings import warnings
from policies.loading import first_release
from policies.questions.additions import HEADING, NotAddable, additions, extended, narrowed
from policies.questions.diff import diff
from tests.policies.editing import add_line, remove_line, replace, shipped_copy
from tests.policies.shipped_vocabulary import VOCABULARY

TOKENS = "token.create", "token.delete", "token.view"
LATER = frozenset((*TOKENS, "comment.approve", "comment.reject", "order.cancel", "stats.view"))
BRANCH_OF_COMMENTS = ("    p.when == 'approved_public' && r.obj.status == 'approved' && "
                      "r.obj.article_status == 'published' || \\")
OWNER = ("p, owner, token.view,     always, allow", "p, owner, token.delete,   always, allow")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shipped_copy(tmp_path / "policies")


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_release, "PERMISSIONS", frozenset(VOCABULARY.by_permission) - LATER)


def read(place: Path) -> Policy:
    return load(place, VOCABULARY)


def new_lines(folder: Path) -> list[str]:
    return [" ".join(line.split()) for lines in additions(read(folder), read(SHIPPED)).lines.values() for line in lines]


@pytest.mark.usefixtures("later")
def test_in_the_shipped_files_nothing_is_new(folder: Path) -> None:
    assert new_lines(folder) == []


def test_the_permissions_of_0_1_are_not_new_wherever_they_were_taken_out(folder: Path) -> None:
    (folder / "contact.csv").write_text("# Closed.\n# end\n")
    assert new_lines(folder) == []


@pytest.mark.usefixtures("later")
def test_lines_of_permissions_that_no_line_mentions_are_new(folder: Path) -> None:
    remove_line(folder / "orders.csv", "p, user, order.cancel, own, allow")
    remove_line(folder / "orders.csv", "p2, write:orders, order.cancel")
    assert new_lines(folder) == ["p, user, order.cancel, own, allow", "p2, write:orders, order.cancel"]
    assert additions(read(folder), read(SHIPPED)).permissions == ("order.cancel",)


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("line", [
    "p, admin, *, always, allow", "p, editor, *.cancel, always, allow", "p, editor, order.*, own, allow"])
def test_a_pattern_that_happens_to_cover_a_permission_does_not_hide_it(folder: Path, line: str) -> None:
    (folder / "orders.csv").write_text(f"{line}\n# end\n")
    assert new_lines(folder) == ["p, user, order.cancel, own, allow", "p2, write:orders, order.cancel"]


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("line", [
    "p, editor, order.cancel, always, deny", "p2, read:orders, order.cancel", "# p, user, order.cancel, own, allow",
    "# Nobody may order.cancel."])
def test_a_line_or_a_comment_that_mentions_a_permission_says_enough(folder: Path, line: str) -> None:
    (folder / "orders.csv").write_text(f"p, manager, order.*, always, allow\n{line}\n# end\n")
    assert new_lines(folder) == []


@pytest.mark.usefixtures("later")
def test_a_permission_is_not_mentioned_by_a_longer_name(folder: Path) -> None:
    (folder / "orders.csv").write_text("# order.cancel_all, preorder.cancel, order.cancel.x\n# end\n")
    assert "p, user, order.cancel, own, allow" in new_lines(folder)


@pytest.mark.usefixtures("later")
def test_a_shipped_pattern_that_also_covers_what_was_there_is_not_added(folder: Path) -> None:
    # `comment.*` is the administrator's rule and stays, although it covers comment.approve.
    remove_line(folder / "comments.csv", "p, moderator, comment.*, always, allow")
    remove_line(folder / "comments.csv", "p2, manage:comments, comment.*")
    remove_line(folder / "comments.csv", "p2, write:comments, comment.approve")
    assert new_lines(folder) == ["p2, write:comments, comment.approve"]


@pytest.mark.usefixtures("later")
def test_a_shipped_pattern_that_covers_new_permissions_alone_is_added_once(folder: Path) -> None:
    (folder / "session.csv").write_text("p, guest, session.create, always, allow\n# end\n")
    assert new_lines(folder) == ["p, user, token.*, own, allow", "p, owner, token.view, always, allow",
                                 "p, owner, token.delete, always, allow"]
    assert additions(read(folder), read(SHIPPED)).permissions == TOKENS
    files, _ = extended(read(folder), read(SHIPPED), additions(read(folder), read(SHIPPED)))
    (folder / "session.csv").write_bytes(files["session.csv"])
    assert new_lines(folder) == []


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "no"])
def test_lines_go_before_the_last_one_and_nothing_else_changes(folder: Path, newline: str, last: str) -> None:
    file = folder / "admin.csv"
    for role in ("developer", "manager"):
        remove_line(file, f"p, {role}, stats.view, always, allow")
    content = file.read_text().replace("\n", newline)
    file.write_bytes((content.removesuffix(newline) if last else content).encode())
    before = file.read_bytes()
    files, after = extended(read(folder), read(SHIPPED), additions(read(folder), read(SHIPPED)))
    assert list(files) == ["admin.csv"]
    start, end = before.split(b"# end")
    assert files["admin.csv"].startswith(start) and files["admin.csv"].endswith(b"# end" + end)
    assert HEADING.encode() in files["admin.csv"]
    assert [(change.permission, change.who) for change in diff(read(folder), after)] == [
        ("stats.view", ("manager", "developer", "owner"))]
    assert files["admin.csv"].count(b"\n") == files["admin.csv"].count(newline.encode())
    assert not diff(after, read(SHIPPED)).all and warnings(after) == warnings(read(SHIPPED))


@pytest.mark.usefixtures("later")
def test_a_file_that_is_new_is_copied_whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    orders = {name for name in VOCABULARY.by_permission if name.startswith("order.")}
    monkeypatch.setattr(first_release, "PERMISSIONS", first_release.PERMISSIONS - orders)
    (folder / "orders.csv").unlink()
    files, after = extended(read(folder), read(SHIPPED), additions(read(folder), read(SHIPPED)))
    assert files == {"orders.csv": (SHIPPED / "orders.csv").read_bytes()}
    assert not diff(after, read(SHIPPED)).all


# Conditions


@pytest.fixture
def without_a_condition(folder: Path, later: None) -> Path:
    """An instance without order.cancel and the condition of its rule."""
    remove_line(folder / "orders.csv", "p, user, order.cancel, own, allow")
    remove_line(folder / "orders.csv", "p2, write:orders, order.cancel")
    return folder


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    """A later version: order.cancel depends on a new condition with two alternatives."""
    place = shipped_copy(tmp_path / "shipped")
    remove_line(place / "orders.csv", "p, user, order.cancel, own, allow")
    add_line(place / "orders.csv", "p, user, order.cancel, early, allow")
    add_line(place / "model.conf", "    p.when == 'early' && (r.obj.status == 'pending' || r.obj.total < 100) && "
                                   "r.obj.owner_id == r.sub.id || \\")
    return place


def test_a_condition_that_a_new_line_needs_is_added_to_the_matcher(without_a_condition: Path, shipped: Path) -> None:
    mine, later = read(without_a_condition), read(shipped)
    files, after = extended(mine, later, additions(mine, later))
    assert list(files) == ["model.conf", "orders.csv"], "the condition comes first"
    assert after.conditions["early"].expression == later.conditions["early"].expression
    added = [line for line in files["model.conf"].decode().splitlines()
             if line not in (without_a_condition / "model.conf").read_text().splitlines()]
    assert added == ["    p.when == 'early' && (r.obj.status == 'pending' || r.obj.total < 100) && "
                     "r.obj.owner_id == r.sub.id || \\"]
    assert {change.permission for change in diff(mine, after)} == {"order.cancel"}


@pytest.mark.parametrize(("old", "new"), [
    ("    p.when == 'always' || \\\n", "    'always' == p.when || \\\n"),
    ("    p.when == 'always' || \\\n", "    p.when == 'always' && r.env.hour >= 0 || \\\n"),
    ("    p.when == 'always' || \\\n    p.when == 'own' ", "    (p.when == 'own' && 'x' == r.obj.id || \\\n"
                                                            "    p.when == 'always' || \\\n"
                                                            "    p.when == 'own') && p.when == 'own' "),
], ids=["reversed", "narrowed", "in brackets"])
def test_a_matcher_of_another_form_is_left_to_its_administrator(
        without_a_condition: Path, shipped: Path, old: str, new: str) -> None:
    replace(without_a_condition / "model.conf", old, new)
    mine, later = read(without_a_condition), read(shipped)
    with pytest.raises(NotAddable, match=r"Add them by hand below the branch of `always`[^\0]*p.when == 'early' && "):
        extended(mine, later, additions(mine, later))


def test_a_condition_of_ones_own_with_the_same_name_stays(without_a_condition: Path, shipped: Path) -> None:
    add_line(without_a_condition / "model.conf", "    p.when == 'early' && r.obj.status == 'draft' || \\")
    mine, later = read(without_a_condition), read(shipped)
    files, after = extended(mine, later, additions(mine, later))
    assert list(files) == ["orders.csv"]
    assert after.conditions["early"].source == "r.obj.status == 'draft'"


# What gives less now


def test_a_line_that_was_narrowed_is_named_where_it_stands(folder: Path) -> None:
    assert narrowed(read(folder), read(SHIPPED)) == []
    replace(folder / "comments.csv", "approved_public,", "approved,")
    [said, how] = narrowed(read(folder), read(SHIPPED))
    assert "`p, guest, comment.view, approved_public, allow`" in said and "(comments.csv:7)" in said
    assert how == "To take it over, write it there."


def test_what_is_said_of_a_narrowed_line_is_enough_to_take_it_over(folder: Path) -> None:
    replace(folder / "comments.csv", "approved_public,", "approved,")
    replace(folder / "model.conf", f"{BRANCH_OF_COMMENTS}\n", "")
    [_, how, branch] = narrowed(read(folder), read(SHIPPED))
    assert how.startswith("To take it over, first add this to model.conf, below the branch of `always`")
    assert branch == BRANCH_OF_COMMENTS
    add_line(folder / "model.conf", branch)
    remove_line(folder / "comments.csv", "p, guest, comment.view, approved, allow")
    add_line(folder / "comments.csv", "p, guest, comment.view, approved_public, allow")
    assert narrowed(read(folder), read(SHIPPED)) == [] and not diff(read(SHIPPED), read(folder)).all


@pytest.mark.parametrize(("old", "new"), first_release.NARROWED)
def test_what_is_named_as_narrowed_is_shipped(old: str, new: str) -> None:
    shipped = [f"p, {rule.sub}, {rule.act}, {rule.when}, {rule.eft}" for rule in read(SHIPPED).rules]
    assert new in shipped and old not in shipped


def test_every_file_and_permission_of_0_1_is_still_there() -> None:
    assert all((SHIPPED / name).is_file() for name in first_release.FILES)
    assert set(VOCABULARY.by_permission) >= first_release.PERMISSIONS


# Permissions with a fallback

def unmentioned(folder: Path) -> Path:
    """Returns the folder as an instance has it that knows nothing of the permissions with a fallback."""
    for file in folder.glob("*.csv"):
        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join(one for one in lines if not one.startswith("# ") or "until a rule names it" not in one))
    return folder


def decline_views(folder: Path) -> None:
    for permission in ("comment.view_owner", "order.view_total", "product.view_stock"):
        add_line(folder / f"{permission.partition('.')[0]}s.csv", f"# {permission}: no")


def test_rules_about_a_fallback_are_written_for_the_own_roles_and_change_nothing(folder: Path) -> None:
    unmentioned(folder)
    assert additions(read(folder), read(SHIPPED)).permissions == (
        "comment.view_owner", "order.view_total", "product.set_price", "product.view_stock")
    decline_views(folder)
    add_line(folder / "products.csv", "p, support, product.update, active, allow")
    add_line(folder / "products.csv", "p, editor, product.update, always, deny")
    before = read(folder)
    added = additions(before, read(SHIPPED))
    assert added.fallbacks == {"product.set_price": "product.update"}
    assert list(added.lines["products.csv"]) == [
        "p, user, product.set_price, shared, allow", "p, support, product.set_price, active, allow",
        "p, editor, product.set_price, always, deny", "p2, write:products, product.set_price"]
    files, after = extended(before, read(SHIPPED), added)
    assert [*files] == ["products.csv"]
    assert "product.set_price" not in after.fallbacks and not [*diff(before, after)]
    (folder / "products.csv").write_bytes(files["products.csv"])
    assert additions(read(folder), read(SHIPPED)).permissions == ()


def test_a_comment_declines_them_and_the_files_of_a_plugin_stay(folder: Path) -> None:
    unmentioned(folder)
    decline_views(folder)
    assert additions(read(folder), read(SHIPPED), ["products.csv"]).permissions == ()
    add_line(folder / "products.csv", "# product.set_price: no")
    assert additions(read(folder), read(SHIPPED)).permissions == ()


def test_without_a_rule_that_allows_the_fallback_by_name_there_is_nothing_to_write(folder: Path) -> None:
    unmentioned(folder)
    decline_views(folder)
    remove_line(folder / "products.csv", "p, user, product.update, shared, allow")
    assert additions(read(folder), read(SHIPPED)).permissions == ()
