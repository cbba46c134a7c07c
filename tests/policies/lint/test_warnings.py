"""The lint warns of valid lines that are probably unintended, and of no others."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from policies.lint.matches import Matches
from policies.lint.warnings import UNDECIDED, warnings
from tests.policies.generated import BRANCHES, FILES, MODEL, assembled
from tests.policies.shipped_vocabulary import PERMISSIONS

RULE = "p, user, article.view, own, allow"
LINKS = ["g, user, guest", "g, support, user", "g, editor, user", "g, admin, support", "g, admin, editor"]
EVERY_ROLE = ["g, user, guest",
              *(f"g, {role}, user" for role in ("support", "editor", "moderator", "manager", "developer", "owner")),
              "g, admin, owner"]
ANN = "user:0199f3a0-0000-7000-8000-000000000001"
ALL = len(PERMISSIONS)
VIEWS = "p, support, *.view, always, allow"
EDITS = "p, editor, article.*, always, allow"


TODAY = datetime(2026, 11, 18, 10, tzinfo=UTC)


def model_with(*branches: str) -> str:
    """Returns the shipped model.conf with these additional conditions, each on its own line."""
    return MODEL.replace(BRANCHES, " || \\\n    ".join([BRANCHES, *(f"p.when == {branch}" for branch in branches)]))


def said(*rules: str, links: list[str] = LINKS, text: str = MODEL) -> list[str]:
    """Returns every warning about these lines."""
    found = [str(finding) for finding in warnings(assembled(list(rules), links, text), at=TODAY)]
    # Roles without a use in these few lines: test_useless_roles.py tests them.
    return [one for one in found if "no rule names the role" not in one and "only admin can give" not in one]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([RULE, RULE], "rules.csv:2: warning: the same as rules.csv:1"),
        (["p, user, article.view, always, allow", RULE],
         "rules.csv:2: warning: without effect: rules.csv:1 (user, article.view, always, allow) allows this already"),
        (["p, guest, article.view, always, allow", RULE], "rules.csv:2: warning: without effect: rules.csv:1"),
        ([RULE, "p, user, article.view, own_draft, allow"], "rules.csv:2: warning: without effect: rules.csv:1"),
        ([RULE, "p, user, article.view, always, deny"], "rules.csv:1: warning: without effect: rules.csv:2"),
        ([RULE, "p, support, contact.view, always, deny"],
         "rules.csv:2: warning: without effect: no rule allows what this denies"),
        (["p, user, order.refund, shared, allow"], "rules.csv:1: warning: nobody to whom this rule applies can ever "
         "meet `shared`: no share gives `order.refund`"),
        (["p, user, page.view, approved, allow"], "page.status is never approved"),
        (["p, user, article.view, anonymous, allow"], "only callers without credentials are guests"),
        (["p, guest, article.view, anonymous, allow"], None),
        ([EDITS, "p, guest, article.view, published, deny"], "rules.csv:2: warning: every role inherits guest"),
        (["p, guest, article.view, always, allow", "p, guest, article.view, anonymous, deny"], None),
        ([EDITS, RULE, "p, user, article.view, published, deny"],
         "rules.csv:3: warning: admin and editor inherit user, and this denies them what rules.csv:1 gives"),
        (["p, user, article.view, always, allow", "p, user, article.view, own, deny"],
         "rules.csv:2: warning: this denies nothing where owner_id is missing"),
        (["p, user, article.view, always, allow", "p, user, article.view, intranet, deny"], None),
        (["p, user, article.view, always, allow", "p, user, article.view, published, deny"], None),
        (["p, user, article.view, same_department, allow"], "no index of article serves lists by department"),
        (["p, guest, article.*, always, allow"], f"this rule gives guest 15 of {ALL} permissions"),
        (["p, guest, order.update, office_hours, allow"], "rules.csv:1: warning: this rule gives guest order.update"),
        (["p, support, *, always, allow"], f"rules.csv:1: warning: this rule gives support {ALL} of {ALL} permissions"),
        ([f"p, {ANN}, *, always, allow"], f"rules.csv:1: warning: this rule gives {ANN} {ALL} of {ALL} permissions"),
        (["p, admin, *, always, allow"], None),
        (["p, support, order.*, always, allow"], None),
        (["p, user, order.view, always, allow", "p, support, order.view, own, allow"],
         "rules.csv:1: warning: this rule gives user what rules.csv:2 gives to fewer callers"),
        ([*(f"p, support, order.{verb}, always, allow" for verb in ("view", "update", "ship")),
          "p, support, order.*, always, allow"],
         "rules.csv:4: warning: because of this rule, 3 rules are now without effect (rules.csv:1, rules.csv:2 and"),
        ([RULE, "p2, read:rules, article.update"],
         "rules.csv:2: warning: a scope to read gives article.update"),
        ([RULE, "p2, write:rules, article.*", "p2, write:rules, article.view"],
         "rules.csv:3: warning: without effect: rules.csv:2 (write:rules, article.*) covers this already"),
        ([RULE, "p2, read:rules, article.view", "p2, write:rules, article.view"], None),
        ([RULE, "p2, write:rules, article.manage"], "rules.csv:2: warning: a scope to write gives article.manage"),
        ([RULE, "p2, manage:rules, article.manage", "p2, write:rules, article.share"], None),
        ([RULE, "p2, read:policy, article.view"],
         "rules.csv:2: warning: a scope of policy gives article.view: those have scopes of their own, such as "
         "read:articles"),
        ([RULE, "p2, read:policy, policy.*ew", "p2, manage:policy, policy.*"], None),
        ([RULE, "p2, manage:policy, *"], "rules.csv:2: warning: a scope of policy gives article.approve"),
        ([RULE, "p2, read:rules, *.view"], "and what is to come; name the permissions that are meant"),
        ([RULE, "p2, manage:rules, article.*", "p2, manage:rules, order.*"], None),  # a scope of one's own
        (["p, support, *.view_private, always, allow", "p, guest, *.view, office_hours, allow"],
         "rules.csv:1: warning: this rule gives support the guarded fields of 7 collections"),
        ([VIEWS, "p, support, *.manage, office_hours, allow"],
         "rules.csv:2: warning: this rule gives support the guarded fields of 7 collections, and of each future one"),
        ([VIEWS, "p, support, *.view_private, own, allow"], None),
        ([VIEWS, "p, support, order.manage, always, allow", "p, support, user.view_private, always, allow"], None),
        ([VIEWS, "p, admin, *.view_private, always, allow"], None),
    ],
    ids=lambda value: str(value)[:80],
)
def test_a_line_that_is_hardly_meant_is_a_warning(rules: list[str], message: str | None) -> None:
    found = said(*rules)
    assert found == [] if message is None else any(message in finding for finding in found), found


@pytest.mark.parametrize(
    ("branch", "message"),
    [
        ("r.obj.status == 'publised'", "no status is publised; did you mean published?"),
        ("r.obj.status != 'publised'", "always holds: no status is publised"),
        ("r.env.hour == 25", "`r.env.hour == 25` never holds: r.env.hour is 0 to 23"),
        ("r.env.weekday == 0 && r.obj.status == 'draft'", "r.env.weekday is 1 to 7"),
        ("r.env.hour >= 20 && r.env.hour < 6", "nobody can ever meet `mine`"),
        ("r.env.date == '2026-11-21' && r.env.weekday == 3", "nobody can ever meet `mine`"),
        ("(r.env.hour >= 8 || r.env.hour < 18)", "`mine` always holds"),
        ("(r.obj.owner_id == r.sub.id || r.obj.owner_id != r.sub.id)", None),  # an object without owner is neither
        ("r.env.hour >= 20 && r.env.weekday < 6", None),
        ("r.env.device == 'mobile'", None),
    ],
)
def test_a_condition_that_never_holds_or_always_is_told_in_the_model(branch: str, message: str | None) -> None:
    text = model_with(f"'mine' && {branch}")
    found = said("p, editor, article.view, always, allow", "p, editor, article.update, mine, allow", text=text)
    if message is None:
        assert found == []
    else:
        line = next(number for number, row in enumerate(text.splitlines(), 1) if "'mine'" in row)
        assert [one for one in found if one.startswith(f"model.conf:{line}: warning: ") and message in one], found


def test_always_that_asks_something_is_told_in_the_model() -> None:
    found = said(RULE, text=MODEL.replace("p.when == 'always'", "p.when == 'always' && r.env.hour > 8"))
    assert any(one.startswith("model.conf:") and "`always` has a condition here" in one for one in found), found


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ("g, user, support",
         "this rule gives user 2 of 120 permissions (order.view, order.view_total); was `g, support, user` meant?"),
        ("g, moderator, user", None),
        (f"g, {ANN}, support", None),
        (f"g, {ANN}, user", "without effect: every user is user already"),
    ],
)
def test_a_role_that_inherits_what_it_hardly_should_is_told(link: str, message: str | None) -> None:
    links = ["g, admin, support", link] if message and "gives" in message else [
        *(f"g, {role}, user" for role in ("support", "editor", "manager", "developer", "owner", "admin")),
        "g, user, guest", *(["g, moderator, user"] if link.startswith("g, user:") else []), link]
    found = said("p, support, order.view, always, allow", links=links)
    place = f"roles.csv:{len(links)}: warning: "
    assert not found if message is None else any(one.startswith(place) and message in one for one in found), found


def test_a_role_that_inherits_what_it_has_already_is_told_by_which_lines() -> None:
    found = said(RULE, links=[*LINKS, "g, admin, user"])
    assert found == ["roles.csv:6: warning: without effect: admin inherits user already, by roles.csv:4 and "
                     "roles.csv:2; take it out"]


def test_a_condition_that_only_a_higher_role_meets_is_no_warning() -> None:
    text = model_with("'new' && r.sub.role == 'editor'")
    assert said("p, user, article.view, new, allow", text=text) == []
    (warning,) = said("p, editor, article.view, new, allow", "p, support, article.view, new, allow", text=text)
    assert warning.startswith("rules.csv:2: warning: nobody to whom this rule applies can ever meet `new`")


@pytest.mark.parametrize(("asks", "links"), [
    (f"g(r.sub.key, '{ANN}')", EVERY_ROLE), ("g(r.sub.key, 'support')", [*EVERY_ROLE, f"g, {ANN}, support"]),
    (f"r.sub.id == '{ANN.removeprefix('user:')}'", EVERY_ROLE),
])
def test_a_condition_that_only_a_person_meets_whom_lines_name_is_no_warning(asks: str, links: list[str]) -> None:
    rules = ["p, user, article.view, hers, allow", f"p, {ANN}, order.view, always, allow"]
    assert said(*rules, links=links, text=model_with(f"'hers' && {asks}")) == []


def test_an_exception_for_one_person_has_an_effect_and_one_that_all_have_has_none() -> None:
    rules = [RULE, f"p, {ANN}, article.view, published, allow", f"p, {ANN}, article.view, own_draft, allow",
             f"p, {ANN}, article.view, own, deny"]
    found = said(*rules[:3], links=EVERY_ROLE)
    assert [one.partition(" (")[0] for one in found] == ["rules.csv:3: warning: without effect: rules.csv:1"]
    assert not any(one.startswith("rules.csv:4: warning: without effect") for one in said(*rules, links=EVERY_ROLE))


def test_a_denial_of_a_role_counts_for_a_person_whom_a_line_allows_it() -> None:
    rules = ["p, user, contact.view, always, deny", f"p, {ANN}, contact.view, office_hours, allow"]
    assert not any("rules.csv:1" in one and "no rule allows" in one for one in said(*rules))


def test_lines_about_persons_are_counted_and_not_named_at_the_line_of_a_role() -> None:
    rules = ["p, user, order.*, always, allow", *(f"p, {ANN[:-1]}{n}, order.view, own, allow" for n in range(3))]
    (found,) = [one for one in said(*rules, links=EVERY_ROLE) if one.startswith("rules.csv:1:")]
    assert found.endswith("3 rules are now without effect")


def test_persons_are_asked_only_for_what_their_lines_bear_on() -> None:
    rules = [f"p, user:0199f3a0-0000-7000-8000-{n:012x}, page.view, office_hours, allow" for n in range(100)]
    links = [line for line in FILES["roles.csv"].decode().splitlines() if line.startswith("g")]
    policy = assembled([*rules, "p, user, page.update, own, allow"], links)
    matches = Matches(policy)
    for rule in policy.rules:
        list(matches.reached(rule))
    assert len([one for one in matches.cells if one.subject.key]) == len(rules)


def test_what_takes_too_long_to_know_is_said_to_be_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("policies.lint.matches.MOST_NODES", 0)
    rules = ["p, user, article.view, own, allow", "p, support, article.view, published, allow"]
    assert {f"rules.csv:{line}: warning: {UNDECIDED}" for line in (1, 2)} <= {*said(*rules)}
