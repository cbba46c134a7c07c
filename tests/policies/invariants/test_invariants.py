"""Invariants: the edits that they refuse, with line and example, and the edits that they accept."""

from __future__ import annotations

import random
from heapq import heappop

import pytest

from policies import PolicyError
from policies.comparison.subjects import Subject
from policies.invariants import report
from policies.invariants.breaches import Breach
from policies.invariants.lines import lines_of
from policies.invariants.report import MOST_FINDINGS, broken, mending
from policies.lint.warnings import warnings
from policies.loading.loader import Broken, digest, from_files
from policies.syntax.roles import RoleLink
from policies.syntax.rules import Rule
from tests.policies.generated import FILES, WITH_INVARIANTS
from tests.policies.shipped_vocabulary import VOCABULARY

ANN, BOB = (f"user:01920000-0000-7000-8000-00000000000{number}" for number in (1, 2))


def files(invariants: str, rules: str = "", links: str = "", model: str = "") -> dict[str, bytes]:
    """The shipped files with these invariants instead of the shipped ones, and with more lines."""
    always = "    p.when == 'always' || \\\n"
    return {
        **FILES,
        "invariants.csv": f"{invariants}\n# end\n".encode(),
        "own.csv": f"{rules}\n# end\n".encode(),
        "roles.csv": FILES["roles.csv"].replace(b"# end\n", f"{links}\n# end\n".encode()),
        "model.conf": FILES["model.conf"].replace(always.encode(), f"{always}{model}".encode()),
    }


def refused(*edited: str) -> list[str]:
    """Returns the findings that refuse the policy, as sentences; none if it is valid."""
    try:
        from_files(files(*edited), VOCABULARY)
    except Broken as error:
        assert all(finding.severity == "error" for finding in error.findings)
        return [str(finding) for finding in error.findings]
    return []


KEPT_AND_BROKEN = {
    "never a role": ("never, guest, *.create, except contact.create session.create",
                     "p, guest, category.view, always, allow", "p, guest, category.create, always, allow"),
    "never, by a pattern": ("never, guest, category.*, except category.view",
                            "p, editor, category.*, always, allow", "p, guest, category.*, always, allow"),
    "never on any condition": ("never, guest, order.*", "p, guest, order.view, anonymous, deny",
                               "p, guest, order.view, office_hours, allow"),
    "never, though a deny stands beside it": (
        "never, user, order.export", "p, user, order.export, own, allow\np, user, order.export, own, deny",
        "p, user, order.export, own, allow\np, user, order.export, same_department, deny"),
    "a condition that no object meets gives nothing": (
        "never, user, order.export", "p, user, order.export, published, allow",
        "p, user, order.export, approved, allow"),
    "what a guest may, a user may": ("never, user, stats.view", "p, support, stats.view, always, allow",
                                     "p, guest, stats.view, always, allow"),
    "only one role": ("only, owner, audit.view", "p, admin, audit.view, always, allow",
                      "p, manager, audit.view, always, allow"),
    "only these roles, on two lines": ("only, owner, policy.view\nonly, developer, policy.view",
                                       "p, developer, policy.view, always, allow",
                                       "p, support, policy.view, intranet, allow"),
    "only, but for some": ("only, owner, user.*, except user.view user.view_private user.update user.register",
                           "p, user, user.view, always, allow", "p, user, user.share, own, allow"),
    "only, of a person whom it lists": (f"only, owner, audit.view\nonly, {ANN}, audit.view",
                                        f"p, {ANN}, audit.view, always, allow", f"p, {BOB}, audit.view, always, allow"),
    "only, of a person's line that gives nothing": (
        "only, manager, order.export", f"p, {ANN}, order.export, own, deny", f"p, {ANN}, order.export, own, allow"),
    "at most": ("atmost, user, order.view, own\natmost, user, order.view, shared",
                "p, editor, order.view, always, allow", "p, user, order.view, same_department, allow"),
    "at most, on a part of the condition": (
        "atmost, user, article.update, own\natmost, user, article.update, shared", "p, user, article.update, own, deny",
        "p, user, article.update, published, allow"),
    "at most says nothing of a person": (
        "atmost, user, order.view, own\natmost, user, order.view, shared", f"p, {ANN}, order.view, always, allow",
        "p, guest, order.view, always, allow"),
    "always": ("always, admin, *, always", f"p, {ANN}, order.view, always, deny", "p, user, order.view, own, deny"),
    "always, on a condition": ("always, user, order.cancel, own", "p, user, order.view, always, deny",
                               "p, user, order.cancel, office_hours, deny"),
}


