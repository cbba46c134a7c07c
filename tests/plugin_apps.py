"""Apps that serve the plugins which are installed while a test runs, on each database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from flask import Flask

from blueprints.http.resources.plugins.discovery import discover
from models.engine.connect import open_database
from models.migrate import upgrade
from tests.apps import close, make_app, new_instance
from tests.databases import new_database


@pytest.fixture(params=["sqlite", "postgres"])
def serving(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Flask]]:
    """`serving(notes="p, …")`: an app on a new instance that has these rules besides, and the migrations of plugins."""
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
