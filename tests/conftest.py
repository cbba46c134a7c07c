"""Fixtures for all tests: databases of both dialects, and an app on each of them, fresh for each module."""

import gc

from tests.apps import (  # noqa: F401 - pytest finds fixtures by name
    after_sunset,
    answers_otherwise,
    app,
    as_role,
    as_user,
    client,
    elsewhere,
    given,
    instance_folder,
    short_second_opinion,
)
from tests.databases import (  # noqa: F401
    database,
    database_url,
    opened,
    own_server,
    postgres_server,
    postgres_template,
    sqlite_template,
)
from tests.plugin_apps import serving  # noqa: F401
from tests.rules import under  # noqa: F401
from tests.trials import here  # noqa: F401

# A project of its own; test_plugins.py installs it and runs its tests.
collect_ignore = ["sample_plugin"]


def pytest_collection_finish() -> None:
    """Leave what was collected, half a gigabyte of tests and their parameters, out of every later search for garbage,
    and search more seldom: that took a quarter of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 20)
