"""Cases: what a file of cases means, that it fails when it should, and that a misspelt word is always reported."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies import SHIPPED, Policy, PolicyError, load
from policies.evaluation.rights import RIGHTS
from policies.tools.case_file import failures, read_suite
from policies.tools.cases import Suite, run, uncovered
from tests.policies.editing import add_line, remove_line, shipped_copy
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
            "a case: visitor may not article.view on 'a draft', and should",
        ),
        (
            "who: visitor, what: a published one, may: []",
            "a case: visitor may article.view on 'a published one', and should not",
        ),
        ("who: visitor, what: session, may: []", "a case: visitor may session.create, and should not"),
        ("who: robot, what: a draft, may: [article.view, article.view_private]",
         "a case: robot may article.export on 'a draft', and should not"),
    ],
)
def test_a_wrong_answer_is_a_finding_at_the_line_of_its_case(
    shipped: Policy, case: str, message: str
) -> None:
    report = run(shipped, suite_of("who: bob, what: a draft, may: []", case))
    assert [(one.file, one.line, one.message) for one in report.failures] == [("cases", 16, message)]


def test_every_permission_of_the_resource_is_asked(shipped: Policy) -> None:
    report = run(shipped, suite_of("who: [visitor, bob], what: a draft, may: []"))
    assert (report.cases, report.asked) == (1, 2 * len(VOCABULARY.resources["article"].permissions))


@pytest.mark.parametrize("right", RIGHTS)
@pytest.mark.parametrize("grantee", ["user:bob", "group:writers", "role:user"])
def test_a_share_gives_the_permissions_of_its_right(shipped: Policy, right: str, grantee: str) -> None:
    head = f"""
