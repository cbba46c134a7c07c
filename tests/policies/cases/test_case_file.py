"""A strict reader of case files: it reports each mistake at its own line, with the correction."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies import SHIPPED, PolicyError
from policies.cases.case_file import read_suite
from policies.wording.finding import Finding
from tests.policies.cases.test_cases import HEAD
from tests.policies.shipped_vocabulary import ROLES, VOCABULARY

SCOPES = ("read:articles", "write:articles", "read:pages")


def told(text: str) -> list[Finding]:
    """Returns the errors and warnings of a file."""
    try:
        return list(read_suite(text, "tests.yaml", VOCABULARY, SCOPES).warnings)
    except PolicyError as error:
        return error.findings


# Words

CASE = "cases: [{name: a case, who: bob, what: a draft, may: []}]"
SLIPS = [
    ("principal: {}", 14, "the file knows no 'principal'; did you mean principals?"),
    ("cases: [{name: n, who: bob, what: a draft, may: [], why: x}]", 14, "a case knows no 'why'"),
    ("cases: [{name: n, who: bobb, what: a draft, may: []}]", 14, "there is no principal 'bobb'; did you mean bob?"),
    ("cases: [{name: n, who: bob, what: draft, may: []}]", 14, "there is no object or resource 'draft'"),
    ("cases: [{name: n, who: bob, what: a draft, may: [article.veiw]}]", 14,
     "'article.veiw' is no permission of this case's objects; did you mean article.view?"),
    ("cases: [{name: n, who: bob, what: a draft, may: [page.view]}]", 14, "'page.view' is no permission"),
    ("cases: [{name: n, who: bob, what: a draft, may: {eve: []}}]", 14, "may knows no 'eve'"),
    ("cases: [{name: n, who: bob, what: a draft, may: {bob: [], a draft: []}}]", 14, "not both"),
    ("cases: [{name: n, who: bob, what: a draft, may: [view]}]", 14, "did you mean article.view?"),
    ("cases: [{name: n, who: bob, what: a draft, may: [articles.view]}]", 14, "did you mean article.view?"),
    ("cases: [{name: n, who: bob, what: a draft, may: nothing}]", 14, "write [] for none"),
    ("cases: [{name: n, who: bob, what: a draft, may: }]", 14, "write [] for none"),
    ("cases: [{name: n, who: bob, ann, what: a draft, may: []}]", 14, "a list is written [one, two]"),
    ("cases:\n- name: n\n  who: ann, bob\n  what: a draft\n  may: []", 16, "a list is written [ann, bob]"),
    ("cases: [{name: n, who: bob, what: a draft}]", 14, "a case needs 'may'"),
    ("cases: [{who: bob, what: a draft, may: []}]", 14, "a case needs 'name'"),
    ("cases: [{name: n, who: [], what: a draft, may: []}]", 14, "who names nobody"),
    ("cases: []", 2, "the file has no cases"),
    ("cases: 7", 14, "cases must be a list"),
    ("cases: [7]", 14, "a case must be a mapping"),
    ("cases: [{name: n, who: bob, what: a draft, may: [], clock: noon}]", 14, "clock must be a time"),
    (f"clock: 0001-01-01T00:00:00+14:00\n{CASE}", 14, "clock must be a time such as"),
    (f"clock: 9999-12-31T23:00:00-12:00\n{CASE}", 14, "clock must be a time such as"),
    ("cases: [{name: n, who: bob, what: a draft, may: [], env: {hour: 8}}]", 14, "env knows no 'hour'"),
    (f"{CASE}\n{CASE}", 15, "'cases' appears twice"),
    (f"{CASE}\nclock: [", 16, "not YAML"),
]


some = settings(max_examples=60)


@pytest.mark.parametrize(("tail", "line", "message"), SLIPS, ids=[message for _, _, message in SLIPS])
def test_a_slip_is_a_finding_with_its_line(tail: str, line: int, message: str) -> None:
    with pytest.raises(PolicyError) as caught:
        read_suite(f"{HEAD}{tail}\n", "tests.yaml", VOCABULARY)
    assert [(one.file, one.line) for one in caught.value.findings if message in one.message] == [("tests.yaml", line)]


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("principals: {ann: {role: usr}}", "there is no role 'usr'; did you mean user?"),
        ("principals: {ann: {department: news}}", "principal 'ann' needs a role"),
        ("principals: {ann: {role: user, kind: robot}}", "there is no kind 'robot'"),
        ("principals: {ann: {role: user, rank: high}}", "principal 'ann' knows no 'rank'"),
        ("objects: {artikel: {one: {}}}", "there is no resource 'artikel'; did you mean article?"),
        ("objects: {article: {one: {stauts: draft}}}", "object 'one' knows no 'stauts'; did you mean status?"),
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
        read_suite(head, "tests.yaml", VOCABULARY, roles=ROLES)
    assert [one for one in caught.value.findings if message in one.message]


@some
@given(st.text(max_size=80) | st.binary(max_size=80).map(lambda raw: raw.decode("latin-1")))
def test_any_text_is_read_or_refused_with_findings(text: str) -> None:
    try:
        suite = read_suite(text, "tests.yaml", VOCABULARY)
    except PolicyError as error:
        assert error.findings
    else:
        assert suite.cases


@some
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


def test_an_object_of_a_plugin_that_is_not_installed_is_told_once_where_it_stands() -> None:
    text = HEAD.replace("  page:", "  note:\n    a note: {owner_id: ann}\n  page:")
    case = "{name: n, who: bob, what: [a note, a page], may: {a note: [note.view], a page: [page.view]}}"
    errors = [one for one in told(f"{text}cases: [{case}]\n") if one.severity == "error"]
    assert [(one.line, one.message) for one in errors] == [
        (12, "there is no resource 'note'; is the plugin that has it installed?")]


def test_a_value_that_names_itself_over_and_over_is_refused_and_not_written_out() -> None:
    bomb = "\n".join(f"  - &x{n} [{', '.join([f'*x{n - 1}'] * 10)}]" for n in range(1, 30))
    found = told(f"cases:\n  - &x0 [a, b]\n{bomb}\nobjects:\n  article: {{one: {{status: *x29}}}}\n")
    assert [one.message.partition(" stand")[0] for one in found] == ["the aliases (*name) of the file"]


# YAML

BLOCK = f"""{HEAD}cases:
  - name: one
    who: bob
    what: a draft
    may: []
