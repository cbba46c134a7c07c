"""Plugins that a test installs: for commands in its process, and for apps on each database."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import invalidate_caches
from pathlib import Path

import pytest
from flask import Flask

from gatepost.collections.plugins.discovery import discover
from gatepost.commands import policy_files
from models.engine.connect import open_database
from models.migrate import upgrade
from tests.apps import close, make_app, new_instance
from tests.databases import new_database
from tests.docs.documents import example

SAMPLE = Path(__file__).parent / "sample_plugin" / "sample_notes"
# The function that docs/plugins/rules.md adds to the sample plugin, and its test there.
FUNCTION = example("begins = Function(")
HALVES = """
from sample_notes.notes import Note, begins
from gatepost.testing import halves_agree

test_begins = halves_agree(begins, Note, ("For all",), text=("For all: we meet at ten",))
"""


def copy_sample(folder: Path, package: str = "sample_notes") -> Path:
    """Copies the package of the sample plugin into a folder and adds the function. Returns the package."""
    copy = shutil.copytree(SAMPLE, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    with (copy / "notes.py").open("a", encoding="utf-8") as module:
        module.write(FUNCTION)
    return copy


def write_sample(site: Path) -> Path:
    """Writes the sample plugin into a folder as pip would install it. Returns the folder of its package."""
    made = copy_sample(site)
    written = site / "sample_notes-1.0.dist-info"
    written.mkdir()
    (written / "METADATA").write_text("Metadata-Version: 2.1\nName: sample-notes\nVersion: 1.0\n")
    (written / "entry_points.txt").write_text("[gatepost.collections]\nnotes = sample_notes.notes:Notes\n")
    return made


@contextmanager
def installed(site: Path, *packages: str) -> Iterator[None]:
    """Makes this process find the packages installed in the folder, and forget them at the end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(site)
        invalidate_caches()
        policy_files.registry.cache_clear()  # a command looks up once what is installed
        try:
            yield
        finally:
            policy_files.registry.cache_clear()
            for name in [name for name in sys.modules if name.partition(".")[0] in packages]:
                del sys.modules[name]


@pytest.fixture(params=["sqlite", "postgres"])
def serving(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Flask]]:
    """`serving(notes="p, …")` returns an app on a new instance with these rules and the migrations of plugins."""
    apps = []

    def serve(**policies: str) -> Flask:
        url = new_database(request.param, request)
        folder = new_instance(tmp_path / "instance", url, "default")
        for name, text in policies.items():
            (folder / "policies" / f"{name}.csv").write_text(text, encoding="utf-8")
        database = open_database(url, pool_size=1, synchronous="normal", statement_timeout=10)
        upgrade(database, discover().migrations)
        database.close_all()
        apps.append(make_app(folder, url))
        return apps[-1]

    yield serve
    for app in apps:
        close(app)
