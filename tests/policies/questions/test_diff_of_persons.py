"""A diff lists the users whom rules name, with their role, and compares equal users once."""

from __future__ import annotations

import pytest

from policies import Policy
from policies.comparison.prover import Comparison, Difference
from policies.comparison.subjects import Subject
from policies.questions.changes import Change, Changes
from policies.questions.diff import diff
from policies.questions.persons import Persons
from tests.policies.generated import assembled, model

ZOE, YAN = (f"user:0199f3a0-0000-7000-8000-00000000000{number}" for number in (1, 2))
WHO_AND_WHAT = "(g(r.sub.role, p.sub) || g(r.sub.key, p.sub)) && globMatch(r.act, p.act)"
LINES = ["p, user, article.view, published, allow", "p, user, article.update, own, allow",
         "p, editor, article.publish, always, allow"]
ROLES = ["g, user, guest", "g, editor, user", "g, manager, user"]


def changed(*added: str, removed: str = "", roles: tuple[str, ...] = (), stored: dict[str, str] | None = None,
            before: tuple[str, ...] = ()) -> Changes:
    old = [*LINES, *before]
    new = [line for line in (*old, *added) if line != removed]
    return diff(assembled(old, ROLES), assembled(new, [*ROLES, *roles]), stored)


def only(found: Changes) -> Change:
    [change] = found
    return change


def test_offline_a_line_for_a_person_is_told_with_the_roles_for_which_it_changes_something() -> None:
    change = only(changed(f"p, {ZOE}, article.publish, own, allow"))
    assert (change.who, change.permission, change.kind) == ((ZOE,), "article.publish", "more")
    assert "editor" not in change.having and {"user", "manager"} < {*change.having}
    assert "guest" not in change.having, "a person has an account"
    assert change.gained is not None and change.gained.principal.key == ZOE


def test_offline_a_person_who_is_answered_alike_with_every_role_is_told_once() -> None:
    change = only(changed(f"p, {ZOE}, page.view, own, allow"))
    assert (change.who, change.having) == ((ZOE,), ())
    assert str(change) == f"+ page.view: never → own, for {ZOE}"


@pytest.mark.parametrize(("role", "told"), [("user", True), ("editor", False)])
def test_with_the_role_of_the_database_a_person_is_told_if_it_changes_something(role: str, told: bool) -> None:
    found = changed(f"p, {ZOE}, article.publish, own, allow", stored={ZOE: role})
    assert [(change.who, change.having) for change in found] == ([((ZOE,), ())] if told else [])


def test_a_person_whose_stored_role_is_guest_may_do_nothing_before_and_after() -> None:
    """An older version stored such users."""
    assert not changed(f"p, {ZOE}, article.publish, own, allow", f"p, {ZOE}, article.view, always, deny",
                       roles=(f"g, {ZOE}, editor",), stored={ZOE: "guest"})


def test_a_person_whose_stored_role_is_lost_is_not_answered_like_another_with_equal_lines() -> None:
    for lost in ("guest", "no-role"):
        added = (f"p, {name}, page.view, own, allow" for name in (ZOE, YAN))
        assert only(changed(*added, stored={ZOE: lost, YAN: "user"})).who == (YAN,)


def test_a_denial_takes_from_a_person_what_their_role_gives() -> None:
    change = only(changed(f"p, {ZOE}, article.update, always, deny", stored={ZOE: "user"}))
    assert str(change) == f"− article.update: own → never, for {ZOE}"
    assert change.lost is not None and change.lost.principal.key == ZOE


def test_a_denial_of_what_no_role_gives_is_no_change() -> None:
    assert not changed(f"p, {ZOE}, page.view, always, deny")


def test_a_lent_role_is_told_with_the_line_that_lends_it() -> None:
    found = changed(roles=(f"g, {ZOE}, editor",), stored={ZOE: "user"})
    assert [(str(change), change.lines) for change in found] == [
        (f"+ article.publish: never → always, for {ZOE}", ("roles.csv:4",))
    ]


