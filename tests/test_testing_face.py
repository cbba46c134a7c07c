"""What the tests of a plugin say when they fail: pytest is run over a broken one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.running import ROOT, Instance

PLUGIN = ROOT / "tests" / "sample_plugin"


def said(tmp_path: Path, *edits: tuple[str, str]) -> str:
    """What the tests of the sample plugin print, its module edited."""
    site = tmp_path / "site"
    shutil.copytree(PLUGIN / "sample_notes", site / "sample_notes", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PLUGIN / "tests" / "test_notes.py", tmp_path)
    module = site / "sample_notes" / "notes.py"
    text = module.read_text(encoding="utf-8")
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    module.write_text(text, encoding="utf-8")
    environ = Instance(tmp_path / "unused", {"PYTHONPATH": f"{site}:{ROOT}"}).environ()
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", tmp_path],
                          env=environ, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 1, done.stdout
    return done.stdout


UPDATE = '''
    def update(self, call, row, changes):
        super().update(call, row, {name: value for name, value in changes.items() if name != "text"})

    @action('''
CREATE = '''
    def create(self, call, row):
        super().create(call, row)
        row.pinned = True
        call.headers["Location"] = "elsewhere"

    @action('''


@pytest.mark.parametrize(("edit", "sentences"), [
    (("\n    @action(", UPDATE), ["after a PATCH: version is 1, not 2; text is 'Note ", ", not 'Another'"]),
    (("\n    @action(", CREATE), ["what is read after it was created: pinned is False, not True"]),
], ids=["update", "create"])
def test_a_contract_that_is_broken_names_the_field_and_both_values(tmp_path, edit, sentences):
    printed = said(tmp_path, edit)
    for sentence in sentences:
        assert sentence in printed


def test_halves_that_differ_name_the_sample_and_what_each_says(tmp_path):
    printed = said(tmp_path, ("== start,", "!= start,"))
    assert "begins with 'For all', r.obj.text is 'For all': `holds` says True, `where` False" in printed


SHOW = """
    def show(self, call, names=None):
        answer = super().show(call, names)
        call.headers["ETag"] = "of another kind"
        return answer

    @action("""


def test_the_assertions_of_the_contract_say_what_they_have_compared(tmp_path):
    assert "assert (200, 'of another kind') == (200, '\"1\"')" in said(tmp_path, ("\n    @action(", SHOW))
