"""Cases: the meaning of a case file, its failures, and the rules that it reaches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from policies import SHIPPED, Policy, load
from policies.cases.case_file import failures, read_suite
from policies.cases.cases import Coverage, Suite, run
from policies.evaluation.rights import RIGHTS
from tests.policies.editing import add_line, remove_line, shipped_copy
from tests.policies.editing import replace as change
from tests.policies.shipped_vocabulary import VOCABULARY

HEAD = """
principals:
  visitor: {role: guest}
  ann: {role: user, department: news, groups: [writers]}
  bob: {role: user}
  eve: {role: editor}
  robot: {role: editor, kind: service, scopes: ["read:articles"]}
objects:
  article:
    a draft: {owner_id: ann, status: draft}
    a published one: {owner_id: ann, status: published}
  page:
    a page: {status: published}
"""
OWN_DRAFT = ("[article.view, article.view_private, article.create, article.update, article.delete, article.submit, "
             "article.share]")


@pytest.fixture(scope="module")
def shipped() -> Policy:
    return load(SHIPPED, VOCABULARY)


def suite_of(*cases: str, head: str = HEAD) -> Suite:
    listed = "".join(f"  - {{name: a case, {case}}}\n" for case in cases)
    return read_suite(f"{head}cases:\n{listed}", "cases", VOCABULARY)


# What a case means


@pytest.mark.parametrize(
    "case",
    [
        "who: visitor, what: a published one, may: [article.view]",
        "who: [visitor, bob], what: a published one, may: [article.view]",
        "who: [visitor, bob], what: [a published one, a page], may: [article.view, page.view]",
        "who: [visitor, bob], what: [a published one, a page], may: ['*.view']",
        f"who: [visitor, ann], what: a draft, may: {{ann: {OWN_DRAFT}}}",
        "who: [visitor, bob], what: [a draft, a published one], may: {a published one: [article.view]}",
        "who: [visitor, bob, eve], what: a published one, may: {eve: [article.*], others: [article.view]}",
        "who: robot, what: a draft, may: [article.view, article.view_private, article.export]",
        "who: visitor, what: session, may: [session.create]",
        "who: bob, what: a draft, may: []",
    ],
)
def test_a_case_that_says_what_the_policy_grants_passes(shipped: Policy, case: str) -> None:
    assert run(shipped, suite_of(case)).failures == []


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (
            "who: visitor, what: a draft, may: [article.view]",
            "a case: visitor may not article.view on 'a draft', and should: articles.csv:4 needs published",
        ),
        (
            "who: visitor, what: a published one, may: []",
            "a case: visitor may article.view on 'a published one', and should not: "
            "articles.csv:4 allows it (published)",
        ),
        ("who: visitor, what: session, may: []", "a case: visitor may session.create, and should not: "
         "session.csv:4 allows it (always)"),
        ("who: ann, what: a draft, may: [article.*]",
         "a case: ann may not article.publish on 'a draft', and should: no rule gives it to user"),
        ("who: robot, what: a draft, may: [article.view, article.view_private]",
         "a case: robot may article.export on 'a draft', and should not: articles.csv:18 allows it (always)"),
        ("who: robot, what: a draft, may: [article.view, article.view_private, article.export, article.create]",
         "a case: robot may not article.create on 'a draft', and should: the scopes of robot do not cover it"),
    ],
)
def test_a_wrong_answer_is_a_finding_at_the_line_of_its_case(
    shipped: Policy, case: str, message: str
) -> None:
    report = run(shipped, suite_of("who: bob, what: a draft, may: []", case))
    assert ("cases", 16, message) in [(one.file, one.line, one.message) for one in report.findings]
    assert {one.line for one in report.findings if one.severity == "error"} == {16}


@pytest.mark.parametrize(
    ("line", "case", "decided_by", "nearest"),
    [
        # Two rules give it: the message names the one that lacks the fewest facts.
        ("p, user, article.archive, own_pending, allow\np, user, article.archive, own, allow",
         "who: bob, what: a draft, may: [article.archive]", None, "own"),
        ("p, user, article.view, always, deny", "who: ann, what: a draft, may: [article.view]", "deny", None),
        ("p, user, article.archive, always, allow", "who: ann, what: a draft, may: [article.view]", "allow", None),
        # Rules of the own role come before inherited ones.
        ("p, guest, article.archive, always, allow\np, user, article.archive, own_draft, allow",
         "who: ann, what: a draft, may: []", "user", None),
    ],
)
def test_a_wrong_answer_names_the_line_that_decided_or_came_nearest(
    line: str, case: str, decided_by: str | None, nearest: str | None, tmp_path: Path
) -> None:
    directory = shipped_copy(tmp_path / "policies")
    add_line(directory / "articles.csv", line)
    found = run(load(directory, VOCABULARY), suite_of(case)).failures
    asked = "article.archive" if "article.archive" in line else "article.view"
    [failure] = [one for one in found if one.question.permission == asked]
    decided, near = failure.decided_by, failure.nearest
    assert decided_by is None if decided is None else decided_by in (decided.sub, decided.eft)
    assert nearest == (near.when if near is not None else None)
    assert failure.reason.startswith((decided or near).place)  # type: ignore[union-attr]


def test_every_permission_of_the_resource_is_asked(shipped: Policy) -> None:
    report = run(shipped, suite_of("who: [visitor, bob], what: a draft, may: []"))
    assert (len(report.suite.cases), report.questions) == (1, 2 * len(VOCABULARY.resources["article"].permissions))


@pytest.mark.parametrize("right", RIGHTS)
@pytest.mark.parametrize("grantee", ["user:bob", "group:writers", "role:user"])
def test_a_share_gives_the_permissions_of_its_right(shipped: Policy, right: str, grantee: str) -> None:
    head = f"""
