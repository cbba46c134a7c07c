"""Policies change over HTTP, and while the database fails, under two workers and callers who write: the
ledger tells of each, and by it every decision is made again as it was answered. `policy_changes` is the whole of it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.databases import Server, new_database
from tests.incidents.policy_changes.story import on_postgres, play
from tests.incidents.policy_changes.ways import Ways

pytestmark = pytest.mark.slow

SAMPLE = (Ways.apply_over_http, Ways.edit_while_it_fails)


def test_the_ledger_tells_of_each_change_and_what_was_answered_under_it(
        postgres_server: Server, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    url = new_database("postgres", request, migrated=False)
    found = play(on_postgres(tmp_path, "granian", postgres_server, url), random.Random(1), ways=SAMPLE, explained=3)
    assert found.wrong == []
    assert found.late == 1
    assert found.agreeing > 100, "callers were at work"
