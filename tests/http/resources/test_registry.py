"""What the registry tells a policy about the installed collections."""

from __future__ import annotations

import pytest

from blueprints.http.resources.plugins.discovery import discover
from models import indexes
from policies import SHIPPED, load
from policies.lint.warnings import warnings


def test_a_start_does_not_look_for_indexes_and_the_lint_does(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def shipped() -> dict[str, tuple[tuple[str, ...], ...]]:
        asked.append(True)
        return {"articles": (("tenant_id", "created_at", "id"),)}

    monkeypatch.setattr(indexes, "shipped", shipped)
    policy = load(SHIPPED, discover().vocabulary)
    assert not asked
    assert any("no index of article serves lists by owner_id" in found.message for found in warnings(policy))


def test_the_indexes_are_those_that_the_migrations_make() -> None:
    assert ("tenant_id", "owner_id", "created_at", "id") in discover().vocabulary.resources["article"].indexes()
