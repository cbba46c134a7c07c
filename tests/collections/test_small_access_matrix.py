"""Under the small rule set, every route answers every caller as in `small_access_matrix.txt`."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatepost.http.operations import write_probe
from policies.loading.rule_sets import SMALL
from tests.apps import new_instance
from tests.collections.test_access_matrix import TABLE as FULL_TABLE
from tests.collections.test_access_matrix import World, read, unlike
from tests.databases import on_sqlite  # noqa: F401 - the same on each database

ROLES = ("member", "user", "staff", "owner", "admin")
TABLE = read("small_access_matrix.txt")


@pytest.fixture(scope="module")
def instance_folder(database_url: str, tmp_path_factory) -> Path:
    """A new instance with the small rule set."""
    return new_instance(tmp_path_factory.mktemp("small") / "instance", database_url, "default", "other", rules=SMALL)


@pytest.fixture(scope="module")
def world(app, given, elsewhere, as_user) -> World:
    return World(app, given, elsewhere, as_user, ROLES)


def test_every_caller_is_answered_as_the_table_says(app, world, monkeypatch):
    monkeypatch.setattr(write_probe, "KEPT", float("inf"))  # as in test_access_matrix.py
    assert app.test_client().get("/api/health").status_code == 200
    wrong = unlike(TABLE, world)
    assert not wrong, "\n".join(wrong)


def test_both_tables_ask_the_same_of_each_route():
    assert [(row.method, row.path, row.about) for row in TABLE] == [
        (row.method, row.path, row.about) for row in FULL_TABLE]


def test_the_roles_of_both_rule_sets_are_answered_alike():
    """Visitors, users, owners and administrators may do the same under both rule sets."""
    unequal = [f"{row.method} {row.path} {row.about}, {name}: {row.expected[name]}, not {full.expected[name]}"
               for row, full in zip(TABLE, FULL_TABLE, strict=True)
               for name in ("visitor", "user", "owner", "admin") if row.expected[name] != full.expected[name]]
    assert unequal == []
