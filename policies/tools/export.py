"""The policy as one stock model and one CSV, to paste into the Casbin editor or to give to another tool.

Nothing is translated: the files are stock Casbin already, so it is enough to join them in one order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..invariants.lines import INVARIANTS_FILE
from ..syntax.files import Unreadable, read_text
from ..syntax.model import MODEL_FILE
from ..wording.finding import Finding, PolicyError


@dataclass(frozen=True, slots=True)
class Export:
    """`model` and `policy` as texts, for the editor's two panes of these names."""

    model: str
    policy: str


def export(directory: Path, plugins: Mapping[str, Path] | None = None) -> Export:
    """Join the files of `directory` and the CSVs that plugins bring (file name → path), without the invariants: they
    give nothing, and Casbin knows no such lines.

    A file of the same name in `directory` replaces a plugin's. Raises PolicyError when a file cannot be read.
    """
    files = {path.name: path for path in directory.glob("*.csv") if path.name != INVARIANTS_FILE}
    for name, path in (plugins or {}).items():
        files.setdefault(name, path)
    sections = [f"# {name}\n" + "\n".join(_lines(path)) for name, path in sorted(files.items())]
    model = _text(directory / MODEL_FILE)
    kept = [line.rstrip() for line in model.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return Export("\n".join(kept) + "\n", "\n\n".join(sections) + "\n")


def _lines(path: Path) -> list[str]:
    """The lines that say something, with columns one space apart."""
    lines = (line.strip() for line in _text(path).splitlines())
    return [
        ", ".join(column.strip() for column in line.split(","))
        for line in lines
        if line and not line.startswith("#")
    ]


def _text(path: Path) -> str:
    try:
        return read_text(path)
    except Unreadable as error:
        raise PolicyError([Finding(path.name, 0, str(error))]) from None
