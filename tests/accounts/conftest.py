"""An app whose users log in with a provider of the tests, a clock, and users with a phone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from blueprints.accounts.second_factor import totp
from gatepost.http.pipeline.application import Application
from gatepost.testing import Caller
from models.tables.user import User
from tests.accounts.phones import Clock, Phone, enrol
from tests.accounts.provider import CLIENT, SECRET, Provider, serving
from tests.apps import PASSWORD, close, make_app

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


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(totp, "time", clock)
    return clock


@pytest.fixture
def guest(as_role) -> Caller:
    return as_role("guest")


@pytest.fixture
def enrolled(given, as_user, clock) -> Callable[..., tuple[User, Phone]]:
    """Makes a user of a role with a second factor."""
    def make(role: str = "user") -> tuple[User, Phone]:
        user = given.user(role, password=PASSWORD)
        return user, enrol(as_user(user), clock)

    return make
