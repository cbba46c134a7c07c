"""A foreign module that shadows one of Gatepost's on Python's path: it stops the start, and the error names it."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

from gatepost_start import NAMES, foreign
from tests.running import ROOT

# Ways to start, each with the module that it imports itself, before any code of Gatepost runs.
SLOW = pytest.mark.slow
COMMAND = ("-c", "from gatepost_start.command import cli; cli(['--version'])")  # the script of a wheel
STARTS = {
    "command": (COMMAND, None),
    "python -m gatepost": (("-m", "gatepost", "--version"), "gatepost"),
    "a WSGI server of app": (("-c", "from app import create_app"), "app"),
    "a plugin's import": (("-c", "import gatepost"), "gatepost"),
}


def start(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs Python with a folder before Gatepost on its path."""
    environ = {**os.environ, "PYTHONPATH": f"{folder}:{ROOT}"}
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=environ, text=True, capture_output=True,
                          timeout=60, check=False)


def decoy(folder: Path, name: str, kind: str) -> Path:
    """A module, package or other folder with one of Gatepost's names."""
    made = folder / (f"{name}.py" if kind == "module" else name)
    if kind == "module":
        made.write_text("raise SystemExit('the wrong module')\n", encoding="utf-8")
    else:
        made.mkdir()
        if kind == "package":
            (made / "__init__.py").write_text("raise SystemExit('the wrong package')\n", encoding="utf-8")
    return made


@pytest.mark.parametrize(("arguments", "name"), [
    pytest.param(arguments, name, id=f"{way}, {name}", marks=[] if arguments == COMMAND and name == "app" else SLOW)
    for way, (arguments, imported_first) in STARTS.items() for name in NAMES if name != imported_first
])
def test_a_start_names_the_foreign_module_in_front(arguments, name, tmp_path):
    made = decoy(tmp_path, name, "module")
    done = start(tmp_path, *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (f"Error: {made} stands in front of Gatepost's own {name} on Python's path. "
                           "Rename it, or start in another folder and without it in PYTHONPATH.\n")


@pytest.mark.slow
def test_the_command_is_also_a_module_to_run(tmp_path):
    done = start(tmp_path, "-m", "gatepost", "--version")
    assert (done.returncode, done.stdout.partition(" ")[0]) == (0, "gatepost,")


@pytest.mark.slow
def test_a_foreign_package_is_named_by_its_folder(tmp_path):
    made = decoy(tmp_path, "models", "package")
    done = start(tmp_path, *COMMAND)
    assert (done.returncode, done.stderr.startswith(f"Error: {made} stands in front")) == (1, True)


@pytest.mark.slow
def test_a_folder_without_python_in_it_is_no_foreign_package(tmp_path):
    decoy(tmp_path, "policies", "folder")
    done = start(tmp_path, *COMMAND)
    assert (done.returncode, done.stderr) == (0, "")


def look_only_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes Python look for modules in this folder only, as if it had imported nothing yet."""
    monkeypatch.setattr(sys, "path", [str(folder)])
    monkeypatch.setattr(sys, "meta_path", [PathFinder])
    for name in NAMES:
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.mark.parametrize("kind", ["module", "package"])
@pytest.mark.parametrize("name", NAMES)
def test_a_foreign_module_is_found_under_each_name(name, kind, tmp_path, monkeypatch):
    made = decoy(tmp_path, name, kind)
    look_only_in(tmp_path, monkeypatch)
    found = foreign(ROOT)
    assert found in (made, made / "__init__.py")


def test_a_folder_that_is_imported_in_place_of_a_package_is_named(tmp_path, monkeypatch):
    # As if Gatepost were installed by a finder that Python uses last.
    made = decoy(tmp_path, "policies", "folder")
    look_only_in(tmp_path, monkeypatch)
    assert foreign(ROOT) == made


def test_files_that_an_installer_has_linked_into_place_are_gateposts_own(tmp_path, monkeypatch):
    for name in ("app.py", "settings"):
        (tmp_path / name).symlink_to(ROOT / name)
    look_only_in(tmp_path, monkeypatch)
    assert foreign(tmp_path) is None
