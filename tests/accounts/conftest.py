"""An app whose users log in with a provider of the tests, a clock, and users with a phone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from blueprints.accounts.second_factor import totp
from blueprints.accounts.single_sign_on.issuers import make
from gatepost.http.pipeline.application import Application
from gatepost.http.request.call import Services
from gatepost.testing import Caller
from models.tables.identity import Identity
from models.tables.user import User
from tests.accounts.phones import Clock, Phone, enrol
from tests.accounts.provider import CLIENT, SECRET, Provider, serving
from tests.apps import PASSWORD, Given, close, make_app

URL = "http://localhost"


@pytest.fixture(scope="module")
def provider_of_module() -> Iterator[Provider]:
    with serving() as provider:
        yield provider


@pytest.fixture
def provider(provider_of_module: Provider) -> Provider:
    provider_of_module.begin_anew()
    return provider_of_module


@pytest.fixture
def no_identities(given: Given) -> None:
    """Removes the identities of earlier tests, because the provider is the same."""
    given.database.transact(lambda: Identity.delete().execute())


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


def forget_providers(app: Application) -> Application:
    """Makes an app forget the documents and keys of its providers, and returns it."""
    services: Services = app.extensions["gatepost"]
    services.made["accounts"] = make(services)
    return app


@pytest.fixture(scope="module")
def team_of_module(instance_folder, database_url, provider_of_module) -> Iterator[Application]:
    with app_with(instance_folder, database_url, provider_of_module) as app:
        yield app


@pytest.fixture
def team(team_of_module: Application, provider: Provider) -> Application:
    return forget_providers(team_of_module)


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
