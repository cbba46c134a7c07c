"""Policy directories to edit: the shipped files, with lines added, removed or replaced."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from policies.invariants.lines import INVARIANTS_FILE
from policies.loading.loader import CASES_FILE
from policies.loading.rule_sets import FULL, files_of

ALWAYS_BRANCH = "    p.when == 'always' || \\\n"


def shipped_copy(target: Path, *, invariants: bool = False, rules: str = FULL) -> Path:
    """Returns a copy of the policy files of a shipped rule set, as in an instance.

    The invariants are included only on request, because they would refuse many rules of tests.
    """
    target.mkdir(parents=True)
    for name, source in files_of(rules).items():
        if name != CASES_FILE and (invariants or name != INVARIANTS_FILE):
            shutil.copyfile(source, target / name)
    return target


def add_line(file: Path, line: str) -> None:
    """Adds a line before the closing comment; in model.conf, below the branch of `always`."""
    text = file.read_text()
    if file.name == "model.conf":
        assert text.count(ALWAYS_BRANCH) == 1
        file.write_text(text.replace(ALWAYS_BRANCH, f"{ALWAYS_BRANCH}{line}\n"))
    else:
        assert text.endswith("# end\n")
        file.write_text(f"{text.removesuffix('# end' + chr(10))}{line}\n# end\n")


def remove_line(file: Path, line: str) -> None:
    """Removes this line, with any spaces between its columns."""
    lines = file.read_text().splitlines(keepends=True)
    kept = [one for one in lines if _columns(one) != _columns(line)]
    assert len(kept) == len(lines) - 1, f"{file.name} has no line {line!r}"
    file.write_text("".join(kept))


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1, f"{file.name} holds {old!r} {text.count(old)} times"
    file.write_text(text.replace(old, new))


def _columns(line: str) -> list[str]:
    return [column.strip() for column in line.split(",")]


# Ways in which a file disappears


def unlink(file: Path) -> None:
    file.unlink()


def rename(file: Path) -> None:
    file.rename(file.with_suffix(".csv.off"))


def lead_nowhere(file: Path) -> None:
    """A link without a file behind it."""
    file.unlink()
    file.symlink_to("nothing.csv")


def make_special(file: Path) -> None:
    """A FIFO, which is no regular file."""
    file.unlink()
    os.mkfifo(file)
