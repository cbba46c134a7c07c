"""A clock of the tests, users with a phone, and apps with an identity provider."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from blueprints.accounts.second_factor import totp
from gatepost.http.pipeline.application import Application
from gatepost.testing import Caller
from models.tables.user import User
from tests.accounts.phones import Clock, Phone, enrol
from tests.accounts.provider import Provider, serving
from tests.accounts.teams import app_with
from tests.apps import PASSWORD


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


@pytest.fixture
def provider() -> Iterator[Provider]:
    with serving() as provider:
        yield provider


@pytest.fixture
def team(instance_folder, database_url, provider) -> Iterator[Application]:
    with app_with(instance_folder, database_url, provider) as app:
        yield app