"""
NEXT = len(BLOCK.splitlines()) + 1
BROKEN = [
    ("\t- name: two", 0, "a tab is used where YAML requires blanks"),
    ("  - name: two: three", 0, "put a text with a colon and a blank in quotes"),
    ("  - name: two\n     who: bob", 1, "begin the lines of one mapping below each other"),
    ("  - name: two\n   who: bob", 1, "check how far it is indented"),
    ("  - name: 'ann's draft'", 0, "put a text that contains a quote in double quotes"),
    ("  - name: 'two\n    who: bob", 0, "the quote that begins here is not closed"),
    ("  - name: two\n    who: [ann, bob\n    what: a draft", 1, "the list that begins here is not closed"),
    ("  - {name: two, who: bob\n  - name: three", 0, "the mapping that begins here is not closed"),
    ("  - name: two\n    who bob\n    what: a draft", 1, "this line is no `name: value`"),
    ("  - name: two\n    may: [*.view]", 1, "must be in quotes, such as '*.view'"),
    ("  - name: two\n    may: *", 1, "must be in quotes, such as '*.view'"),
    ("  - name: @two", 0, "a word that begins with @, % or ` must be in quotes"),
    ("---\ncases: []", 0, "`---` begins a second document"),
    ("  - name: \x07", 0, "this line holds the character U+0007"),
]


@pytest.mark.parametrize(("tail", "below", "message"), BROKEN, ids=[message for _, _, message in BROKEN])
def test_what_is_no_yaml_is_told_at_the_line_where_it_goes_wrong(tail: str, below: int, message: str) -> None:
    [finding] = told(f"{BLOCK}{tail}\n")
    assert (finding.line, finding.severity) == (NEXT + below, "error")
    assert finding.message.startswith("not YAML: ") and message in finding.message


# Valid cases that test nothing

ALL = "{name: n, who: [visitor, ann, bob, eve, robot], what: [a draft, a published one, a page], may: {}}"
WHOLE = f"{HEAD}cases: [{ALL}]\n"
IDLE = [
    ("  bob: {role: user}", "  bob: {role: user}\n  zoe: {role: user}", 6, "no case asks about the principal 'zoe'"),
    ("    a draft: {", "    another: {status: draft}\n    a draft: {", 10, "no case asks about the object 'another'"),
    ("  page:", "  order: {}\n  page:", 12, "no case asks about an object of order"),
    ("  page:", "  order:\n    an order: {}\n  page:", 12, "no case asks about an object of order"),
    (f"[{ALL}]", f"[{ALL},\n  {ALL}]", 15, "the case at line 14 has the same name, 'n'"),
    ("cases:", "clock: 2026-11-18\ncases:", 14, "this is midnight; write the time, too"),
    ("cases:", "env: {ip: 10.1.2}\ncases:", 14, "'10.1.2' is no address"),
    ("cases:", "env: {ip: 10.0.0.0/8}\ncases:", 14, "'10.0.0.0/8' is no address"),
    ("cases:", "env: {device: moble}\ncases:", 14, "there is no device 'moble'; known are desktop"),
    ("cases:", "env: {method: get}\ncases:", 14, "there is no method 'get'; known are GET"),
    ("cases:", "env: {request: reading}\ncases:", 14, "there is no request 'reading'; known are read, write"),
    ("read:articles", "read:article", 7, "the rules have no scope 'read:article'; did you mean read:articles?"),
    (', scopes: ["read:articles"]', "", 7, "without scopes a service is its owner"),
    ("kind: service, ", "", 7, "only a service has scopes; write kind: service"),
    ("{role: guest}", "{role: guest, department: news}", 3, "a guest has no department"),
    ("{role: guest}", "{role: guest, kind: user}", 3, "no caller of the kind user with the role guest"),
    ("{owner_id: ann, status: draft}", '{shares: {"user:bbo": read}}', 10, "no principal is user:bbo"),
    ("{owner_id: ann, status: draft}", '{shares: {"group:sales": read}}', 10, "no principal is group:sales"),
    ("{owner_id: ann, status: draft}", '{shares: {"role:guest": read}}', 10, "no principal is role:guest"),
]


def test_cases_that_use_all_that_they_declare_give_no_warning() -> None:
    assert told(WHOLE) == []
    assert read_suite((SHIPPED / "tests.yaml").read_text(), "tests.yaml", VOCABULARY).warnings == ()


@pytest.mark.parametrize(("old", "new", "line", "message"), IDLE, ids=[message for *_, message in IDLE])
def test_what_tests_nothing_is_a_warning_at_its_line(old: str, new: str, line: int, message: str) -> None:
    assert old in WHOLE
    [finding] = told(WHOLE.replace(old, new, 1))
    assert (finding.line, finding.severity) == (line, "warning")
    assert message in finding.message


def test_a_clock_may_have_no_zone_and_a_scope_is_not_judged_where_the_rules_are_not_known() -> None:
    text = WHOLE.replace("cases:", "clock: 2026-11-18 17:59\ncases:").replace("read:articles", "read:letters")
    assert read_suite(text, "tests.yaml", VOCABULARY).warnings == ()
