"""Periods without usage counts, derived from process heartbeats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from ..wording.message import Message

LOST = 90.0  # seconds without a word after which a process is taken for killed: a living one speaks once a minute
_HOLE = 600.0  # seconds between two processes that are told: a restart takes less


class Span(NamedTuple):
    """Period in which a process counted, as RFC 3339. `ended` is true if the process stopped normally."""

    since: str
    until: str
    ended: bool


def gaps(since: str, now: str, spans: Iterable[Span]) -> Iterator[Message]:
    """Sentences about the times from `since` to `now` of which not all is counted. `spans` are in order of `since`."""
    ordered = list(spans)
    if not ordered:
        yield Message("Nothing was counted since then: the service did not run, or could not store its counts.")
        return
    first, covered = ordered[0].since, ordered[0].since
    if _seconds(since, first) > _HOLE:
        yield Message("Nothing was counted before {first}: the service did not run, or did not count yet.", first=first)
    for span in ordered:
        if _seconds(covered, span.since) > _HOLE:
            yield Message("Nothing was counted from {start} to {end}: the service did not run, or could not store.",
                          start=covered, end=span.since)
        covered = max(covered, span.until)
        if not span.ended and _seconds(span.until, now) > LOST:
            yield Message("A process that began at {start} was killed, or cannot store: its counts after {end} are "
                          "missing.", start=span.since, end=span.until)
    if all(span.ended for span in ordered) and _seconds(covered, now) > _HOLE:
        yield Message("Nothing was counted after {end}: the service does not run.", end=covered)


def _seconds(one: str, other: str) -> float:
    start, end = (datetime.fromisoformat(time).astimezone(UTC) for time in (one, other))
    return (end - start).total_seconds()
