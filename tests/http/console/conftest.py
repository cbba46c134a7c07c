"""Fixtures for the pages of the console."""

import pytest

from tests.databases import new_database
from tests.http.console.edited import edited, unedited  # noqa: F401 - pytest finds fixtures by name
from tests.trials import all_here  # noqa: F401


@pytest.fixture(scope="module")
def database_url(request: pytest.FixtureRequest) -> str:
    """The URL of a new SQLite database for each test module.

    Pages show answers of the API, whose tests run on both databases. test_every_control.py goes through all pages of an
    administrator on Postgres, too.
    """
    return new_database("sqlite", request)
