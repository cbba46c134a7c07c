"""An app whose users log in with a provider of the tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gatepost.http.pipeline.application import Application
from tests.accounts.provider import CLIENT, SECRET, Provider, serving
from tests.apps import close, make_app

URL = "http://localhost"


@pytest.fixture
def provider() -> Iterator[Provider]:
    with serving() as provider:
        yield provider


@contextmanager
def app_with(folder: Path, database_url: str, provider: Provider, settings: Any = (), **entries: Any
             ) -> Iterator[Application]:
    """Serves an app with this provider. `entries` are of its table, `settings` of the app."""
    table = {"issuer": provider.issuer, "client_id": CLIENT, "client_secret": SECRET, "private": True,
             "label": "The Team", **entries}
    app = make_app(folder, database_url, **{"public_url": URL, "oidc": {"team": table}, **dict(settings)})
    try:
        yield app
    finally:
        close(app)


@pytest.fixture
def team(instance_folder, database_url, provider) -> Iterator[Application]:
    with app_with(instance_folder, database_url, provider) as app:
        yield app