@pytest.mark.parametrize(("invariants", "kept", "breaking"), KEPT_AND_BROKEN.values(), ids=KEPT_AND_BROKEN)
def test_a_rule_that_breaks_an_invariant_is_refused_and_one_that_keeps_it_is_not(
    invariants: str, kept: str, breaking: str
) -> None:
    assert refused(invariants) == []
    assert refused(invariants, kept) == []
    found = refused(invariants, breaking)
    assert found and all("invariants.csv:1" in finding for finding in found)
    assert any(finding.startswith("own.csv:1: with this rule ") for finding in found)


def test_a_finding_names_both_lines_and_an_example() -> None:
    assert refused("atmost, user, article.update, own_draft\natmost, user, article.update, shared_draft",
                   "p, user, article.update, own, allow") == [
        "own.csv:1: with this rule user may article.update; invariants.csv:1, 2 (`atmost, user, article.update, "
        "own_draft`) forbids this; for example: owner_id is the caller's id, status is approved"]


def test_a_finding_says_through_which_roles_a_rule_is_inherited() -> None:
    [finding] = refused("never, editor, stats.view", "p, guest, stats.view, always, allow")
    assert finding.startswith("own.csv:1: with this rule editor may stats.view, by way of roles.csv:7, roles.csv:5; ")
    assert finding.endswith("; in every case")


def test_a_link_that_gives_many_permissions_is_the_guilty_line() -> None:
    [finding] = refused("never, developer, *.create, except article.create order.create comment.create token.create "
                        "session.create contact.create", "", "g, developer, owner")
    assert finding.startswith("roles.csv:17: with this rule developer may category.create (and 3 more like that); ")


def test_a_role_lent_to_a_person_is_the_guilty_line() -> None:
    """A condition may read the caller's role, so a lent role can give more than the role alone."""
    lent = ("p, editor, order.refund, lent, allow", f"g, {ANN}, editor",
            "    p.when == 'lent' && r.sub.role == 'user' || \\\n")
    listed = "only, support, order.refund\nonly, manager, order.refund"
    [finding] = refused(listed, *lent)
    assert finding.startswith(f"roles.csv:17: with this rule {ANN} as user may order.refund; invariants.csv:1, 2 ")
    assert refused(f"{listed}\nonly, editor, order.refund", *lent) == []


def test_a_person_is_tried_with_every_role_that_is_not_listed() -> None:
    [finding] = refused("only, moderator, comment.approve", f"p, {ANN}, comment.approve, writer, allow", "",
                        "    p.when == 'writer' && r.sub.role == 'editor' || \\\n")
    assert f"{ANN} as editor may comment.approve" in finding
    assert refused("only, moderator, comment.approve\nonly, editor, comment.approve",
                   f"p, {ANN}, comment.approve, writer, allow", "",
                   "    p.when == 'writer' && r.sub.role == 'editor' || \\\n") == []


OF_ANN = {
    "by id": ("r.sub.id == '{id}'", ""),
    "by key": ("r.sub.key == 'user:{id}'", ""),
    "by `g`": ("g(r.sub.key, 'user:{id}')", ""),
    "by a role that the person was lent": ("g(r.sub.key, 'support')", f"g, {ANN}, support"),
}


@pytest.mark.parametrize(("asks", "link"), OF_ANN.values(), ids=OF_ANN)
@pytest.mark.parametrize("elsewhere", ["", f"p, {ANN}, page.view, always, allow"])
def test_a_line_of_a_role_on_a_condition_that_names_a_person_is_judged_for_that_person(
    asks: str, link: str, elsewhere: str
) -> None:
    branch = f"    p.when == 'ann' && {asks.format(id=ANN.removeprefix('user:'))} || \\\n"
    for invariant, rule in (("only, owner, audit.view", "p, user, audit.view, ann, allow"),
                            ("never, user, order.export", "p, user, order.export, ann, allow"),
                            ("atmost, user, order.view, own", "p, user, order.view, ann, allow"),
                            ("always, admin, *, always", "p, admin, order.view, ann, deny")):
        if "support" in asks and not invariant.startswith("only"):
            continue  # a lent role does not belong to the user's own role
        if invariant.startswith("atmost"):
            invariant += "\natmost, user, order.view, shared"
        found = refused(invariant, f"{rule}\n{elsewhere}", link, branch)
        assert found and all(one.startswith("own.csv:1: with this rule ") and ANN in one for one in found), found


@pytest.mark.parametrize("elsewhere", ["", f"p, {ANN}, page.view, always, allow"])
def test_a_line_of_a_role_whose_parameter_names_a_person_is_judged_for_that_person(elsewhere: str) -> None:
    branch, word = "    p.when == 'by:' + r.sub.id || \\\n", f"by:{ANN.removeprefix('user:')}"
    [finding] = refused("never, user, order.export", f"p, user, order.export, {word}, allow\n{elsewhere}", "", branch)
    assert finding.startswith("own.csv:1: with this rule ") and ANN in finding


