"""A missing rule file is a broken edit, unless nothing changes without it, or an operator accepts it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from policies import SHIPPED, PolicyError
from policies.loading import snapshot
from policies.loading.folder import Folder
from policies.loading.loader import load
from policies.loading.snapshot import LAST_GOOD, LastGood
from policies.loading.watch import Watcher
from policies.questions.diff import decide_alike
from tests.policies.editing import lead_nowhere, make_special, rename, shipped_copy, unlink
from tests.policies.shipped_vocabulary import VOCABULARY

OWN = "p, support, order.approve, always, allow\n# end\n"
GIVEN_ALREADY = "p, admin, order.approve, always, allow\n# end\n"


@pytest.fixture
def directory(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Path:
    """The shipped rules, and a file of the administrator."""
    caplog.set_level(logging.CRITICAL, logger="gatepost.policy")
    made = shipped_copy(tmp_path / "policies", invariants=False)
    (made / "own.csv").write_text(OWN)
    return made


def watching(directory: Path, **plugins: Path) -> Watcher:
    named = {f"{name}.csv": place for name, place in plugins.items()}
    return Watcher(Folder(directory, VOCABULARY, plugins=named, alike=decide_alike), keep=directory.parent)


def settle(watcher: Watcher) -> str:
    watcher.poll()
    return watcher.poll().error or ""


@pytest.mark.parametrize("take", [unlink, rename, lead_nowhere, make_special])
def test_the_last_good_policy_stays_at_a_restart_too(directory: Path, take: Callable[[Path], None]) -> None:
    watcher = watching(directory)
    before = watcher.current
    take(directory / "own.csv")
    assert "own.csv: th" in settle(watcher) and watcher.current is before
    again = watching(directory)
    assert (again.current.version, "own.csv" in str(again.status.error)) == (before.version, True)
    (directory / "own.csv").unlink(missing_ok=True)
    (directory / "own.csv").write_text(OWN)
    assert settle(watcher) == "" and settle(again) == ""


def requiring(directory: Path, *more: str) -> Watcher:
    required = {path.name for path in SHIPPED.glob("*.c*")} - {"invariants.csv"} | set(more)
    return Watcher(Folder(directory, VOCABULARY, required=required, alike=decide_alike), keep=directory.parent)


def test_of_every_shipped_file_the_last_good_policy_stays_at_a_restart(directory: Path) -> None:
    before = requiring(directory).current.version
    for name in sorted(path.name for path in SHIPPED.glob("*.c*")):
        if (directory / name).exists():
            content = (directory / name).read_bytes()
            (directory / name).unlink()
            again = requiring(directory)
            assert (again.current.version, name in str(again.status.error)) == (before, True), name
            (directory / name).write_bytes(content)


def test_a_required_file_that_was_accepted_to_be_absent_is_missed_no_more(directory: Path) -> None:
    watcher = requiring(directory)
    (directory / "comments.csv").unlink()
    assert "comments.csv: the file is missing" in settle(watcher)
    accepted = load(directory, VOCABULARY)
    snapshot.keep(directory.parent / LAST_GOOD, LastGood(accepted.files, absent=frozenset({"comments.csv"})))
    assert settle(watcher) == "" and watcher.current.version == accepted.version
    for _ in range(2):
        assert requiring(directory).status.error is None
    (directory / "products.csv").unlink()
    assert "products.csv: the file is missing" in str(requiring(directory).status.error)


def test_a_file_that_a_new_version_requires_stops_the_start_until_the_operator_has_decided(directory: Path) -> None:
    requiring(directory)
    with pytest.raises(PolicyError, match="new.csv: the file is missing"):
        requiring(directory, "new.csv")


def test_it_says_what_to_do(directory: Path) -> None:
    watcher = watching(directory)
    (directory / "own.csv").unlink()
    assert settle(watcher) == (
        "own.csv: the file is gone, and without it, some users would be allowed more or less. Bring it back, or "
        "accept the files as they are: gatepost policy accept")


def test_a_file_that_only_gives_roles_to_groups_is_missed(directory: Path) -> None:
    """Without a line for a provider, a login takes no role away any more."""
    (directory / "own.csv").write_text("g, oidc:team/editors, editor\n# end\n")
    watcher = watching(directory)
    (directory / "own.csv").unlink()
    assert "own.csv: the file is gone" in settle(watcher)
    assert [line.group for line in watcher.current.roles.groups] == ["oidc:team/editors"]


@pytest.mark.parametrize("lines", [GIVEN_ALREADY, "# end\n"], ids=["lines that give nothing more", "no lines"])
def test_it_is_no_fault_where_everybody_may_do_what_they_might_before(directory: Path, lines: str) -> None:
    (directory / "own.csv").write_text(lines)
    watcher = watching(directory)
    (directory / "own.csv").unlink()
    assert settle(watcher) == "" and "own.csv" not in watcher.current.files


def test_a_file_that_gets_another_name_is_no_fault(directory: Path) -> None:
    watcher = watching(directory)
    (directory / "own.csv").rename(directory / "mine.csv")
    assert settle(watcher) == "" and "mine.csv" in watcher.current.files


def test_lines_that_are_taken_out_of_a_file_that_stays_are_an_edit(directory: Path) -> None:
    watcher = watching(directory)
    (directory / "own.csv").write_text("# end\n")
    assert settle(watcher) == ""


def test_what_is_there_comes_into_force_once_another_process_has_accepted_it(directory: Path) -> None:
    watcher = watching(directory)
    (directory / "own.csv").unlink()
    assert settle(watcher)
    accepted = load(directory, VOCABULARY)
    snapshot.keep(directory.parent / LAST_GOOD, LastGood(accepted.files))
    settle(watcher)
    assert watcher.current.version == accepted.version and watcher.status.error is None
    assert watching(directory).current.version == accepted.version


def test_rules_go_with_the_package_of_their_plugin(directory: Path, tmp_path: Path) -> None:
    plugin = tmp_path / "package" / "notes.csv"
    plugin.parent.mkdir()
    plugin.write_text(OWN)
    (directory / "own.csv").unlink()
    watching(directory, notes=plugin)
    assert watching(directory).status.error is None


def test_a_file_in_the_place_of_a_plugins_is_missed(directory: Path, tmp_path: Path) -> None:
    plugin = tmp_path / "package" / "own.csv"
    plugin.parent.mkdir()
    plugin.write_text("# end\n")
    watcher = watching(directory, own=plugin)
    (directory / "own.csv").unlink()
    assert "own.csv: the file is gone" in settle(watcher)


def test_a_last_good_policy_of_before_tells_its_files_all_the_same(directory: Path) -> None:
    watching(directory)
    place = directory.parent / LAST_GOOD
    place.write_text(place.read_text().replace(', "packaged": []', ""))
    (directory / "own.csv").unlink()
    assert "own.csv" in str(watching(directory).status.error)
