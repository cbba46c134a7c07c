"""Fixtures for all tests (databases of both dialects, an app on each of them), and the choice of tests to run.

Two markers say where a test runs. pyproject.toml describes them; CONTRIBUTING.md says which one to use.
"""

import gc

import hypothesis
import pytest
from hypothesis import strategies

from tests.apps import (  # noqa: F401 - pytest finds fixtures by name
    after_sunset,
    answers_otherwise,
    app,
    as_role,
    as_user,
    casbin_parses_once,
    cheap_passwords,
    client,
    elsewhere,
    given,
    instance_folder,
    no_backup,
    policies_load_once,
    real_passwords,
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
from tests.rule_files import under  # noqa: F401
from tests.trials import here  # noqa: F401

# Garbage collection took a quarter of the time.
gc.set_threshold(1_000_000, 5, 5)

# A busy machine must not fail a test.
hypothesis.settings.register_profile("busy machine", parent=hypothesis.settings(), deadline=None,
                                     suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("busy machine")

# A separate project; test_plugins.py installs it and runs its tests.
collect_ignore = ["sample_plugin"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--sqlite", action="store_true", help="Run no test that needs Postgres.")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks a test as slow if it only repeats on Postgres what it does on SQLite."""
    for item in items:
        if needs_postgres(item) and item.get_closest_marker("both_databases") is None:
            item.add_marker(pytest.mark.slow)
    if config.getoption("--sqlite"):
        left_out = [item for item in items if needs_postgres(item) or NEED_POSTGRES & set(item.fixturenames)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


NEED_POSTGRES = {"postgres_server", "postgres_template", "own_server"}  # fixtures


def needs_postgres(item: pytest.Item) -> bool:
    """True if a parameter of the test selects Postgres."""
    values = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return any(value == "postgres" or (isinstance(value, tuple) and "postgres" in value) for value in values)


def pytest_collection_finish() -> None:
    """Excludes the collected tests from later garbage collections."""
    # Hypothesis collects garbage before its first example, which takes seconds when the tests have many objects.
    hypothesis.find(strategies.just(True), bool)
    gc.collect()
    gc.freeze()
