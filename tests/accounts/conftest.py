"""A clock of the tests, and users with a phone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from blueprints.accounts.second_factor import totp
from gatepost.testing import Caller
from models.tables.user import User
from tests.accounts.phones import Clock, Phone, enrol
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
