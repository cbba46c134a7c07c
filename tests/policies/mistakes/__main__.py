"""A table of the catalogue by class: the number of reported mistakes, by severity and place. Run it as a module."""

from __future__ import annotations

from collections import Counter, defaultdict

from . import catalogue
from .mistake import Mistake

COLUMNS = ("number", "error", "warning", "another line", "not told")


def outcome(mistake: Mistake) -> str:
    """Returns the table's column for a mistake. A harmless edit should have no finding, or a warning."""
    findings, file, line = mistake.findings()
    severities = {one.severity for one in findings if (one.file, one.line) == (file, line)}
    if severities:
        return "error" if "error" in severities else "warning"
    return "another line" if findings else "not told"


def main() -> None:
    counted: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for kind, mistakes in (("form", catalogue.HARMFUL), ("meaning", (*catalogue.SEMANTIC, *catalogue.TAKEN_OUT)),
                           ("harmless", catalogue.HARMLESS)):
        for mistake in mistakes:
            for name in (f"{kind}: {mistake.class_}", f"{kind}, all"):
                counted[name].update(("number", outcome(mistake)))
    print(f"| {'Class':30} | {' | '.join(COLUMNS)} |")
    print(f"|{'---|' * (len(COLUMNS) + 1)}")
    for name, counts in counted.items():
        print(f"| {name:30} | {' | '.join(str(counts[column]).rjust(len(column)) for column in COLUMNS)} |")


if __name__ == "__main__":
    main()
