"""tests.yaml, written by YAML's grammar: whatever stands where, it is read, or refused at a line of the file."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policies import PolicyError
from policies.cases.case_file import MOST_ASKED, read_suite
from policies.cases.case_run import run
from policies.loading.loader import from_files
from tests.policies.generated import FILES
from tests.policies.shipped_vocabulary import ROLES, VOCABULARY

many = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
HEAD = """principals: {ann: {role: user}, bob: {role: editor, kind: user, groups: [press]}}
objects: {article: {a draft: {status: draft, owner_id: ann}}, product: {a desk: {stock: 5}}}
"""
CASE = "cases: [{name: a case, who: ann, what: a draft, may: [article.view]}]\n"

WORDS = st.sampled_from(["principals", "objects", "cases", "clock", "env", "name", "who", "what", "may", "role", "user",
                         "others", "article", "product", "a draft", "ann", "article.view", "status", "stock", "shares",
                         "scopes", "groups", "kind", "device", "ip", "<<", "=", "~", "no", "x"])
VALUES = st.sampled_from(["5", "-0", "0x1F", "0b1", "017", "1_000", "1:30", "1:30.5", "1e5", ".inf", "-.INF", ".nan",
                          "yes", "null", "2026-11-18", "2026-99-99", "2026-11-18T10:30:00Z", "2026-11-18 25:00:00",
                          "0o7", "+", "09", "1" * 5000, "1" + ":1" * 2000 + ".5", "0x" + "f" * 5000, "9" * 400 + ".0"])
QUOTED = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=6).map(
    lambda text: "'" + "".join(one for one in text if one.isprintable()).replace("'", "''") + "'")
ESCAPED = st.sampled_from(['"\\x41\\n"', '"\\u00e9"', '"\\U0001F600"', '"\\ud800"', '"\\0"', '"\\q"', '"a\\\n b"'])
TAGS = st.sampled_from(["!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp", "!!binary", "!!set", "!!omap",
                        "!!pairs", "!!merge", "!!value", "!!map", "!!seq", "!local", "!", "!<tag:example.org,2026:x>",
                        "!!python/object/apply:os.getcwd", "!e!x", "!!python/name:os.system"])
ANCHORS = st.sampled_from(["one", "two"])
SCALARS = WORDS | VALUES | QUOTED | ESCAPED | st.just("")


@st.composite
def with_properties(draw: st.DrawFn, content: st.SearchStrategy[str]) -> str:
    """A node with an anchor, a tag, both or neither, or an alias in its place."""
    kind = draw(st.integers(0, 39))
    if kind == 39:
        return f"*{draw(ANCHORS)} "
    anchor = f"&{draw(ANCHORS)} " if kind in (37, 38) else ""
    tag = f"{draw(TAGS)} " if kind in range(30, 38) else ""
    return f"{anchor}{tag}{draw(content)}"


def pairs(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    key = WORDS | WORDS | with_properties(inner).map(lambda text: f"? {text} ")
    return st.lists(st.tuples(key, with_properties(inner)), max_size=4).map(
        lambda found: "{" + ", ".join(f"{key}: {value}" for key, value in found) + "}")


def lists(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(with_properties(inner), max_size=4).map(lambda found: "[" + ", ".join(found) + "]")


NODES = with_properties(st.recursive(SCALARS, lambda inner: pairs(inner) | lists(inner), max_leaves=12))
BREAKS = st.sampled_from(["\n", "\r\n", "\r", "\n\n# a comment\n", "\x85", "\u2028"])
PARTS = st.sampled_from(["principals", "objects", "cases", "clock", "env", "more"])
FIELDS = st.sampled_from(["name", "who", "what", "may", "clock", "env"])


@st.composite
def files(draw: st.DrawFn) -> str:
    """A file whose parts, and the fields of whose case, are any nodes, or those that belong there."""
    if draw(st.booleans()):
        case = {"name": "n", "who": "ann", "what": "a draft", "may": "[]", draw(FIELDS): draw(NODES)}
        text = HEAD + "cases:\n- " + "\n  ".join(f"{key}: {value}" for key, value in case.items()) + "\n"
    else:
        parts = draw(st.lists(st.tuples(PARTS, NODES), max_size=4))
        text = draw(st.sampled_from(["", HEAD, HEAD + CASE])) + "".join(f"{key}: {value}\n" for key, value in parts)
    text = draw(st.sampled_from(["", "", "%YAML 1.1\n---\n", "%TAG !e! tag:example.org,2026:\n---\n", "\ufeff"])) + text
    return text.replace("\n", draw(BREAKS)) if draw(st.booleans()) else text


@many
@given(files())
def test_a_file_is_read_or_refused_at_its_lines(text: str) -> None:
    try:
        found = read_suite(text, "tests.yaml", VOCABULARY, ("read:articles",), ROLES)
    except PolicyError as error:
        findings = error.findings
        assert any(one.severity == "error" for one in findings)
    else:
        findings = list(found.warnings)
        run(POLICY, found)
    lines = len(text.splitlines()) + 1
    assert [one for one in findings if one.file != "tests.yaml" or not 1 <= one.line <= lines or not one.message] == []


COLUMNS = ["stock: 5", "status: draft", "owner_id: ann"]


@many
@given(st.sampled_from(COLUMNS), TAGS, VALUES | ESCAPED | QUOTED)
def test_a_value_of_any_tag_is_read_or_refused_at_its_line(column: str, tag: str, value: str) -> None:
    text = HEAD.replace(column, f"{column.partition(':')[0]}: {tag} {value} ") + CASE
    try:
        read_suite(text, "tests.yaml", VOCABULARY)
    except PolicyError as error:
        assert {one.line for one in error.findings if one.severity == "error"} in ({2}, {3}), error


POLICY = from_files(FILES, VOCABULARY)


@pytest.mark.parametrize("number", ["1" + ":1" * 400_000, "1" + ":1" * 400_000 + ".5", "0x" + "f" * 900_000,
                                    "0b" + "1" * 900_000, "7" * 900_000, "0" + "7" * 900_000])
def test_a_number_of_many_digits_is_none(number: str) -> None:
    with pytest.raises(PolicyError, match="product.stock holds a whole number"):
        read_suite(HEAD.replace("stock: 5", f"stock: {number}") + CASE, "tests.yaml", VOCABULARY)


def test_a_long_text_is_a_text() -> None:
    read_suite(HEAD.replace("owner_id: ann", f"owner_id: {'a' * 5000}") + CASE, "tests.yaml", VOCABULARY)


def test_aliases_do_not_repeat_a_long_case_without_end() -> None:
    people = "[" + ", ".join(["ann"] * 100) + "]"
    cases = ", ".join([f"&long {{name: n, who: {people}, what: {people.replace('ann', 'a draft')}, may: []}}",
                       *["*long"] * (MOST_ASKED // 10_000)])
    with pytest.raises(PolicyError, match="ask about more than") as raised:
        read_suite(f"{HEAD}cases: [{cases}]\n", "tests.yaml", VOCABULARY)
    assert [one.line for one in raised.value.findings if "ask about" in one.message] == [3]


@pytest.mark.parametrize("file", [
    "cases: [{name: n, who: ann, what: a draft, may: &long [" + "article.view, " * 4000 + "]}"
    + ", {name: n, who: ann, what: a draft, may: *long}" * 4000 + "]\n",
    "env: &a [[" + ", ".join(["x"] * 100) + "], *a]\n" + CASE,
    "env: [&a [x], " + ", ".join(f"&{after} [" + f"*{before}, " * 9 + "]" for before, after in pairwise("abcdefghi"))
    + "]\n" + CASE])
def test_aliases_do_not_repeat_a_long_list_without_end(file: str) -> None:
    with pytest.raises(PolicyError) as raised:
        read_suite(HEAD + file, "tests.yaml", VOCABULARY)
    assert [(one.line, one.message.partition(" stand")[0]) for one in raised.value.findings] == [
        (1, "the aliases (*name) of the file")]


def test_an_alias_stands_for_a_list() -> None:
    case = "{name: n, who: [ann, bob], what: [a draft, a desk], may: %s}"
    found = read_suite(f"{HEAD}cases: [{case % '&some [article.view, product.*]'}, {case % '*some'}]\n", "tests.yaml",
                       VOCABULARY)
    first, second = (one.may for one in found.cases)
    assert first == second and first["ann", "a draft"] == {"article.view"}
    assert "product.view" in first["bob", "a desk"] and "article.view" not in first["bob", "a desk"]


def test_many_permissions_of_many_objects_are_read_at_once() -> None:
    """Each permission was compared for each object."""
    objects = ", ".join(["a draft"] * 20_000)
    read_suite(f"{HEAD}cases: [{{name: n, who: ann, what: [{objects}], may: [{'article.view, ' * 20_000}]}}]\n",
               "tests.yaml", VOCABULARY)
