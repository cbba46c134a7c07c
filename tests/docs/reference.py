"""Keeps docs/reference.md true: its tables are generated from the lists that the code itself uses.

The first cells of a row come from the code. The last cell of a table with explanations is written by hand in the
document, and kept. After a new setting, command, error code, permission or header, run

    python -m tests.docs.reference --write

and fill the empty last cell of each new row.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tests.running import ROOT

FILE = ROOT / "docs" / "reference.md"
_CELL = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True)
class Table:
    """The table below the heading `title`.

    rows       the first cell, which names the row → the other cells that come from the code
    explained  True if a last cell, written by hand, explains each row
    """

    title: str
    columns: tuple[str, ...]
    rows: Mapping[str, Sequence[str]]
    explained: bool = False

    def lines(self, remarks: Mapping[str, str]) -> list[str]:
        """Returns the table in Markdown; `remarks` are the cells written by hand, by the name of their row."""
        rows = [(name, *cells, *((remarks.get(name, ""),) if self.explained else ()))
                for name, cells in self.rows.items()]
        return [_line(self.columns), "|" + "---|" * len(self.columns), *map(_line, rows)]


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(_CELL.sub(r"\\|", cell) for cell in cells) + " |"


def section(text: str, title: str) -> str:
    """Returns the text below a heading of the document, up to the next heading of any level."""
    found = re.search(rf"^##+ {re.escape(title)}\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, f"{FILE.name} has no heading {title!r}"
    return found[1]


def written(text: str, title: str) -> dict[str, list[str]]:
    """Returns the rows of the document's table below a heading: the first cell → all others."""
    lines = [line for line in section(text, title).splitlines() if line.startswith("| ")]
    rows = [[cell.strip().replace("\\|", "|") for cell in _CELL.split(line)[1:-1]] for line in lines[1:]]
    return {name: cells for name, *cells in rows}


def rewritten(text: str, tables: Iterable[Table]) -> str:
    """Returns the document with every table updated. Text written by hand stays."""
    for table in tables:
        before = section(text, table.title)
        remarks = {name: cells[-1] for name, cells in written(text, table.title).items() if cells}
        prose = re.sub(r"(?:^\|.*\n)+", "", before, flags=re.MULTILINE).strip("\n")
        after = "\n" + (f"{prose}\n\n" if prose else "") + "\n".join(table.lines(remarks)) + "\n\n"
        text = text.replace(f" {table.title}\n{before}", f" {table.title}\n{after}", 1)
    return text.rstrip("\n") + "\n"


def main(arguments: Sequence[str]) -> int:
    from tests.docs.tables import tables

    old = FILE.read_text(encoding="utf-8")
    new = rewritten(old, tables())
    if "--write" in arguments:
        FILE.write_text(new, encoding="utf-8")
    elif new != old:
        print(f"{FILE.name} is not what the code says; run: python -m tests.docs.reference --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
