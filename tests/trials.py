"""Trials of rules that are worked out in the process of the test."""

from __future__ import annotations

import pytest

from blueprints.policy_changes import child, endpoints, trial


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process takes two seconds to start."""
    def worked_out(question):
        found = child.Trial()
        trial.answer(question, lambda part, told: found.incomplete.update([told]) if part == trial.INCOMPLETE
                     else found.parts.update({part: told}))
        return found

    monkeypatch.setattr(endpoints, "tried", worked_out)