def test_what_a_person_loses_with_all_of_their_role_is_told_of_the_role_alone() -> None:
    mine = f"p, {ZOE}, article.update, published, deny"
    found = changed(removed="p, user, article.update, own, allow", before=(mine,))
    assert only(found).who == ("user", "editor", "manager")


def test_what_a_person_gains_with_their_role_beside_their_own_line_is_told_of_the_role_alone() -> None:
    found = changed("p, user, article.publish, own, allow", before=(f"p, {ZOE}, article.publish, published, allow",),
                    stored={ZOE: "user"})
    assert only(found).who == ("user", "manager")


def test_a_denial_for_a_role_that_has_nothing_is_told_of_the_person_whom_it_stops() -> None:
    found = changed("p, user, page.view, office_hours, deny", before=(f"p, {ZOE}, page.view, own, allow",),
                    stored={ZOE: "user"})
    change = only(found)
    assert (change.who, change.kind) == ((ZOE,), "less")
    assert (change.lines, change.gone) == (("rules.csv:5",), ())


def test_a_person_whom_a_condition_names_is_compared_for_every_permission() -> None:
    def policy(person: str) -> Policy:
        branches = f"p.when == 'always' || p.when == 'own' && r.obj.owner_id == r.sub.id || " \
                   f"p.when == 'chosen' && r.sub.key == '{person}'"
        lines = ["p, user, page.view, chosen, allow", f"p, {ZOE}, article.view, own, allow",
                 f"p, {YAN}, article.view, own, allow"]
        return assembled(lines, ROLES, model(f"{WHO_AND_WHAT} && ({branches})"))

    found = diff(policy(ZOE), policy(YAN), {ZOE: "user", YAN: "user"})
    assert {(change.who, change.permission, change.kind) for change in found} == {
        ((ZOE,), "page.view", "less"), ((YAN,), "page.view", "more"),
    }


def test_a_person_whom_a_parameter_names_is_compared_for_every_permission() -> None:
    branches = "p.when == 'always' || p.when == 'own' && r.obj.owner_id == r.sub.id || p.when == 'by:' + r.sub.id"
    text = model(f"{WHO_AND_WHAT} && ({branches})")
    lines = [f"p, {name}, comment.view, own, allow" for name in (ZOE, YAN)]
    change = only(diff(assembled(lines, ROLES, text),
                       assembled([*lines, f"p, user, page.view, by:{ZOE.removeprefix('user:')}, allow"], ROLES, text),
                       {ZOE: "user", YAN: "user"}))
    assert str(change) == f"+ page.view: never → always, for {ZOE}"


def test_persons_with_one_line_that_names_one_of_them_are_not_answered_alike() -> None:
    branches = "p.when == 'always' || p.when == 'own' && r.obj.owner_id == r.sub.id || p.when == 'of:' + r.obj.owner_id"
    text = model(f"{WHO_AND_WHAT} && ({branches})")
    lines = [f"p, {name}, page.view, of:{ZOE.removeprefix('user:')}, allow" for name in (ZOE, YAN)]
    denied = [*lines, "p, user, page.view, own, deny"]
    change = only(diff(assembled(lines, ROLES, text), assembled(denied, ROLES, text), {ZOE: "user", YAN: "user"}))
    assert change.who == (ZOE,)


def test_no_person_is_anonymous_whatever_role_is_stored() -> None:
    added = (f"p, {name}, page.view, anonymous, allow" for name in (YAN, ZOE))
    assert [*changed(*added, stored={YAN: "user", ZOE: "guest"})] == []


# How much is compared


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Subject, str]]:
    """Records every compared subject and permission."""
    asked: list[tuple[Subject, str]] = []
    between = Comparison.between

    def counted(self: Comparison, subject: Subject, permission: str) -> Difference:
        asked.append((subject, permission))
        return between(self, subject, permission)

    monkeypatch.setattr(Comparison, "between", counted)
    return asked


