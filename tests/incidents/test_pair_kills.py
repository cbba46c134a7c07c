"""Files put in beside the log of processes that were killed: refused or whole, never a mixture."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.incidents.pair_kills import trial


@pytest.mark.parametrize("seed", ["a", "b"])
def test_a_bounded_sample_of_the_campaign(tmp_path: Path, seed: str) -> None:
    seen: Counter[tuple[str, str]] = Counter()
    trial(tmp_path, seed, seen)
    found = {case: {outcome for name, outcome in seen if name == case} for case, _ in seen}
    assert found.pop("killed") == {"intact, the newest state"}
    assert found.pop("file and log together from elsewhere") == {"intact, the newest state"}
    late = [found.pop(f"a late copy by another program, {by}") for by in ("cp", "mv")]
    assert all(each <= {"refused", "intact, the newest state"} for each in late), late
    assert set(map(tuple, found.values())) == {("refused",)}, found
