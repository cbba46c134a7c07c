"""Tests without Postgres: they report that it is missing, and fail if nothing may be skipped."""

from __future__ import annotations

import pytest

from tests import databases


@pytest.mark.parametrize(("ci", "outcome"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)])
def test_without_postgres_its_half_is_skipped_loudly_and_never_on_ci(
        ci: str, outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(databases, "find_programs", lambda: None)
    with pytest.raises(outcome, match="no initdb"), databases.running_server():
        pass
