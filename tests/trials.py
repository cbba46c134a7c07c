"""Trials of rules that run in the process of the test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from blueprints.policy_changes import changing as endpoints
from blueprints.policy_changes import child, trial


def worked_out(question: trial.Question) -> child.Trial:
    """Returns the answer of another process, without its start of two seconds."""
    found = child.Trial()
    trial.answer(question, lambda part, told: found.incomplete.update([told]) if part == trial.INCOMPLETE
                 else found.parts.update({part: told}))
    return found


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs trials in this process."""
    monkeypatch.setattr(endpoints, "tried", worked_out)
    monkeypatch.setattr(endpoints, "checked", worked_out)


@pytest.fixture(scope="module")
def all_here() -> Iterator[None]:
    """Runs trials in this process, for all tests of a module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(endpoints, "tried", worked_out)
        patch.setattr(endpoints, "checked", worked_out)
        yield
