"""A realistic mistake of an administrator: an edit of the shipped files, and the findings of `policy check`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path

from policies import Finding, Policy, PolicyError, load
from policies.lint.warnings import warnings
from policies.loading.loader import unread
from tests.policies import editing
from tests.policies.editing import shipped_copy
from tests.policies.generated import FILES
from tests.policies.shipped_vocabulary import VOCABULARY

TODAY = datetime(2026, 11, 18, 10, tzinfo=UTC)


@dataclass(frozen=True)
class Edit:
    """A change of one file. Its findings are expected there."""

    file: str
    apply: Callable[[Path], object]


@dataclass(frozen=True)
class Told:
    """The expected finding: its severity (empty for any) and a phrase of it.

    at    a text of its line; by default the line of the edit; "the file" for the whole file
    file  its file; by default the file of the edit
    """

    severity: str
    phrase: str
    at: str = ""
    file: str = ""


@dataclass(frozen=True)
class Mistake:
    """A row of the catalogue. A harmless edit expects nothing, or allows a warning."""

    class_: str
    name: str
    edit: Edit
    harmful: bool
    expects: Told | None

    def findings(self) -> tuple[list[Finding], str, int]:
        """Returns the findings after the edit, and the file and the line where the expected finding should be."""
        with tempfile.TemporaryDirectory() as scratch:
            folder = shipped_copy(Path(scratch) / "policies")
            self.edit.apply(folder)
            file = self.expects.file if self.expects and self.expects.file else self.edit.file
            return said(folder), file, self._line(folder / file)

    def policy(self) -> Policy:
        """Returns the policy after the edit. Raises PolicyError."""
        with tempfile.TemporaryDirectory() as scratch:
            folder = shipped_copy(Path(scratch) / "policies")
            self.edit.apply(folder)
            return load(folder, VOCABULARY)

    def is_told(self, findings: list[Finding], file: str, line: int) -> bool:
        """True if the expected finding is there, in its place."""
        return self.expects is not None and any(
            (one.file, one.line) == (file, line) and self.expects.phrase in one.message
            and self.expects.severity in ("", one.severity) for one in findings
        )

    def _line(self, place: Path) -> int:
        at = self.expects.at if self.expects else ""
        if at == "the file" or not place.is_file():
            return 0
        lines = _lines(place.read_bytes())
        if at:
            return next(number for number, line in enumerate(lines, 1) if at in line)
        pairs = zip_longest(lines, _lines(FILES.get(place.name, b"")))
        return next((number for number, (new, old) in enumerate(pairs, 1) if new != old), 0)


def said(folder: Path) -> list[Finding]:
    """Returns the findings of `policy check` for a folder."""
    try:
        found = load(folder, VOCABULARY, required=sorted(set(FILES) - {"model.conf"}))
    except PolicyError as error:
        return [*error.findings, *unread(folder)]
    return [*warnings(found, at=TODAY), *unread(folder)]


def told(phrase: str = "", at: str = "", file: str = "") -> Told:
    """Expects an error or a warning with any text."""
    return Told("", phrase, at, file)


def error(phrase: str, at: str = "", file: str = "") -> Told:
    return Told("error", phrase, at, file)


def warning(phrase: str, at: str = "", file: str = "") -> Told:
    return Told("warning", phrase, at, file)


def add(file: str, *lines: str) -> Edit:
    """Adds lines before the last one; in model.conf, below the branch of `always`."""
    return Edit(file, lambda folder: editing.add_line(folder / file, "\n".join(lines)))


def branch(expression: str, *, used: bool = True) -> Edit:
    """Adds a condition `mine` to model.conf, and a rule that uses it."""
    def apply(folder: Path) -> None:
        editing.add_line(folder / "model.conf", f"    p.when == 'mine' && {expression} || \\")
        if used:
            editing.add_line(folder / "orders.csv", "p, manager, order.view, mine, allow")

    return Edit("model.conf", apply)


def change(file: str, old: str, new: str) -> Edit:
    """Replaces the first text like `old`."""
    def apply(folder: Path) -> None:
        text = (folder / file).read_bytes().decode()
        assert old in text, f"{file} has no {old!r}"
        (folder / file).write_bytes(text.replace(old, new, 1).encode())

    return Edit(file, apply)


def everywhere(file: str, old: str, new: str) -> Edit:
    def apply(folder: Path) -> None:
        text = (folder / file).read_bytes().decode()
        assert old in text, f"{file} has no {old!r}"
        (folder / file).write_bytes(text.replace(old, new).encode())

    return Edit(file, apply)


def cut(file: str, line: str) -> Edit:
    """Removes a line, with any spaces between its columns."""
    return Edit(file, lambda folder: editing.remove_line(folder / file, line))


def as_bytes(file: str, change: Callable[[bytes], bytes]) -> Edit:
    return Edit(file, lambda folder: (folder / file).write_bytes(change((folder / file).read_bytes())))


def both(first: Edit, *others: Edit) -> Edit:
    """Combines edits. Findings are expected in the file of the first."""
    return Edit(first.file, lambda folder: [edit.apply(folder) for edit in (first, *others)])


def new_file(name: str, *lines: str) -> Edit:
    return Edit(name, lambda folder: (folder / name).write_text("\n".join([*lines, "# end\n"])))


def rename(old: str, new: str) -> Edit:
    return Edit(old, lambda folder: (folder / old).rename(folder / new))


def copy(old: str, new: str) -> Edit:
    return Edit(new, lambda folder: (folder / new).write_bytes((folder / old).read_bytes()))


def _lines(content: bytes) -> list[str]:
    return content.decode("utf-8", "replace").split("\n")