principals: {{bob: {{role: user, groups: [writers]}}}}
objects: {{product: {{theirs: {{owner_id: ann, status: draft, shares: {{"{grantee}": {right}}}}}}}}}
"""
    granted = ", ".join(f"product.{verb}" for verb in RIGHTS[right])
    assert run(shipped, suite_of(f"who: bob, what: theirs, may: [{granted}]", head=head)).failures == []


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


@pytest.mark.parametrize(("ip", "granted"), [("10.1.2.3", True), ("11.1.2.3", False)])
def test_the_circumstances_of_a_case_are_what_conditions_see(ip: str, granted: bool, tmp_path: Path) -> None:
    directory = shipped_copy(tmp_path / "policies")
    add_line(directory / "admin.csv", "p, user, stats.view, intranet, allow")
    may = "[stats.view]" if granted else "[]"
    suite = suite_of(f"who: bob, what: stats, may: {may}, env: {{ip: {ip}}}")
    assert run(load(directory, VOCABULARY), suite).failures == []


# Coverage


def test_lines_that_no_case_reached_are_named(shipped: Policy) -> None:
    suite = suite_of(f"who: [visitor, ann], what: a draft, may: {{ann: {OWN_DRAFT}}}")
    missed = {(finding.file, finding.line) for finding in uncovered(shipped, suite)}
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
    assert {finding.severity for finding in uncovered(shipped, suite)} == {"warning"}


def test_a_role_is_reached_when_it_passed_something_on(shipped: Policy) -> None:
    suite = suite_of("who: [eve], what: a page, may: [page.*]")
    missed = {(finding.file, finding.line) for finding in uncovered(shipped, suite)}
    links = {(link.name, link.inherits) for link in shipped.roles.links if (link.file, link.line) not in missed}
    assert links == {("editor", "user"), ("user", "guest")}


def test_a_scope_is_reached_by_what_it_covered(shipped: Policy) -> None:
    suite = suite_of("who: robot, what: a draft, may: [article.view, article.view_private, article.export]")
    missed = {(finding.file, finding.line) for finding in uncovered(shipped, suite)}
    scopes = {(line.scope, line.act) for line in shipped.scopes if (line.file, line.line) not in missed}
    assert scopes == {("read:articles", "article.view"), ("read:articles", "article.view_private"),
                      ("read:articles", "article.export")}


# Strictness

CASE = "cases: [{name: a case, who: bob, what: a draft, may: []}]"
SLIPS = [
    ("principal: {}", 14, "the file knows no 'principal'; did you mean 'principals'?"),
    ("cases: [{name: n, who: bob, what: a draft, may: [], why: x}]", 14, "a case knows no 'why'"),
    ("cases: [{name: n, who: bbo, what: a draft, may: []}]", 14, "there is no principal 'bbo'; did you mean 'bob'?"),
    ("cases: [{name: n, who: bob, what: draft, may: []}]", 14, "there is no object or resource 'draft'"),
    ("cases: [{name: n, who: bob, what: a draft, may: [article.veiw]}]", 14,
     "'article.veiw' is no permission of this case's objects; did you mean 'article.view'?"),
    ("cases: [{name: n, who: bob, what: a draft, may: [page.view]}]", 14, "'page.view' is no permission"),
    ("cases: [{name: n, who: bob, what: a draft, may: {eve: []}}]", 14, "may knows no 'eve'"),
    ("cases: [{name: n, who: bob, what: a draft, may: {bob: [], a draft: []}}]", 14, "not both"),
    ("cases: [{name: n, who: bob, what: a draft}]", 14, "a case needs 'may'"),
    ("cases: [{who: bob, what: a draft, may: []}]", 14, "a case needs 'name'"),
    ("cases: [{name: n, who: [], what: a draft, may: []}]", 14, "who names nobody"),
    ("cases: []", 2, "the file has no cases"),
    ("cases: 7", 14, "cases must be a list"),
    ("cases: [7]", 14, "a case must be a mapping"),
    ("cases: [{name: n, who: bob, what: a draft, may: [], clock: noon}]", 14, "clock must be a time"),
    ("cases: [{name: n, who: bob, what: a draft, may: [], env: {hour: 8}}]", 14, "env knows no 'hour'"),
    (f"{CASE}\n{CASE}", 15, "'cases' stands twice"),
    (f"{CASE}\nclock: [", 16, "not YAML"),
]


@pytest.mark.parametrize(("tail", "line", "message"), SLIPS, ids=[message for _, _, message in SLIPS])
def test_a_slip_is_a_finding_with_its_line(tail: str, line: int, message: str) -> None:
    with pytest.raises(PolicyError) as caught:
        read_suite(f"{HEAD}{tail}\n", "tests.yaml", VOCABULARY)
    assert [(one.file, one.line) for one in caught.value.findings if message in one.message] == [("tests.yaml", line)]


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("principals: {ann: {role: usr}}", "there is no role 'usr'; did you mean 'user'?"),
        ("principals: {ann: {department: news}}", "principal 'ann' needs a role"),
        ("principals: {ann: {role: user, kind: robot}}", "there is no kind 'robot'"),
        ("principals: {ann: {role: user, rank: high}}", "principal 'ann' knows no 'rank'"),
        ("objects: {artikel: {one: {}}}", "there is no resource 'artikel'; did you mean 'article'?"),
        ("objects: {article: {one: {stauts: draft}}}", "object 'one' knows no 'stauts'; did you mean 'status'?"),
        ("objects: {article: {one: {status: 7}}}", "article.status holds text"),
        ("objects: {product: {one: {stock: many}}}", "product.stock holds a whole number"),
        ("objects: {product: {one: {stock: true}}}", "product.stock holds a whole number"),
        ("objects: {article: {one: {}}, page: {one: {}}}", "two objects are called 'one'"),
        ("objects: {article: {one: {shares: {bob: read}}}}", "'bob' must be user:<id>"),
        ('objects: {article: {one: {shares: {"user:bob": own}}}}', "there is no right 'own'"),
    ],
)
def test_a_slip_among_principals_and_objects_is_a_finding(head: str, message: str) -> None:
    with pytest.raises(PolicyError) as caught:
        read_suite(head, "tests.yaml", VOCABULARY)
    assert [one for one in caught.value.findings if message in one.message]


@given(st.text(max_size=80) | st.binary(max_size=80).map(lambda raw: raw.decode("latin-1")))
def test_any_text_is_read_or_refused_with_findings(text: str) -> None:
    try:
        suite = read_suite(text, "tests.yaml", VOCABULARY)
    except PolicyError as error:
        assert error.findings
    else:
        assert suite.cases


@given(st.data())
def test_a_cut_or_changed_file_is_read_or_refused_with_findings(data: st.DataObject) -> None:
    whole = HEAD + CASE
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    patch = data.draw(st.sampled_from(["", "{", "]", ": ", "&a ", "*a", "\t", "!!python/none x"]))
    text = whole[:start] + patch + whole[end:]
    try:
        read_suite(text, "tests.yaml", VOCABULARY)
    except PolicyError as error:
        assert error.findings


def test_a_deeply_nested_file_is_a_finding() -> None:
    with pytest.raises(PolicyError, match="nested too deeply"):
        read_suite("[" * 100_000, "tests.yaml", VOCABULARY)


def test_a_file_makes_no_python_objects() -> None:
    with pytest.raises(PolicyError):
        read_suite("clock: !!python/object/apply:os.getcwd []\n" + CASE, "tests.yaml", VOCABULARY)


# As the service uses them


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
