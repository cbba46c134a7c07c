"""Rule files, written by the grammar of Casbin's files: what is accepted, pycasbin reads from the file alike."""

from __future__ import annotations

from pathlib import Path

import pytest
from casbin.model import Model
from casbin.persist.adapters import FileAdapter
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policies.syntax.conditions import Branch, Conditions
from policies.syntax.rules import Lines, Reader
from policies.syntax.vocabulary import Patterns
from policies.wording.finding import Finding
from tests.policies.generated import CONDITIONS, FILES, MODEL
from tests.policies.shipped_vocabulary import ROLES, VOCABULARY

many = settings(max_examples=120, deadline=None,
                suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
PATTERNS = Patterns(VOCABULARY)
KNOWN = Conditions([*(Branch(word, 1, True) for word in CONDITIONS), Branch("language:", 1, True)])
AREAS = frozenset((*(name for name, one in VOCABULARY.resources.items() if not one.columns),
                   *(Path(name).stem for name in FILES)))
PERSON = "user:0199f3a0-0000-7000-8000-000000000001"

BLANKS = st.text(" \t", max_size=3)
# Blanks and breaks of lines for one reader or another.
ODD = st.sampled_from(["\x0b", "\x0c", "\x1c", "\x85", "\xa0", "\u2028", "\u3000", "\ufeff", "\u200b", "\0", "\r"])
LINES = st.one_of(
    st.tuples(st.just("p"), st.sampled_from([*ROLES, PERSON]), st.sampled_from(["article.view", "article.*", "*.view"]),
              st.sampled_from([*CONDITIONS, "language:de"]), st.sampled_from(["allow", "deny"])),
    st.tuples(st.just("p2"), st.sampled_from(["read:articles", "write:profile"]),
              st.sampled_from(["article.view", "*"])),
    st.tuples(st.just("g"), st.sampled_from([*ROLES[1:], PERSON]), st.sampled_from(ROLES)))
COMMENT = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), max_size=9).map(
    lambda text: "#" + text.replace("end", ""))
MARKS = st.sampled_from(['"', "'", "(", ")", "[", "]", "{", "}", ",", ";", "#", "//", "|", "\\", "p", "g2", "e", "r",
                         "\N{NO-BREAK SPACE}", "é", "="])
BREAKS = st.sampled_from(["\n", "\r\n"])


@st.composite
def lines(draw: st.DrawFn) -> str:
    """One rule, with blanks around its commas."""
    columns = draw(LINES)
    return draw(BLANKS) + ",".join(f"{draw(BLANKS)}{column}{draw(BLANKS)}" for column in columns).lstrip(" \t")


@st.composite
def files(draw: st.DrawFn) -> str:
    """Rules, comments and empty lines, and the comment that ends a file."""
    found = draw(st.lists(lines() | lines() | COMMENT | BLANKS, max_size=6))
    return draw(BREAKS).join([*found, "# end", *draw(st.lists(BLANKS, max_size=2))])


@st.composite
def changed(draw: st.DrawFn) -> bytes:
    """A file in which something that is no part of it stands, or is missing."""
    text = draw(files())
    for _ in range(draw(st.integers(1, 2))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.sampled_from([start, start, min(len(text), start + 3)]))
        text = text[:start] + draw(MARKS | MARKS | ODD | BREAKS | lines()) + text[end:]
    return draw(st.sampled_from([b""] * 9 + [b"\xef\xbb\xbf"])) + text.encode()


def ours(content: bytes) -> tuple[Lines, list[Finding]]:
    findings: list[Finding] = []
    reader = Reader(frozenset(ROLES), PATTERNS, KNOWN, AREAS, findings)
    reader.read("articles.csv", content)
    reader.close()
    return reader.lines, findings


def casbins(file: Path) -> dict[str, list[list[str]]]:
    """The rules that Casbin's own file adapter reads, by what their lines begin with."""
    model = Model()
    model.load_model_from_text(MODEL)
    FileAdapter(str(file)).load_policy(model)
    return {key: model.model[key[0]][key].policy for key in ("p", "p2", "g")}


def as_casbin(found: Lines) -> dict[str, list[list[str]]]:
    return {"p": [[one.sub, one.act, one.when, one.eft] for one in found.rules],
            "p2": [[one.scope, one.act] for one in found.scopes],
            "g": [[one.name, one.inherits] for one in found.links]}


@many
@given(files())
def test_a_file_by_the_grammar_is_read_as_casbin_reads_it(tmp_path: Path, text: str) -> None:
    found, findings = ours(text.encode())
    faults = [one for one in findings if "guest" not in one.message]  # `g, user, guest` is no line of ours
    assert faults == []
    if not findings:
        (tmp_path / "articles.csv").write_bytes(text.encode())
        assert as_casbin(found) == casbins(tmp_path / "articles.csv")


@many
@given(changed())
def test_a_file_that_is_accepted_is_read_as_casbin_reads_it(tmp_path: Path, content: bytes) -> None:
    found, findings = ours(content)
    number = len(content.decode().split("\n"))
    assert [one for one in findings if not 0 <= one.line <= number or not one.message] == []
    if not findings:
        (tmp_path / "articles.csv").write_bytes(content)
        assert as_casbin(found) == casbins(tmp_path / "articles.csv")


@pytest.mark.parametrize("name", [name for name in sorted(FILES) if name.endswith(".csv")])
def test_shipped_files_are_read_as_casbin_reads_them(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    reader = Reader(frozenset(ROLES), PATTERNS, None, AREAS, [])
    reader.read(name, FILES[name])
    assert as_casbin(reader.lines) == casbins(tmp_path / name)
