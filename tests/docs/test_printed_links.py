"""The documents that the program, its files and its alerts name: each is there, with the section that they name."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.docs.documents import anchor_of, anchors
from tests.running import ROOT

# Everything that an operator, a client or a reader of the code has in front of them.
SOURCES = sorted(
    path for top in ("gatepost", "gatepost_start", "blueprints", "models", "policies", "settings", "deploy", "clients",
                     "app.py", "Makefile", ".github")
    for path in ((ROOT / top).rglob("*") if (ROOT / top).is_dir() else [ROOT / top])
    if path.is_file() and not {"node_modules", "__pycache__", "build", "dist"} & set(path.parts))
_URL = re.compile(r"https?://\S+")
_FILE = r"(?:docs|policies|deploy|clients)/(?:[\w-]+/)*[\w-]+\.md"
_ANCHOR = re.compile(rf"\b({_FILE})(#[\w-]+)")
_BEFORE = re.compile(rf'[*"“]([A-Z][^*"”]+)[*"”] in\s+({_FILE})')
_AFTER = re.compile(rf'\b({_FILE}),\s+(?:[*"“]([A-Z][^*"”]+)[*"”]|([A-Z]\w+))')
_WHOLE = re.compile(rf"\b({_FILE})\b")


def named(text: str) -> Iterator[tuple[str, str]]:
    """Yields each document that a text names, and of which section: "#anchor", the words of its heading, or ""."""
    # A sentence may go on in the next line: of a comment, or of a text in parts.
    text = re.sub(r'"?\s*\n\s*(?:#|f?")?\s*', " ", _URL.sub("", text))
    yield from _ANCHOR.findall(text)
    yield from ((file, heading) for heading, file in _BEFORE.findall(text))
    yield from ((file, title or word) for file, title, word in _AFTER.findall(text))
    yield from ((file, "") for file in _WHOLE.findall(text))


def is_lost(file: str, section: str) -> bool:
    """Returns True if the file or the section is not there. Words may be the first ones of a heading."""
    path = ROOT / file
    if not path.is_file() or not section:
        return not path.is_file()
    there = anchors(path.read_text(encoding="utf-8"))
    if section.startswith("#"):
        return section[1:] not in there
    return not any(f"{anchor}-".startswith(f"{anchor_of(section)}-") for anchor in there)


def test_every_document_and_section_that_is_named_is_there():
    texts = {path: path.read_bytes().decode("utf-8", "ignore") for path in SOURCES}
    links = {str(path.relative_to(ROOT)): set(named(text)) for path, text in texts.items()}
    assert sum(map(len, links.values())) > 20
    assert {path: lost for path, sections in links.items()
            if (lost := sorted(link for link in sections if is_lost(*link)))} == {}


@pytest.mark.parametrize(("text", "link"), [
    ("runbook: docs/running.md#backups", ("docs/running.md", "#backups")),
    ('"see docs/running.md, *The log was deleted*"', ("docs/running.md", "The log was deleted")),
    ('("see docs/running.md, "\n     "*The log was deleted*")', ("docs/running.md", "The log was deleted")),
    ('# see "Below a path" in docs/running.md.', ("docs/running.md", "Below a path")),
    ("# right → verbs (docs/api.md, Shares)", ("docs/api.md", "Shares")),
    ("[lists](../../docs/api/lists.md)", ("docs/api/lists.md", "")),
])
def test_a_link_is_read_in_each_form(text, link):
    assert link in set(named(text))
