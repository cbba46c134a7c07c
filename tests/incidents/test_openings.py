"""Processes start and end while others write, migrate and compact: no healthy database is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.incidents.openings import run

pytestmark = pytest.mark.slow


def test_a_bounded_sample_of_the_campaign(tmp_path: Path) -> None:
    said = run(tmp_path, 3.0)
    assert [each for each in said.values() if "opened" not in each] == []
