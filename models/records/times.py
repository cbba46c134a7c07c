"""Times in rows and responses: RFC 3339 in UTC, as text of one width that sorts by time."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache

DAY = 24 * 60 * 60  # seconds

_MICROSECOND = timedelta(microseconds=1)
_LAST = datetime.max.replace(tzinfo=UTC)

_RFC3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,6})(\d*))?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


def now() -> str:
    """Returns the present time as canonical text: RFC 3339, UTC, microseconds, `Z`."""
    seconds, microseconds = divmod(time.time_ns() // 1000, 1_000_000)
    return f"{_second(seconds)}.{microseconds:06}Z"


def later(seconds: float, start: str | None = None) -> str:
    """Returns the time `seconds` after `start` (canonical text, default now); negative means before."""
    moment = datetime.fromisoformat(start) if start else datetime.now(UTC)
    return _format(datetime.fromtimestamp(moment.timestamp() + seconds, UTC))


def elapsed(start: str, end: str) -> float:
    """Returns the seconds from one canonical time to another."""
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


def parse_time(text: str, *, up: bool = False) -> str:
    """Returns the canonical form of an RFC 3339 time with any offset. Digits beyond microseconds are cut off, or
    rounded `up` (except after the last microsecond of the year 9999).

    Raises ValueError for anything else, also for leap seconds and years beyond 0001–9999 in UTC.
    """
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError("not an RFC 3339 time with an offset")
    day, clock, fraction, finer, offset = match.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}.{fraction or '0':0<6}{offset.upper()}").astimezone(UTC)
        if up and finer and finer.strip("0") and moment != _LAST:
            moment += _MICROSECOND
        return _format(moment)
    except OverflowError:
        raise ValueError("a time outside the years 0001 to 9999") from None


def _format(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds")[:26] + "Z"


@lru_cache(maxsize=1)  # all rows of one second share it
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()[:19]
