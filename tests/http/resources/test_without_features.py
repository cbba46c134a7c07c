"""The six collections keep their contract in an app with no other feature except sessions."""

from __future__ import annotations

import pytest

from app import create_app
from gatepost.testing import contract, served
from tests.http.resources.test_collections import EXAMPLES
from tests.test_features_left_out import COLLECTIONS, EVERYTHING

pytestmark = pytest.mark.slow

app = served(create_app, without=EVERYTHING)
test_contract = contract(*(example for example in EXAMPLES if example.collection.name in COLLECTIONS))


def test_nothing_else_is_served(app):
    registry = app.extensions["gatepost"].registry
    assert sorted(registry.collections) == sorted((*COLLECTIONS, "sessions", "tokens"))
    assert [*registry.routes] == ["session"]
