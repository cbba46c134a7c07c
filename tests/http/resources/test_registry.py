"""What the registry tells a policy about the installed collections."""

from __future__ import annotations

import pytest

from blueprints.http.resources.plugins.discovery import discover
from models import indexes
from models.migrate import SHIPPED as SHIPPED_MIGRATIONS
from policies import SHIPPED, load
from policies.lint.warnings import warnings
from tests.http.resources.shelf.books import Books


def test_a_start_does_not_look_for_indexes_and_the_lint_does(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def made_by(migrations: object) -> dict[str, tuple[tuple[str, ...], ...]]:
        asked.append(True)
        return {"articles": (("tenant_id", "created_at", "id"),)}

    monkeypatch.setattr(indexes, "made_by", made_by)
    policy = load(SHIPPED, discover().vocabulary)
    assert not asked
    assert any("no index of article serves lists by owner_id" in found.message for found in warnings(policy))


def test_the_indexes_are_those_that_the_migrations_make() -> None:
    assert ("tenant_id", "owner_id", "created_at", "id") in discover().vocabulary.resources["article"].indexes()


def test_the_indexes_of_a_plugin_are_those_that_its_migrations_make() -> None:
    found = discover([Books]).vocabulary.resources["book"].indexes()
    assert {("tenant_id", "stars", "id"), ("tenant_id", "owner_id", "created_at", "id")} <= {*found}


def test_where_a_migration_of_a_plugin_fails_the_shipped_indexes_are_known(tmp_path, caplog) -> None:
    (tmp_path / "0001_broken.py").write_text("def up(migrator, db):\n    raise KeyError('nowhere')\n")
    found = indexes.made_by({**SHIPPED_MIGRATIONS, "broken": tmp_path})
    assert found == indexes.made_by() != {}
    assert "a migration fails on an empty database" in caplog.text
