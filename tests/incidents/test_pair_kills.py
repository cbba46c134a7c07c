"""Replaced database files beside the log of killed processes: refused or intact, never a mixture."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.incidents.pair_kills import trial

pytestmark = pytest.mark.slow


def test_a_bounded_sample_of_the_campaign(tmp_path: Path) -> None:
    seen: Counter[tuple[str, str]] = Counter()
    trial(tmp_path, "a", seen, again=0)
    found = {case: {outcome for name, outcome in seen if name == case} for case, _ in seen}
    (killed,) = found.pop("killed")
    if killed.startswith("intact, without a log"):  # a checkpoint was about to restart it: any file is used as it is
        assert all(each.startswith("intact") for outcomes in found.values() for each in outcomes), found
        return
    assert killed == "intact, the newest state"
    (together,) = found.pop("file and log together from elsewhere")
    assert together in ("intact, the newest state", "intact, without a log, the newest state")
    late = [found.pop(f"a late copy by another program, {by}") for by in ("cp", "mv")]
    assert all(each <= {"refused", "intact, the newest state"} for each in late), late
    assert set(map(tuple, found.values())) == {("refused",)}, found
