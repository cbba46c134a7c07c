"""A running service never loses its invariants by accident: by a rule, by a missing file, or by a plugin."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from policies import PolicyError, Principal
from policies.evaluation.principal import FixedEnvironment
from policies.loading.folder import Folder
from policies.loading.oracle import Oracle
from policies.loading.snapshot import LAST_GOOD
from policies.loading.watch import Watcher
from policies.tools.export import export
from tests.policies.editing import (
    add_line,
    lead_nowhere,
    make_special,
    remove_line,
    rename,
    shipped_copy,
    unlink,
)
from tests.policies.shipped_vocabulary import VOCABULARY

BREAKING = "p, guest, category.update, always, allow"


@pytest.fixture
def directory(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Path:
    caplog.set_level(logging.WARNING, logger="gatepost.policy")
    return shipped_copy(tmp_path / "policies", invariants=True)


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """The rules of a plugin, which break no invariant."""
    place = tmp_path / "package" / "notes.csv"
    place.parent.mkdir()
    place.write_text("p, user, comment.export, own, allow\n# end\n")
    return place


def watching(directory: Path, **plugins: Path) -> Watcher:
    named = {f"{name}.csv": place for name, place in plugins.items()}
    return Watcher(Folder(directory, VOCABULARY, plugins=named), keep=directory.parent)


def settle(watcher: Watcher) -> str:
    """Polls twice. Returns the error of the files."""
    watcher.poll()
    return watcher.poll().error or ""


def test_an_edit_that_breaks_an_invariant_keeps_the_last_good_policy_over_a_restart_too(directory: Path) -> None:
    watcher = watching(directory)
    before = watcher.current
    add_line(directory / "categories.csv", BREAKING)
    assert "categories.csv:22: with this rule guest may category.update; invariants.csv:14" in settle(watcher)
    assert watcher.current is before
    again = watching(directory)
    assert again.current.version == before.version and "invariants.csv:14" in str(again.status.error)


def test_to_open_a_door_on_purpose_its_line_goes_in_the_same_edit(directory: Path) -> None:
    watcher = watching(directory)
    add_line(directory / "categories.csv", BREAKING)
    remove_line(directory / "invariants.csv", "never, guest, *.update")
    assert settle(watcher) == ""
    assert watcher.current.version != "" and "invariants.csv" in watcher.current.files


def test_an_edit_of_the_invariants_alone_is_a_new_version(directory: Path) -> None:
    watcher = watching(directory)
    before = watcher.current
    add_line(directory / "invariants.csv", "never, guest, stats.view")
    assert settle(watcher) == ""
    assert watcher.current.version != before.version and watcher.current.rules == before.rules


def _cut(file: Path) -> None:
    file.write_bytes(b"")


@pytest.mark.parametrize("take", [unlink, rename, lead_nowhere, make_special, _cut])
def test_a_file_that_is_taken_away_is_a_broken_edit_over_a_restart_too(
    directory: Path, take: Callable[[Path], None]
) -> None:
    watcher = watching(directory)
    before = watcher.current
    take(directory / "invariants.csv")
    assert "invariants.csv" in settle(watcher) and watcher.current is before
    again = watching(directory)
    assert again.current.version == before.version and again.status.error
    assert "invariants.csv" in again.current.files


def test_a_missing_file_says_what_to_do_and_an_emptied_one_gives_its_lines_up(directory: Path) -> None:
    watcher = watching(directory)
    (directory / "invariants.csv").unlink()
    said = settle(watcher)
    assert said == ("invariants.csv: the file is gone. Bring it back (`gatepost policy adopt invariants` brings the "
                    "shipped one); or, to give up its invariants, write one whose only line is `# end`")
    (directory / "invariants.csv").write_text("# end\n")
    add_line(directory / "categories.csv", BREAKING)
    assert settle(watcher) == "" and watching(directory).status.error is None


def test_an_instance_that_never_had_the_file_needs_none(directory: Path) -> None:
    (directory / "invariants.csv").unlink()
    watcher = watching(directory)
    assert watcher.status.error is None
    add_line(directory / "categories.csv", BREAKING)
    assert settle(watcher) == ""


def test_a_plugin_whose_rules_break_an_invariant_stops_the_start_and_is_named(directory: Path, plugin: Path) -> None:
    watching(directory)
    plugin.write_text(f"{BREAKING}\n# end\n")
    with pytest.raises(PolicyError) as error:
        watching(directory, notes=plugin)
    first, second = map(str, error.value.findings)
    assert first.startswith(f"notes.csv: these rules come with a plugin ({plugin}). ")
    assert second.startswith("notes.csv:1: with this rule guest may category.update; invariants.csv:14 ")


def test_a_plugin_that_was_good_is_no_reason_to_stop_when_the_administrator_shuts_a_door(
    directory: Path, plugin: Path
) -> None:
    before = watching(directory, notes=plugin).current
    add_line(directory / "invariants.csv", "never, user, comment.export")
    again = watching(directory, notes=plugin)
    assert again.current.version == before.version and "notes.csv:1" in str(again.status.error)


def test_a_file_of_the_administrator_in_place_of_the_plugin_s_is_an_edit_like_others(
    directory: Path, plugin: Path
) -> None:
    before = watching(directory, notes=plugin).current
    (directory / "notes.csv").write_text(f"{BREAKING}\n# end\n")
    again = watching(directory, notes=plugin)
    assert again.current.version == before.version and (directory.parent / LAST_GOOD).exists()


def test_casbin_answers_from_the_rules_alone(directory: Path) -> None:
    policy = watching(directory).current
    asked = (Principal(None, "guest", "guest", "t", None, "guest"), "health.view", None, FixedEnvironment())
    assert Oracle.of(policy).decide(*asked) is policy.decide(*asked) is True
    assert "invariants.csv" not in (exported := export(directory).policy) and "\nnever" not in exported
