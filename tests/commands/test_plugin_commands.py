"""Commands of plugins: imported when they are called, without effect on other commands."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import invalidate_caches
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from gatepost.commands.plugins import Commands
from tests.running import Instance, cli, just_started

COMMAND = """
import click
from gatepost import echo, open_instance

@click.group()
def notes():
    \"\"\"Look at notes.\"\"\"

@notes.command()
@click.option("--tenant")
def where(tenant):
    \"\"\"Say of which tenant.\"\"\"
    with open_instance() as instance:
        echo(instance.tenant(tenant).name)
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Writes packages as pip would install them: `entry points`, and the text of the module `brought`."""
    made: list[str] = []

    def install(points: str, text: str = COMMAND, package: str = "brought_by_test") -> None:
        made.append(package)
        site = tmp_path / "site"
        site.mkdir(exist_ok=True)
        (site / f"{package}.py").write_text(text, encoding="utf-8")
        written = site / f"{package}-1.0.dist-info"
        written.mkdir()
        (written / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (written / "entry_points.txt").write_text(f"[gatepost.commands]\n{points}\n")
        monkeypatch.syspath_prepend(site)
        invalidate_caches()

    yield install
    for name in made:
        sys.modules.pop(name, None)


def typed(*arguments: str) -> Result:
    """Runs a command as in a new process, because a process looks up its plugins once."""
    return CliRunner().invoke(just_started(), arguments)


def test_a_command_is_listed_without_being_imported(installed):
    installed("notes = brought_by_test:notes", "raise RuntimeError('imported')")
    listed = typed("--help")
    assert listed.exit_code == 0 and "  notes     Of the plugin brought_by_test.\n" in listed.output
    assert "brought_by_test" not in sys.modules


def test_it_runs_on_the_instance_as_ours_do(installed, tmp_path, monkeypatch):
    installed("notes = brought_by_test:notes")
    instance = Instance(tmp_path / "instance").made()
    monkeypatch.setenv("GATEPOST_INSTANCE", str(instance.folder))
    assert typed("notes", "where").output == "default\n"
    assert typed("notes", "where", "--tenant", "x").output == (
        "Error: There is no tenant x. Add it with: gatepost tenant add x\n")
    assert "Say of which tenant." in typed("notes", "--help").output
    monkeypatch.setenv("GATEPOST_INSTANCE", str(tmp_path / "nowhere"))
    assert typed("notes", "where").output.startswith("Error: There is no instance in ")


@pytest.mark.parametrize(("text", "said"), [
    ("import nowhere_to_be_found", "cannot be imported: No module named 'nowhere_to_be_found'"),
    ("1 / 0", "cannot be imported: division by zero"),
    ("other = 1", "cannot be imported: "),
    ("def notes(): ...", "is no command, and no group, of click"),
])
def test_one_that_cannot_be_used_is_named_and_breaks_no_other(installed, text, said):
    installed("notes = brought_by_test:notes", text)
    refused = typed("notes")
    assert refused.exit_code == 1
    assert refused.output.startswith(f"Error: plugin command notes (brought_by_test:notes) {said}")
    assert typed("settings", "--help").exit_code == 0
    assert typed("--help").exit_code == 0


@pytest.mark.parametrize(("points", "said"), [
    ("user = brought_by_test:notes", "gatepost user is a command of Gatepost itself; choose another name"),
    ("My_Notes = brought_by_test:notes", "the name of a command has small letters, digits and single hyphens"),
])
def test_a_name_that_is_ours_or_cannot_be_typed_is_refused_and_ours_goes_on(installed, points, said):
    installed(points)
    for command in ("serve", "worker"):
        refused = typed(command)
        assert refused.exit_code == 1
        assert refused.output == f"Error: plugin command {points.replace(' = ', ' (')}): {said}\n"
    assert "Add users" in typed("user", "--help").output
    assert "brought_by_test" not in typed("--help").output


def test_a_name_that_two_plugins_bring_is_refused(installed):
    installed("notes = brought_by_test:notes")
    installed("notes = also_brought_by_test:notes", package="also_brought_by_test")
    for arguments in (["notes"], ["serve"]):
        refused = typed(*arguments)
        assert refused.exit_code == 1 and "the command gatepost notes is brought by each of them" in refused.output


def test_the_doctor_names_it_among_the_plugins(installed, tmp_path, monkeypatch):
    installed("user = brought_by_test:notes")
    instance = Instance(tmp_path / "instance").made()
    monkeypatch.setenv("GATEPOST_INSTANCE", str(instance.folder))
    found = typed("doctor")
    assert found.exit_code == 1
    line, = [line for line in found.output.splitlines() if line.startswith("FAIL")]
    assert "plugins" in line and "gatepost user is a command of Gatepost itself" in line


def test_the_settings_are_shown_though_a_plugin_is_broken(tmp_path, monkeypatch):
    site = tmp_path / "site" / "broken_by_test-1.0.dist-info"
    site.mkdir(parents=True)
    (site / "METADATA").write_text("Metadata-Version: 2.1\nName: broken_by_test\nVersion: 1.0\n")
    (site / "entry_points.txt").write_text("[gatepost.collections]\nbroken = broken_by_test\n")
    monkeypatch.syspath_prepend(site.parent)
    invalidate_caches()
    monkeypatch.setenv("GATEPOST_INSTANCE", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GATEPOST_BROKEN_X", "1")
    shown = typed("settings")
    assert shown.exit_code == 1 and "\nport = 8000\n" in shown.output
    assert shown.output.splitlines()[-1].startswith("Error: plugin broken (broken_by_test) cannot be imported: ")


def test_a_command_of_a_plugin_is_one_of_click():
    assert isinstance(cli, Commands) and isinstance(cli, click.Group)
