"""Durations of `olderThan` and `youngerThan`, and times that lie one before another."""

from __future__ import annotations

from datetime import timedelta

import pytest

from policies.syntax.durations import EARLIEST, LATEST, LONGEST, ago, later, parts_of, seconds_of, wrong_duration

NOW = "2026-11-18T10:00:00.000001Z"


@pytest.mark.parametrize(("duration", "seconds"), [
    ("P2W", 1_209_600), ("P90D", 7_776_000), ("PT12H", 43_200), ("P1DT6H", 108_000), ("PT90M", 5_400), ("PT1S", 1),
    ("P1DT2H3M4S", 93_784), (f"P{LONGEST}D", LONGEST * 86_400),
])
def test_a_duration_is_a_number_of_seconds(duration: str, seconds: int) -> None:
    assert (seconds_of(duration), wrong_duration(duration)) == (seconds, None)


def test_a_time_before_now_keeps_its_microseconds() -> None:
    assert ago(NOW, 1) == "2026-11-18T09:59:59.000001Z"
    assert ago(NOW, 86_400) == "2026-11-17T10:00:00.000001Z"
    assert ago(None, 1) is None


def test_a_time_that_cannot_be_written_is_the_first_or_the_last() -> None:
    assert ago("0050-01-01T00:00:00.000000Z", LONGEST * 86_400) == EARLIEST
    assert later("9999-12-31T00:00:00.000000Z", timedelta(days=1)) == LATEST


def test_a_duration_has_the_parts_that_are_not_zero() -> None:
    assert parts_of(108_000) == [(1, "D"), (6, "H")]
    assert parts_of(7_776_000) == [(90, "D")]
    assert parts_of(61) == [(1, "M"), (1, "S")]
