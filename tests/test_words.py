"""Sentences of code and documents: docstrings begin with a verb or a noun phrase, and words are those of the field."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.running import ROOT

FOLDERS = ("benchmarks", "blueprints", "gatepost", "gatepost_start", "models", "policies", "settings", "system",
           "tests")
PYTHON = sorted([*ROOT.glob("*.py"), *(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))])
SAMPLES = ROOT / "blueprints" / "demo" / "samples.py"  # texts of rows
PAGES = sorted((ROOT / "blueprints").rglob("*.html"))
# Decisions are records of their day.
DOCUMENTS = sorted([*ROOT.glob("*.md"), ROOT / "policies" / "README.md",
                    *(file for file in (ROOT / "docs").rglob("*.md") if file.parent.name != "decisions")])
# A docstring that begins so has no verb, or says late what it is about.
BEGINNINGS = re.compile(
    r"(What|Whether|Who|Whom|Whose|How|That|Where|When|Which|If|Of|By|For|To|In|From|With|Until|Since|As|It|Its|Not|"
    r"Only|Is|Are|This|These|There|And)\b")
# Words that only this project used, and what to say instead.
INSTEAD = {
    "untold": "hidden, not recorded", "whoever": "caller, user", "asker": "caller", "anew": "again",
    "pulse": "write probe", "as good as absent": "expired, deleted"}
WORDS = re.compile(rf"\b({'|'.join(INSTEAD)})\b", re.IGNORECASE)


def docstrings(file: Path) -> Iterator[tuple[int, str]]:
    """Yields each docstring of a file with the line where its owner begins."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and (
                text := ast.get_docstring(node)):
            yield getattr(node, "lineno", 1), text


def test_a_docstring_begins_with_a_verb_or_a_noun_phrase():
    assert [f"{file.relative_to(ROOT)}:{line}: {text.splitlines()[0]}" for file in PYTHON
            for line, text in docstrings(file) if BEGINNINGS.match(text)] == []


def test_words_are_those_of_the_field():
    assert [match for file in (*PYTHON, *PAGES, *DOCUMENTS) if file not in (Path(__file__), SAMPLES)
            for match in _replaceable(file)] == []


def _replaceable(file: Path) -> Iterator[str]:
    """Yields each place of a word in INSTEAD."""
    text = file.read_text("utf-8")
    if not any(word in text.lower() for word in INSTEAD):  # the expression takes long for all files
        return
    for number, line in enumerate(text.splitlines(), 1):
        for word in WORDS.finditer(line):
            yield f"{file.relative_to(ROOT)}:{number}: {word[0]} (say: {INSTEAD[word[0].lower()]})"
