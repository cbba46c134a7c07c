"""The messages of a plugin's failing tests: pytest runs over a broken plugin."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from app import create_app
from gatepost.testing import log_in, served
from tests.http.resources.shelf.books import Books
from tests.plugin_apps import HALVES, SAMPLE, copy_sample
from tests.running import ROOT, Instance

app = served(create_app, Books)


def said(tmp_path: Path, *edits: tuple[str, str]) -> str:
    """Edits the module of the sample plugin, and returns the output of its failing tests."""
    site = tmp_path / "site"
    module = copy_sample(site) / "notes.py"
    test = (SAMPLE.parent / "tests" / "test_notes.py").read_text(encoding="utf-8")
    (tmp_path / "test_notes.py").write_text(test + HALVES, encoding="utf-8")
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


@pytest.mark.slow
@pytest.mark.parametrize(("edit", "sentences"), [
    (("\n    @action(", UPDATE), ["after a PATCH: version is 1, not 2; text is 'Note ", ", not 'Another'"]),
    (("\n    @action(", CREATE), ["what is read after it was created: pinned is False, not True"]),
], ids=["update", "create"])
def test_a_contract_that_is_broken_names_the_field_and_both_values(tmp_path, edit, sentences):
    printed = said(tmp_path, edit)
    for sentence in sentences:
        assert sentence in printed


@pytest.mark.slow
def test_halves_that_differ_name_the_sample_and_what_each_says(tmp_path):
    printed = said(tmp_path, ("== start,", "!= start,"))
    assert "begins with 'For all', r.obj.text is 'For all': `holds` says True, `where` False" in printed


LATE = '''
    def stamp(self, call, row):
        super().stamp(call, row)

    def create(self, call, row):
        row.status = "open"
        super().create(call, row)

    @action('''


@pytest.mark.slow
def test_a_column_that_is_filled_after_the_decision_is_named(tmp_path):
    printed = said(tmp_path, ('status = pw.TextField(default="open")', "status = pw.TextField()"),
                   ("\n    @action(", LATE))
    assert "a new row has no status when note.create is judged: set it in `derive`, or name it in" in printed


SHOW = """
    def show(self, call, names=None):
        answer = super().show(call, names)
        call.headers["ETag"] = "of another kind"
        return answer

    @action("""


@pytest.mark.slow
def test_the_assertions_of_the_contract_say_what_they_have_compared(tmp_path):
    assert "assert (200, 'of another kind') == (200, '\"1\"')" in said(tmp_path, ("\n    @action(", SHOW))


def test_a_user_of_a_test_has_the_values_that_it_is_made_with(app):
    caller = log_in(app, "user", department="sales", groups=["atlas"], name="Ann")
    profile = caller.get("/api/profile").get_json()
    assert {name: profile[name] for name in ("name", "role", "department", "groups")} == {
        "name": "Ann", "role": "user", "department": "sales", "groups": ["atlas"]}
    book = caller.post("/api/books", {"title": "Of sales"})
    assert (book.status_code, book.get_json().get("department", "sales")) == (201, "sales"), book.text


def test_values_that_no_user_has_or_that_would_change_one_are_refused(app):
    with pytest.raises(TypeError, match="a user has no 'departement'; did you mean department"):
        log_in(app, "user", departement="sales")
    user = log_in(app, "user").user
    with pytest.raises(TypeError, match="log_in takes values of a user who is made up from a role"):
        log_in(app, user, department="sales")
