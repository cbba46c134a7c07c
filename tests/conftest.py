"""Fixtures for all tests: databases of both dialects, fresh for each module."""

from tests.databases import (  # noqa: F401 - pytest finds fixtures by name
    database,
    database_url,
    opened,
    postgres_server,
    postgres_template,
    sqlite_template,
)
