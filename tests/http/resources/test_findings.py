"""Unused declarations of a plugin: states that no row reaches, and texts that no code uses."""

from __future__ import annotations

from pathlib import Path

import peewee as pw
import pytest
from marshmallow import fields
from marshmallow.validate import OneOf

from gatepost import Collection, Owned, OwnedSchema, action, transition
from gatepost.collections.plugins.discovery import discover
from gatepost.collections.plugins.findings import unreachable, unused_texts
from gatepost.testing.contract import World, its_declarations_are_used


class Task(Owned):
    """One task."""

    title = pw.TextField()
    status = pw.TextField(default="open")
    phase = pw.IntegerField(default=1)
    unset = pw.TextField(null=True)

    class Meta:
        table_name = "tasks"


class TaskSchema(OwnedSchema):
    """One task."""

    title = fields.String(required=True)
    status = fields.String(dump_only=True)
    phase = fields.Integer(dump_only=True)
    unset = fields.String(dump_only=True)


class Known(TaskSchema):
    status = fields.String(dump_only=True, validate=OneOf(["open", "stuck"]))


class Tasks(Collection):
    """Tasks."""

    name, resource, model, schema = "tasks", "task", Task, TaskSchema
    start = transition("start", "Start it.", {"open": "running"})
    finish = transition("finish", "Finish it.", {"running": "done"})

    @action("retry", transitions={"stuck": "open", "done": "open", "lost": "open"})
    def retry(self, task: Task) -> None:
        """Try it again."""


class Chosen(Tasks):
    schema = Known


class Misspelt(Tasks):
    close = transition("close", "Close it.", {"opne": "closed"})
    drop = transition("drop", "Drop it.", {"closed": "dropped"})

    @action("retry", transitions={"done": "open"})
    def retry(self, task: Task) -> None:
        """Try it again."""


class Numbered(Tasks):
    go_on = transition("go-on", "Go on.", {1: 2, 2: 3, 4: 5}, state="phase")
    retry = None


class Unknown(Tasks):
    begin = transition("begin", "Begin.", {"new": "old"}, state="unset")
    retry = None


class Told(Tasks):
    def values_of(self, name: str) -> tuple[str, ...]:
        return ("open", "stuck", "lost") if name == "status" else super().values_of(name)


RETRY = '@action("retry", transitions={"stuck"'
LINES = Path(__file__).read_text(encoding="utf-8").splitlines()


def line(text: str) -> int:
    return next(number for number, one in enumerate(LINES, 1) if one.strip().startswith(text))


@pytest.mark.parametrize(("collection", "found"), [
    (Tasks, [(RETRY, "stuck"), (RETRY, "lost")]),
    (Chosen, [(RETRY, "lost")]),
    (Misspelt, [("close =", "opne"), ("drop =", "closed")]),
    (Numbered, [("go_on =", 4)]),
    (Unknown, []),
    (Told, []),
])
def test_a_state_that_no_row_is_ever_in_is_named_where_an_action_starts_from_it(collection, found):
    told = list(unreachable(collection()))
    assert [one.partition(", from which")[0] for one in told] == [
        f"{__file__}:{line(start)}: no row is ever {state!r}" for start, state in found]


def test_rows_of_each_shipped_collection_come_into_every_state():
    assert [one for collection in discover().collections.values() for one in unreachable(collection)] == []


PO = """msgid ""
msgstr "Content-Type: text/plain; charset=utf-8\\n"

#: notes.py
msgid "A pinned note stays open."
msgstr "Eine angeheftete Notiz bleibt offen."

msgid "It is put "
"together."
msgstr "Es ist zusammengesetzt."

msgid "{number} note"
msgid_plural "{number} notes"
msgstr[0] "{number} Notiz"
msgstr[1] "{number} Notizen"

msgid "Said in a template."
msgstr "In einer Vorlage."

msgid "Must not be blank."
msgstr "Darf nicht leer sein!"

msgid "A note that was renamed."
msgstr "Eine alte Notiz."

#~ msgid "An obsolete one."
#~ msgstr "Eine alte."
"""


@pytest.mark.parametrize("deep", [False, True])
def test_a_text_that_no_file_of_the_package_has_is_named_with_its_line(tmp_path, deep):
    package = tmp_path / "notes"
    folder = package / "inner" if deep else package
    (folder / "translations").mkdir(parents=True)
    for one in {package, folder}:
        (one / "__init__.py").write_text("")
    (package / "notes.py").write_text("def f(n):\n    raise Conflict('A pinned note stays open.')\n"
                                      "TEXT = ('It is put '\n        'together.')\n"
                                      "said = plural('{number} note', '{number} notes', 1)\n")
    (package / "page.html").write_text("<p>{{ _('Said in a template.') }}</p>")
    file = folder / "translations" / "de.po"
    file.write_text(PO)
    number = PO.splitlines().index('msgid "A note that was renamed."') + 1
    assert list(unused_texts(file.parent)) == [
        f"{file}:{number}: no file of the package has this text, so that "
        "nothing says it: 'A note that was renamed.'"]


def test_beside_a_module_that_is_no_package_only_its_folder_is_looked_at(tmp_path):
    (tmp_path / "translations").mkdir()
    (tmp_path / "translations" / "de.po").write_text(PO.partition("#: notes")[0] + 'msgid "A"\nmsgstr "B"\n')
    (tmp_path / "another").mkdir()
    (tmp_path / "another" / "__init__.py").write_text("said = 'A'\n")
    assert len(list(unused_texts(tmp_path / "translations"))) == 1
    (tmp_path / "notes.py").write_text("said = 'A'\n")
    assert list(unused_texts(tmp_path / "translations")) == []


def test_the_contract_fails_for_each():
    with pytest.raises(AssertionError, match="no row is ever 'opne'"):
        its_declarations_are_used(type("Fake", (World,), {"__init__": lambda self: None, "collection": Misspelt()})())
