"""The documents, compared with the code: commands run, links work, and named things exist."""

from __future__ import annotations

import re
from collections.abc import Callable
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import click
import pytest

from gatepost.commands.lazy import loaded
from gatepost.http.pipeline.stages import ARRIVAL, EFFECT, VALIDATION
from gatepost_start.command import cli
from settings import DECLARED
from tests.docs.documents import DOCUMENTS, anchors, blocks, links, matches, named, prose, typed
from tests.running import ROOT

TEXTS = {path: path.read_text(encoding="utf-8") for path in DOCUMENTS}
RUN = [path for page in ("running", "policy")
       for path in (ROOT / "docs" / f"{page}.md", *sorted((ROOT / "docs" / page).glob("*.md")))]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
WIDEST = 120
LONGEST_DECISION = 250  # words


def faults(find: Callable[[Path, str], list[Any]]) -> dict[str, list[Any]]:
    """Returns the faults of `find(path, text)` by document."""
    return {named(path): found for path, text in TEXTS.items() if (found := find(path, text))}


@pytest.mark.slow
def test_the_commands_print_what_the_documents_say(tmp_path):
    found = [block for path in RUN for block in blocks(TEXTS[path])]
    printed = typed([text for text, _ in found], tmp_path)
    wrong = [(said, printed[number]) for number, (_, said) in enumerate(found) if said
             and not matches(said, printed[number])]
    assert len([said for _, said in found if said]) >= 6
    assert not wrong


def test_every_link_leads_to_a_file_and_a_heading():
    def is_lost(path: Path, link: str) -> bool:
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        return not target.exists() or bool(anchor and anchor not in anchors(TEXTS[target]))

    assert faults(lambda path, text: [link for link in links(text) if is_lost(path, link)]) == {}


def test_every_document_reads_well_as_plain_text():
    # A row of a table cannot be wrapped.
    assert faults(lambda path, text: [number for number, line in enumerate(text.splitlines(), 1)
                                      if len(line) > WIDEST and not line.startswith("|")]) == {}


def test_every_row_of_a_table_has_the_columns_of_its_head():
    def broken(path: Path, text: str) -> list[str]:
        tables = re.findall(r"(?:^\|.*\n)+", prose(text), re.MULTILINE)
        # GFM ends a cell at each | without a backslash, also in code.
        columns = [{len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()} for table in tables]
        return [table for table, counts in zip(tables, columns, strict=True)
                if len(counts) > 1 or not table.partition("\n")[0].strip("| ")]

    assert faults(broken) == {}


def test_every_make_target_that_is_named_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert faults(lambda path, text: sorted({*re.findall(r"[`\n]make ([a-z-]+)", text)} - targets)) == {}


def test_every_setting_that_is_named_exists():
    def unknown(path: Path, text: str) -> list[str]:
        names = {name.lower().partition("__")[0] for name in re.findall(r"GATEPOST_([A-Z_]+[A-Z])", text)}
        # Ours, and those of the guide's plugin.
        return sorted({name for name in names if not name.startswith("notes_")} - set(DECLARED))

    assert faults(unknown) == {}


def test_every_command_that_is_named_exists():
    def is_command(words: str) -> bool:
        command: click.Command | None = cli
        for word in words.split():
            if not isinstance(command, click.Group):
                break
            deferred = command.get_command(click.Context(command), word)
            command = None if deferred is None else loaded(deferred)
        return command is not None

    assert faults(lambda path, text: [
        words for words in re.findall(r"(?:`|^)gatepost ([a-z](?:[a-z ]|\b-\b)*[a-z])", text, re.MULTILINE)
        if not is_command(words)]) == {}


def test_every_decision_says_its_context_and_what_else_was_possible():
    headings = {path: re.findall(r"^## (.+)$", TEXTS[path], re.MULTILINE) for path in DECISIONS}
    # "Measured" is left out if nothing was measured.
    assert {path.name: found for path, found in headings.items()
            if [one for one in found if one != "Measured"] != ["Context", "Decision", "Alternatives"]} == {}
    assert [path.name for path in DECISIONS if not TEXTS[path].startswith(f"# {int(path.name[:4])}. ")] == []


def test_every_decision_is_read_in_a_minute():
    def length(text: str) -> int:
        """Returns the number of words, without those of tables."""
        lines = (line for line in text.splitlines() if not line.startswith("|"))
        return sum(bool(re.search(r"\w", word)) for line in lines for word in line.split())

    assert {path.name: length(TEXTS[path]) for path in DECISIONS if length(TEXTS[path]) > LONGEST_DECISION} == {}


def test_every_decision_has_a_number_of_its_own_and_stands_in_the_index():
    numbers = [int(path.name[:4]) for path in DECISIONS]
    assert numbers == sorted(set(numbers))
    index = ROOT / "docs" / "decisions" / "README.md"
    assert [path.name for path in DECISIONS] == [link for link in links(TEXTS[index]) if link.startswith("0")]


def test_every_document_is_in_the_index():
    index = ROOT / "docs" / "README.md"
    listed = {(index.parent / link).resolve() for link in links(TEXTS[index])}
    expected = {path for path in DOCUMENTS if path.parent == index.parent} - {index}
    assert expected <= listed


def test_the_design_names_every_stage_of_a_request_in_its_order():
    design = TEXTS[ROOT / "docs" / "design.md"]
    rows = re.findall(r"^\| `(\w+)` \|", design.partition("### Stages")[2].partition("\n## ")[0], re.MULTILINE)
    assert rows == [stage.__name__ for stage in (*ARRIVAL, *VALIDATION, *EFFECT)]


def test_the_table_of_folders_names_every_room():
    folders = TEXTS[ROOT / "docs" / "where-is.md"].partition("## Folders")[2]
    rooms = [folder for top in ("models", "policies") for folder in (ROOT / top).iterdir()
             if (folder / "__init__.py").is_file()]
    rooms += [folder for top in ("gatepost", "gatepost/http") for folder in (ROOT / top).iterdir()
              if (folder / "__init__.py").is_file() and folder.name != "http"]
    names = [str(room.relative_to(ROOT / "gatepost")) if room.is_relative_to(ROOT / "gatepost") else room.name
             for room in rooms]
    assert not [name for name in names if f"`{name}`" not in folders]


def dependencies() -> list[str]:
    declared = ConfigParser()
    declared.read(ROOT / "setup.cfg")
    lists = [declared["options"]["install_requires"], *declared["options.extras_require"].values()]
    lists += [file.read_text(encoding="utf-8") for file in (ROOT / "requirements").glob("*.in")]
    return sorted({re.match(r"[\w-]+", line)[0] for text in lists for line in text.split("\n")
                   if line and not line.startswith("#")})


def test_every_dependency_has_its_reason():
    table = TEXTS[ROOT / "CONTRIBUTING.md"].partition("## Dependencies")[2].partition("\n## ")[0]
    reasons = [row.split("|")[1] for row in table.splitlines() if row.startswith("| ")]
    assert [name for name in dependencies()
            if not any(re.search(rf"\b{re.escape(name)}\b", row, re.IGNORECASE) for row in reasons)] == []


def test_no_document_names_a_place_outside_the_repository():
    assert faults(lambda path, text: re.findall(
        r"/work/|shared/[A-Z]|\bissue \d+|/root/", prose(text))) == {}