principals: {{bob: {{role: user, groups: [writers]}}}}
objects: {{product: {{theirs: {{owner_id: ann, status: draft, shares: {{"{grantee}": {right}}}}}}}}}
"""
    granted = ", ".join(f"product.{verb}" for verb in RIGHTS[right])
    assert run(shipped, suite_of(f"who: bob, what: theirs, may: [{granted}]", head=head)).failures == []


@pytest.mark.parametrize(("grantee", "granted"), [("role:support", True), ("role:user", True), ("role:editor", False)])
def test_a_share_with_a_role_is_one_with_those_that_inherit_it_as_in_the_service(
    shipped: Policy, grantee: str, granted: bool
) -> None:
    head = f"""
principals: {{sue: {{role: support}}}}
objects: {{product: {{theirs: {{status: draft, shares: {{"{grantee}": read}}}}}}}}
"""
    suite = suite_of(f"who: sue, what: theirs, may: [{'product.view' if granted else ''}]", head=head)
    assert run(shipped, suite).failures == []


def test_a_guest_is_no_grantee(shipped: Policy) -> None:
    head = """
principals: {visitor: {role: guest}}
objects: {product: {theirs: {status: draft, shares: {"role:guest": manage}}}}
"""
    assert run(shipped, suite_of("who: visitor, what: theirs, may: []", head=head)).failures == []


@pytest.mark.parametrize(
    ("circumstances", "granted"),
    [
        ("clock: 2026-11-18T08:00:00Z", True),
        ("clock: 2026-11-18 17:59", True),
        ("clock: 2026-11-18T18:00:00Z", False),
        ("clock: 2026-11-21T10:00:00Z", False),
    ],
)
def test_the_clock_of_a_case_is_what_conditions_see(
    circumstances: str, granted: bool, tmp_path: Path
) -> None:
    directory = shipped_copy(tmp_path / "policies")
    add_line(directory / "admin.csv", "p, user, stats.view, office_hours, allow")
    may = "[stats.view]" if granted else "[]"
    suite = suite_of(f"who: bob, what: stats, may: {may}, {circumstances}")
    assert run(load(directory, VOCABULARY), suite).failures == []


@pytest.mark.parametrize(("ip", "granted"), [
    ("10.1.2.3", True), ("11.1.2.3", False), ("'10.1.2.3:443'", True), ("'[::ffff:10.1.2.3]'", True)])
def test_the_circumstances_of_a_case_are_what_conditions_see(ip: str, granted: bool, tmp_path: Path) -> None:
    directory = shipped_copy(tmp_path / "policies")
    add_line(directory / "admin.csv", "p, user, stats.view, intranet, allow")
    may = "[stats.view]" if granted else "[]"
    suite = suite_of(f"who: bob, what: stats, may: {may}, env: {{ip: {ip}}}")
    assert run(load(directory, VOCABULARY), suite).failures == []


# Coverage


def covered(policy: Policy, suite: Suite) -> Coverage:
    coverage = Coverage(policy)
    run(policy, suite, coverage)
    return coverage


def test_a_new_object_has_what_the_service_gives_it_and_only_when_it_is_made(tmp_path: Path) -> None:
    article = replace(VOCABULARY.resources["article"], defaults={"version": 1, "status": "draft"})
    vocabulary = replace(VOCABULARY, resources={**VOCABULARY.resources, "article": article})
    folder = shipped_copy(tmp_path / "policies")
    change(folder / "model.conf", "    p.when == 'own' &&", "    p.when == 'fresh' && r.obj.status == 'draft' && "
           "r.obj.version == 1 && r.obj.created_at == r.env.now || \\\n    p.when == 'own' &&")
    for permission in ("article.create", "article.export", "article.import"):
        add_line(folder / "articles.csv", f"p, guest, {permission}, fresh, allow")
    head = HEAD.replace("  page:", "    a plain one: {title: T}\n    one in review: {status: in_review}\n  page:")
    suite = read_suite(f"{head}cases:\n  - {{name: new, who: visitor, what: [a plain one, a draft, one in review], "
                       "may: {a plain one: [article.create], a draft: [article.create]}}\n", "cases", vocabulary)
    assert run(load(folder, vocabulary), suite).failures == []


def test_lines_that_no_case_reached_are_named(shipped: Policy) -> None:
    suite = suite_of(f"who: [visitor, ann], what: a draft, may: {{ann: {OWN_DRAFT}}}")
    missed = {(finding.file, finding.line) for finding in covered(shipped, suite).missed()}
    reached = {(rule.sub, rule.act, rule.when) for rule in shipped.rules if (rule.file, rule.line) not in missed}
    assert reached == {
        ("user", "article.create", "own"),
        ("user", "article.view", "own"),
        ("user", "article.view_private", "own"),
        ("user", "article.submit", "own"),
        ("user", "article.share", "own"),
        ("user", "article.update", "own_draft"),
        ("user", "article.delete", "own_draft"),
    }
    assert {finding.severity for finding in covered(shipped, suite).missed()} == {"warning"}


def test_a_role_is_reached_when_it_passed_something_on(shipped: Policy) -> None:
    suite = suite_of("who: [eve], what: a page, may: [page.*]")
    missed = {(finding.file, finding.line) for finding in covered(shipped, suite).missed()}
    links = {(link.name, link.inherits) for link in shipped.roles.links if (link.file, link.line) not in missed}
    assert links == {("editor", "user"), ("user", "guest")}


def test_a_scope_is_reached_by_what_it_covered(shipped: Policy) -> None:
    suite = suite_of("who: robot, what: a draft, may: [article.view, article.view_private, article.export]")
    missed = {(finding.file, finding.line) for finding in covered(shipped, suite).missed()}
    scopes = {(line.scope, line.act) for line in shipped.scopes if (line.file, line.line) not in missed}
    assert scopes == {("read:articles", "article.view"), ("read:articles", "article.view_private"),
                      ("read:articles", "article.export")}


# As the service uses them


@pytest.mark.parametrize(("case", "reached"), [
    ("who: visitor, what: stats, may: []", False),
    ("who: [visitor, bob], what: [stats, audit], may: []", False),
    ("who: [visitor, eve], what: article, may: {eve: [article.*]}", True),
    ("who: bob, what: a draft, may: []", True),  # a rule names it, with a condition that is false
    ("who: robot, what: page, may: []", True),  # nor do the scopes of the caller cover the permissions of its role
])
def test_a_case_that_no_rule_is_about_is_a_warning_at_its_line(shipped: Policy, case: str, reached: bool) -> None:
    suite = suite_of("who: visitor, what: a published one, may: [article.view]", case)
    found = [finding for finding in run(shipped, suite).findings if finding not in suite.warnings]
    assert [(finding.line, finding.severity) for finding in found] == ([] if reached else [
        (suite.cases[1].line, "warning")])
    assert all(finding.message.startswith("a case: no rule allows or denies anything") for finding in found)


def test_a_policy_that_breaks_its_own_cases_says_so(tmp_path: Path) -> None:
    directory = shipped_copy(tmp_path / "policies")
    (directory / "tests.yaml").write_text((SHIPPED / "tests.yaml").read_text())
    assert failures(load(directory, VOCABULARY), directory / "tests.yaml") == []
    remove_line(directory / "users.csv", "p, user, user.view, always, allow")
    found = failures(load(directory, VOCABULARY), directory / "tests.yaml")
    assert found
    assert all(finding.file == "tests.yaml" and "user.view" in finding.message for finding in found)


def test_a_file_that_cannot_be_read_is_a_finding(shipped: Policy, tmp_path: Path) -> None:
    assert "cannot be read" in failures(shipped, tmp_path / "absent.yaml")[0].message
    (tmp_path / "tests.yaml").write_bytes(b"\xff\xfe\x00")
    assert "cannot be read" in failures(shipped, tmp_path / "tests.yaml")[0].message
