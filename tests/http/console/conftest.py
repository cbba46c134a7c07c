"""Fixtures for the pages of the console."""

from tests.http.console.edited import edited, unedited  # noqa: F401 - pytest finds fixtures by name
from tests.trials import all_here  # noqa: F401