def test_what_one_person_may_never_do_holds_with_every_role() -> None:
    [finding] = refused(f"never, {ANN}, audit.view")
    assert finding.startswith(f"invariants.csv:1: {ANN} as admin may audit.view; ")
    assert f"`p, {ANN}, audit.view, always, deny` would deny it" in finding
    assert refused(f"never, {ANN}, audit.view", f"p, {ANN}, audit.view, always, deny") == []
    assert refused(f"never, {ANN}, audit.view", f"p, {ANN}, audit.view, office_hours, deny")


def test_findings_about_a_person_say_so_that_other_tenants_are_not_told() -> None:
    with pytest.raises(Broken) as error:
        from_files(files(f"only, owner, audit.view\nnever, {BOB}, order.refund",
                         f"p, {ANN}, audit.view, always, allow"), VOCABULARY)
    assert {finding.person for finding in error.value.findings} == {ANN, BOB}


@pytest.mark.parametrize(("line", "advice"), [
    ("p, guest, article.view, always, deny",
     "every role inherits guest: use the condition `anonymous` for guests only"),
    ("p, support, order.view, always, deny",
     "a deny is inherited: to take it from support alone, narrow or take out the rule that allows it"),
])
def test_a_deny_that_administrators_inherit_is_told_with_what_to_write_instead(line: str, advice: str) -> None:
    [finding] = refused("always, admin, *, always", line)
    assert finding.startswith("own.csv:1: with this rule admin may not ")
    assert finding.endswith(f"`always, admin, *, always`) promises otherwise; {advice}; in every case")
    [finding] = refused("always, admin, *, always", "p, admin, article.view, always, deny")
    assert finding.endswith("promises otherwise; in every case")


def test_what_no_line_gives_is_told_at_the_line_that_promises_it() -> None:
    [finding] = refused("# first\nalways, support, order.ship, own")
    assert finding.startswith("invariants.csv:2: support may not order.ship: no rule gives it; ")


@pytest.mark.parametrize(("old", "new", "guilty"), [
    ("p.when == 'always' ||", "p.when == 'always' && r.env.hour > 8 ||", "p.when == 'always'"),
    ("globMatch(r.act, p.act) && (", "globMatch(r.act, p.act) && ipMatch(r.env.ip, '10.0.0.0/8') && (", "m = "),
    ("globMatch(r.act, p.act) && (", "globMatch(r.act, p.act) && r.act != 'user.update' && (", "m = "),
])
def test_a_matcher_that_asks_more_of_every_line_breaks_what_is_promised(old: str, new: str, guilty: str) -> None:
    text = FILES["model.conf"].decode().replace(old, new)
    number = next(number for number, row in enumerate(text.splitlines(), 1) if guilty in row)
    with pytest.raises(Broken) as broken:
        from_files({**files("always, admin, *, always"), "model.conf": text.encode()}, VOCABULARY)
    (finding,) = map(str, broken.value.findings)
    assert finding.startswith(f"model.conf:{number}: admin may not ")
    assert "though admin.csv:12 gives it on `always`: the matcher has a further condition; invariants.csv:1 " in finding


def test_a_broad_edit_is_summed_up() -> None:
    found = refused("never, guest, *, except " + " ".join(
        ["session.create", "user.register", "contact.create", "health.view", "*.view"]),
        "p, guest, *, always, allow")
    assert len(found) == 1 and " more like that)" in found[0]
    many = "\n".join(f"p, guest, {permission}, always, allow" for permission in sorted(VOCABULARY.by_permission))
    found = refused("never, guest, *", many)
    assert len(found) == MOST_FINDINGS + 1
    assert "more rules than are named" in found[0]


def in_turn(causes: dict[Breach, tuple[Rule | RoleLink | None, ...]]) -> list[tuple[object, list[Breach]]]:
    """Computes the result of `mending` by a new count for each cause."""
    guilty, left = [], list(causes)
    while left:
        count: dict[Rule | RoleLink | None, list[Breach]] = {}
        for breach in left:
            for cause in causes[breach]:
                count.setdefault(cause, []).append(breach)
        best = max(count, key=lambda cause: (len(count[cause]), isinstance(cause, Rule)))
        guilty.append((best, count[best]))
        left = [breach for breach in left if breach not in count[best]]
    return guilty


def breaches(count: int) -> list[Breach]:
    return [Breach((), Subject("user"), f"article.{number}", None) for number in range(count)]


