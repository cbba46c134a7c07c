"""A plugin's model names a column that its migrations do not create: each error names its file and line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gatepost.collections.plugins.places import place_in
from tests.databases import new_database
from tests.plugin_apps import installed, write_sample
from tests.running import Instance
from tests.samples import sampled


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.both_databases)])
def broken(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Instance, str]]:
    """An instance whose table of notes lacks a column, and the place of the column in the model."""
    site = tmp_path_factory.mktemp("site")
    notes = write_sample(site) / "notes.py"
    lines = notes.read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if "    status = pw" in line)
    notes.write_text("\n".join([*lines[:at], "    shade = pw.TextField(null=True)", *lines[at:], ""]))
    url = new_database(request.param, request, migrated=False)
    with installed(site, "sample_notes"):
        instance = Instance(tmp_path_factory.mktemp("broken") / "instance", {"GATEPOST_DATABASE_URL": url}).made()
        yield instance, f"{notes}:{at + 1}"


@pytest.mark.parametrize("command", sampled([
    "migrate", "migrate --check", "doctor", "plugin list", "openapi", "export notes {folder}/notes.csv",
    "user export admin@example.org {folder}/admin.ndjson", "policy who note.view 0199f3a0-0000-7000-8000-000000000001",
    "policy explain note.view 0199f3a0-0000-7000-8000-000000000001 --as admin"], 3))
def test_a_command_names_the_file_and_the_line_of_the_column(broken, command, tmp_path: Path):
    instance, place = broken
    done = instance.run(*command.format(folder=tmp_path).split())
    assert done.returncode != 0
    assert f"{place}: the table 'notes' has no column 'shade', which Note names; a migration adds it" in (
        done.stdout + done.stderr)


def test_what_does_without_that_table_goes_on(broken):
    assert broken[0].run("user", "list").returncode == 0


class Base:
    text = """
one
"""
    number: int = 5


class Child(Base):
    """A class that inherits."""

    other = 1


def test_the_place_of_an_inherited_attribute_is_where_it_is_written():
    lines = Path(__file__).read_text().splitlines()
    for name, written in (("number", "    number: int = 5"), ("other", "    other = 1"), ("text", '    text = """'),
                          ("nothing", "class Child(Base):")):
        assert place_in(Child, name) == f"{__file__}:{lines.index(written) + 1}"
