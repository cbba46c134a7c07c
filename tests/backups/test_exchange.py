"""Exchange of one file of an instance by a restore, which may be killed between any two steps."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gatepost.instance import journal


class Killed(BaseException):
    """The end of a process between two steps."""


def test_a_run_that_was_killed_after_it_kept_the_old_file_is_completed_by_the_next_one(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh, place, aside = tmp_path / "staged" / "secret.key", tmp_path / "secret.key", tmp_path / "aside"
    fresh.parent.mkdir()
    fresh.write_text("new")
    place.write_text("old")

    def kill(*_: object) -> None:
        raise Killed

    monkeypatch.setattr(os, "replace", kill)
    with pytest.raises(Killed):
        journal._exchange(fresh, place, aside)
    monkeypatch.undo()
    journal._exchange(fresh, place, aside)
    assert (place.read_text(), (aside / "secret.key").read_text()) == ("new", "old")
    assert not fresh.exists()
