"""The page about OWASP ASVS 5.0: each requirement of level 1 and 2 of three chapters once, and what it names exists."""

from __future__ import annotations

import re

from tests.running import ROOT

PAGE = ROOT / "docs/running/asvs.md"
STATES = {"met", "not met", "not applicable"}
# Section → numbers of level 1 and 2, from the English text of version 5.0.
REQUIRED = {
    "6.1": range(1, 4), "6.2": range(1, 13), "6.3": range(1, 5), "6.4": range(1, 5), "6.5": range(1, 6),
    "6.6": range(1, 4), "6.8": range(1, 5),
    "7.1": range(1, 4), "7.2": range(1, 5), "7.3": range(1, 3), "7.4": range(1, 6), "7.5": range(1, 3),
    "7.6": range(1, 3),
    "10.1": range(1, 3), "10.2": range(1, 3), "10.3": range(1, 5), "10.4": range(1, 12), "10.5": range(1, 6),
    "10.6": range(1, 3), "10.7": range(1, 4)}
ROW = re.compile(r"^\| ([0-9]+\.[0-9]+\.[0-9]+) \| ([^|]+) \| (.+) \|$", re.MULTILINE)


def rows():
    return ROW.findall(PAGE.read_text(encoding="utf-8"))


def test_each_requirement_has_one_row():
    wanted = sorted(f"{section}.{number}" for section, numbers in REQUIRED.items() for number in numbers)
    assert sorted(number for number, _, _ in rows()) == wanted


def test_each_row_has_a_state_and_says_where():
    assert [number for number, state, where in rows() if state not in STATES or len(where) < 6] == []


def test_files_that_it_names_exist():
    """A name without a folder is a template or a module beside the last file with one."""
    lost, folder = [], ROOT
    for number, _, where in rows():
        for name in re.findall(r"`([\w/.-]+\.(?:py|html|txt))`", where):
            file = ROOT / name if "/" in name else folder / name
            if not file.exists() and not ("/" not in name and list(ROOT.glob(f"blueprints/**/{name}"))):
                lost.append((number, name))
            folder = file.parent
    assert lost == []


def test_settings_that_it_names_exist():
    declared = (ROOT / "settings" / "declared.py").read_text(encoding="utf-8")
    named = {name for _, _, where in rows()
             for name in re.findall(r"`((?:refresh|console|user|login)_[a-z_]+)`", where)}
    assert len(named) >= 6
    assert [name for name in sorted(named) if f"    {name}: " not in declared] == []
