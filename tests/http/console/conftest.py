"""Fixtures for the pages of the console."""

from tests.http.console.edited import edited  # noqa: F401 - pytest finds fixtures by name
