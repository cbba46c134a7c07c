"""Code, tests and documents refer only to texts that are in the repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.running import ROOT

KINDS = {".py", ".md", ".csv", ".conf", ".txt", ".toml", ".cfg", ".yaml", ".html", ".po"}
# What the tests make, and what others wrote.
SKIPPED = {".git", ".venv", "node_modules", "rapidoc-min.js.LICENSE.txt", "LICENSE-rapidoc.txt", "common_passwords.txt"}
FILES = sorted(path for top in ("*.py", "*.md", "*.toml", "*.cfg", "blueprints/**/*", "models/**/*", "policies/**/*",
                                "gatepost/**/*", "clients/**/*", "tests/**/*", "docs/**/*", "benchmarks/**/*",
                                "deploy/**/*")
               for path in ROOT.glob(top)
               if path.suffix in KINDS and not SKIPPED & {*path.parts} and path != Path(__file__))
DOCUMENT = re.compile(r"(?<![\w<*}…/.:-])(?:\.{1,2}/)*[\w/-]+\.md\b")
SECTION = re.compile(r"(\S+ \S+ \S+) [(]?sections? \d")
STANDARD = re.compile(r"RFC \d+,?$|SP 800-\w+,?$|Trace Context,?$")


def documents(text: str) -> set[str]:
    """The Markdown files that a text names; those of a URL are elsewhere, and said to be."""
    return set(DOCUMENT.findall(re.sub(r"https?://\S+", "", text)))


def sections(text: str) -> list[str]:
    """The sections that a text names of something that is no standard."""
    words = re.sub(r'["#*\s]+', " ", text)
    return [found[0] for found in SECTION.finditer(words) if not STANDARD.search(found[1])]


def _is_here(name: str, file: Path) -> bool:
    return any((folder / name).resolve().is_file() for folder in (file.parent, ROOT, ROOT / "docs"))


def test_no_file_names_a_document_that_is_not_in_the_repository():
    named = {file: documents(file.read_text(encoding="utf-8")) for file in FILES}
    assert {str(file.relative_to(ROOT)): absent for file, names in named.items()
            if (absent := [name for name in names if not _is_here(name, file)])} == {}


def test_no_file_names_a_section_of_anything_but_a_standard():
    named = {str(file.relative_to(ROOT)): sections(file.read_text(encoding="utf-8")) for file in FILES}
    assert {file: found for file, found in named.items() if found} == {}


def test_the_files_of_every_room_are_read():
    assert {"app.py", "blueprints", "models", "policies", "tests", "docs", "README.md"} <= {
        file.relative_to(ROOT).parts[0] for file in FILES}


@pytest.mark.parametrize("text", ["as API, section 4 has it", "(API, sections 3 and 4)", "the contract, section 6",
                                  "of the\n# design section 2"])
def test_a_section_of_another_document_is_found(text):
    assert sections(f"a few words {text}")


@pytest.mark.parametrize("text", ["(RFC 9110 section 13.1)", "(RFC 9112, sections 5.2 and 6.3)",
                                  "NIST SP 800-63B,\nsection 5"])
def test_a_section_of_a_standard_is_no_document(text):
    assert sections(f"a few words {text}") == []


def test_a_document_that_is_named_is_found():
    text = "as PLAN.md has it, ../notes/API.md, and https://example.org/x.md"
    assert documents(text) == {"PLAN.md", "../notes/API.md"}
