"""Policies change over HTTP and while the database fails, under two workers and writing callers.

The policy history records each change, and with it each decision can be made again with the same answer. This is a
sample; `python -m tests.incidents.policy_changes` is the whole test.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.databases import Server, new_database
from tests.incidents.policy_changes.story import on_postgres, play
from tests.incidents.policy_changes.ways import Ways

pytestmark = pytest.mark.slow

SAMPLE = (Ways.apply_over_http, Ways.edit_while_it_fails)


def test_the_history_tells_of_each_change_and_what_was_answered_under_it(
        postgres_server: Server, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    url = new_database("postgres", request, migrated=False)
    found = play(on_postgres(tmp_path, "granian", postgres_server, url), random.Random(1), ways=SAMPLE, explained=3)
    assert found.wrong == []
    assert found.late == 1
    assert found.agreeing > 100, "callers were at work"