def test_the_causes_of_most_breaches_come_first_and_explain_all() -> None:
    for seed in range(100):
        chance = random.Random(seed)
        rules = [Rule("a.csv", number, "user", "article.view", "always", "allow") for number in range(5)]
        links = [RoleLink("roles.csv", number, "editor", "user") for number in range(3)]
        causes = {breach: tuple(chance.sample([*rules, *links], chance.randrange(1, 4))) if chance.random() < 0.9
                  else (None,) for breach in breaches(chance.randrange(30))}
        assert mending(causes) == in_turn(causes), seed


def test_thousands_of_guilty_lines_are_put_in_order_by_looking_at_each_a_few_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    popped: list[object] = []
    monkeypatch.setattr(report, "heappop", lambda heap: popped.append(heap) or heappop(heap))
    rules = [Rule("a.csv", number, "user", "article.view", "always", "allow") for number in range(2001)]
    assert len(mending({breach: rules[number:number + 2] for number, breach in enumerate(breaches(2000))})) == 1000
    assert len(popped) < 3 * len(rules)


def test_an_invariant_that_cannot_be_proved_counts_as_broken() -> None:
    policy = from_files(files("# none", "p, user, order.refund, same_department, allow"), VOCABULARY)
    invariants = lines_of(from_files(files("atmost, user, order.refund, own"), VOCABULARY))
    assert [str(one) for one in broken(policy, invariants, most=0)] == [
        "invariants.csv:1: `atmost, user, order.refund, own` cannot be proved for user and order.refund: simplify the "
        "conditions of the rules that give it"]


def test_invariants_are_part_of_the_version_and_no_rules() -> None:
    with_them, without = from_files(WITH_INVARIANTS, VOCABULARY), from_files(FILES, VOCABULARY)
    assert without.rules == with_them.rules
    assert without.version != with_them.version == digest(WITH_INVARIANTS)


FORM = {
    "a rule": ("p, guest, order.view, always, allow", "begins with never, only, atmost or always"),
    "another word": ("nevr, guest, order.view", "did you mean never?"),
    "too few columns": ("never, guest", "takes who and permission"),
    "a condition after never": ("never, guest, order.view, own", "takes who and permission"),
    "an empty exception": ("never, guest, order.view, except", "takes who and permission"),
    "no condition": ("atmost, user, order.view", "takes 3 columns"),
    "an exception after always": ("always, user, order.view, except order.update", "is no condition"),
    "a role that is none": ("only, ownr, order.view", "is neither a role nor user:<id>"),
    "a person without an id": ("never, user:ann, order.view", "is neither a role nor user:<id>"),
    "at most of a person": (f"atmost, {ANN}, order.view, own", "is about a role"),
    "a permission that is none": ("never, guest, order.veiw", "did you mean order.view?"),
    "an exception that is none": ("never, guest, order.*, except order.veiw", "is no permission"),
    "two stars": ("never, guest, order.**", "is no permission"),
    "a condition that is none": ("atmost, user, order.view, mine", "`mine` is no condition"),
    "a column that is not there": ("atmost, user, category.update, own_draft", "category has no column status"),
    "quotes": ('never, guest, "order.view"', "quotes become part of the value"),
    "a comment behind": ("never, guest, order.view # why", "write comments on lines of their own"),
}


@pytest.mark.parametrize(("line", "words"), FORM.values(), ids=FORM)
def test_a_line_that_cannot_be_meant_is_an_error_at_its_place(line: str, words: str) -> None:
    with pytest.raises(PolicyError) as error:
        from_files(files(f"# first\n{line}"), VOCABULARY)
    assert not isinstance(error.value, Broken)
    assert {(finding.file, finding.line) for finding in error.value.findings} == {("invariants.csv", 2)}
    assert any(words in finding.message for finding in error.value.findings)


def test_a_file_that_was_cut_short_is_refused() -> None:
    with pytest.raises(PolicyError, match="the last line must be the comment"):
        from_files({**FILES, "invariants.csv": b"never, guest, stats.view\n"}, VOCABULARY)


def test_a_pattern_that_waits_for_a_plugin_is_a_warning() -> None:
    policy = from_files(files("never, guest, note.*\nnever, guest, order.refund, except preorder.*\n"
                              "always, admin, *, always"), VOCABULARY)
    found = [finding for finding in warnings(policy) if finding.file == "invariants.csv"]
    assert [(finding.line, finding.severity) for finding in found] == [(1, "warning"), (2, "warning")]


def test_a_scope_is_never_of_the_file_s_name() -> None:
    with pytest.raises(PolicyError, match="invariants is unknown"):
        from_files(files("# none", "p2, read:invariants, article.view"), VOCABULARY)