def people(count: int, *columns: str) -> tuple[str, ...]:
    return tuple(f"p, user:0199f3a0-0000-7000-8000-{number:012x}, {line}" for number in range(count)
                 for line in columns)


@pytest.mark.parametrize("edit", [
    "p, user, article.publish, own, allow", "p, user, *, office_hours, deny", f"p, {ZOE}, article.publish, own, allow",
])
def test_five_hundred_persons_with_like_lines_take_no_more_comparisons_than_five(
    compared: list[tuple[Subject, str]], edit: str
) -> None:
    counts = []
    for count in (5, 500):
        compared.clear()
        found = changed(edit, before=people(count, "article.publish, published, allow", "comment.*, own, allow"))
        assert found
        counts.append(len(compared))
    assert counts[0] == counts[1]


def test_persons_whose_lines_come_to_the_same_are_one_question(compared: list[tuple[Subject, str]]) -> None:
    acts = ("page.view", "page.*", "pa*.view", "pag*", "page.v*", "*age.view")
    before = tuple(f"p, user:0199f3a0-0000-7000-8000-{number:012x}, {act}, own, allow"
                   for number, act in enumerate(acts))
    change = only(changed("p, user, page.view, office_hours, deny", before=before,
                          stored={line.split(", ")[1]: "user" for line in before}))
    assert len(change.who) == len(acts)
    assert len([subject for subject, _ in compared if subject.key]) == 1


def test_roles_with_equal_lines_are_one_question_for_a_person(compared: list[tuple[Subject, str]]) -> None:
    many = tuple(f"g, role{number}, user" for number in range(30))
    edit = f"p, {ZOE}, page.view, own, allow"
    counts = []
    for roles in (many[:1], many):
        compared.clear()
        links = [*ROLES, *roles]
        change = only(diff(assembled(LINES, links), assembled([*LINES, edit], links)))
        assert change.who == (ZOE,) and change.having == ()
        counts.append(len(compared))
    assert counts[0] == counts[1]


def test_where_a_condition_asks_for_the_role_each_role_is_a_question_of_its_own() -> None:
    branches = "p.when == 'always' || p.when == 'as_editor' && r.sub.role == 'editor'"
    text = model(f"{WHO_AND_WHAT} && ({branches})")
    lines = ["p, user, article.view, always, allow"]
    change = only(diff(assembled(lines, ROLES, text),
                       assembled([*lines, f"p, {ZOE}, page.view, as_editor, allow"], ROLES, text)))
    assert (change.who, change.having) == ((ZOE,), ("editor",))


def test_all_persons_who_change_alike_are_one_change_with_all_their_keys() -> None:
    persons = people(500, "article.publish, own, allow")
    change = only(changed(*persons, stored={line.split(", ")[1]: "user" for line in persons}))
    assert len(change.who) == 500


def test_only_permissions_whose_lines_changed_are_compared(compared: list[tuple[Subject, str]]) -> None:
    changed("p, user, article.publish, own, allow", before=people(20, "comment.view, own, allow"))
    assert {permission for _, permission in compared} == {"article.publish"}


def test_no_person_is_looked_at_where_no_line_about_a_permission_has_changed() -> None:
    lines = [*LINES, *people(20, "comment.view, own, allow", "page.view, own, allow")]
    persons = Persons(assembled(lines, ROLES), assembled([*lines, "p, user, page.view, published, allow"], ROLES))
    assert not any(persons.may_differ("user", name) for name in ("comment.view", "article.view"))
    assert [*persons.on("comment.view")] == [] and len([*persons.on("page.view")]) == 1


def test_lines_that_only_moved_are_not_compared(compared: list[tuple[Subject, str]]) -> None:
    lines = [*LINES, *people(20, "comment.view, own, allow")]
    assert not diff(assembled(lines, ROLES), assembled(lines[::-1], ROLES[::-1]))
    assert compared == []
