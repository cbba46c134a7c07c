"""Reports name the periods without usage counts, and lost counts."""

from __future__ import annotations

import pytest

from policies.usage.gaps import Span, gaps


def at(time: str) -> str:
    return f"2026-11-{time}:00.000000Z"


SINCE, NOW = at("01T00:00"), at("20T12:00")


@pytest.mark.parametrize(("spans", "told"), [
    ([], ["Nothing was counted since then"]),
    ([(SINCE, at("20T11:59"), False)], []),
    ([(SINCE, NOW, True)], []),
    ([(at("03T00:00"), NOW, False)], ["Nothing was counted before 2026-11-03T00:00"]),
    ([(SINCE, at("05T00:00"), True), (at("05T00:05"), NOW, False)], []),
    ([(SINCE, at("05T00:00"), True), (at("07T00:00"), NOW, False)],
     ["Nothing was counted from 2026-11-05T00:00:00.000000Z to 2026-11-07T00:00"]),
    ([(SINCE, at("05T00:00"), False), (at("05T00:01"), NOW, False)],
     [f"A process that began at {SINCE} was killed, or cannot store: its counts after 2026-11-05T00:00"]),
    ([(SINCE, NOW, False), (at("05T00:00"), at("06T00:00"), True)], []),
    ([(SINCE, at("05T00:00"), True)], ["Nothing was counted after 2026-11-05T00:00"]),
], ids=["none", "runs", "ended", "late", "restarted", "stopped", "killed", "two workers", "stopped for good"])
def test_what_was_not_counted(spans, told):
    found = list(gaps(SINCE, NOW, [Span(*one) for one in spans]))
    assert [sentence[:len(start)] for sentence, start in zip(found, told, strict=True)] == told
