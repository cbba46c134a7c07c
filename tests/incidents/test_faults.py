"""Some of the faults of `make faults`: nothing is lost, and health and doctor name what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.incidents.faults import clients, play
from tests.incidents.faults.play import FAULTS, Ground

SAMPLE = (("the file is gone", "granian"), ("the log is deleted", "granian"),
          ("bytes of the log are damaged", "waitress"), ("an older file by cp", "granian"),
          ("a rule file is gone", "waitress"))


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with ExitStack() as stack:
        yield Ground(tmp_path_factory.mktemp("faults"), stack)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "server"), SAMPLE)
def test_a_bounded_sample_of_the_campaign(
        ground: Ground, monkeypatch: pytest.MonkeyPatch, name: str, server: str) -> None:
    monkeypatch.setattr(play, "LASTS", 2.0)
    # The campaign measures times. Here each effect only has to happen, on a busy machine too.
    for module, limit in ((play, "MORE"), (play, "BACK"), (play, "LONGEST"), (clients, "PATIENCE"), (clients, "LAG")):
        monkeypatch.setattr(module, limit, 120.0)
    fault = next(each for each in FAULTS if each.name == name)
    with ground.place(fault, server) as place:
        row = play.play(fault, place)
    assert row.red == [], row


def test_faults_have_names_of_their_own() -> None:
    assert len({each.name for each in FAULTS}) == len(FAULTS) >= 50
