"""An instance on each database, before and after `gatepost init`."""

from __future__ import annotations

import pytest
from argon2.exceptions import HashingError

from gatepost.http.security import passwords
from tests.databases import new_database
from tests.running import Instance


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def dialect(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def empty(dialect: str, request: pytest.FixtureRequest, tmp_path) -> Instance:
    """An instance before `gatepost init`."""
    return Instance(tmp_path / "instance", _environment(dialect, request))


@pytest.fixture(scope="module")
def instance(dialect: str, request: pytest.FixtureRequest, tmp_path_factory) -> Instance:
    """A made instance without demo data, for all tests of a module."""
    return Instance(tmp_path_factory.mktemp("made") / "instance", _environment(dialect, request)).made()


@pytest.fixture
def without_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes Argon2 fail for lack of memory, with the library's error."""
    class Starved:
        def hash(self, password: str) -> str:
            raise HashingError("Memory allocation error")

    monkeypatch.setattr(passwords, "_hasher", Starved())


def _environment(dialect: str, request: pytest.FixtureRequest) -> dict[str, str]:
    # No URL for SQLite, so that the default is tested too.
    return {} if dialect == "sqlite" else {"GATEPOST_DATABASE_URL": new_database(dialect, request, migrated=False)}
