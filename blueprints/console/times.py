"""Times as people type them: a date and a clock time in the setting `time_zone`, without an offset.

When clocks are put back, an hour occurs twice; when they are put forward, an hour is skipped.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo

from gatepost import Message
from models.records.times import parse_time

from .money import Misread

EXAMPLE = "2026-11-18 14:30"
_LOCAL = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)")


class Twice(Misread):
    """A clock time that occurs twice. `offsets` has the offset from UTC of each, the earlier time first."""

    def __init__(self, detail: Message, offsets: tuple[str, str]) -> None:
        super().__init__(detail)
        self.offsets = offsets


def written(text: str, zone: tzinfo) -> str:
    """Returns a time of the API as a form shows it, `2026-11-18T23:00`, to the millisecond at most; "" if it cannot."""
    try:
        local = datetime.fromisoformat(text).astimezone(zone).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return ""
    precision = "milliseconds" if local.microsecond else "seconds" if local.second else "minutes"
    return local.isoformat(timespec=precision)


def read(text: str, zone: tzinfo, offset: str = "") -> str:
    """Returns the time of the API for a clock time in `zone`; `offset` chooses between two. Text with an offset is
    read as it is.

    Raises `Misread`, and `Twice` for a time that occurs twice without an `offset` that fits.
    """
    match = _LOCAL.fullmatch(text)
    try:
        if match is None:
            return parse_time(text)
        local = datetime.fromisoformat(f"{match[1]}T{match[2]}")
        both = [local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)]
        times = [moment for moment in both if moment.astimezone(zone).replace(tzinfo=None) == local]
    except (ValueError, OverflowError):
        raise Misread(Message("This is not a date with a time. Write it as in {example}.", example=EXAMPLE)) from None
    if not times:
        later = max(moment.astimezone(zone).replace(tzinfo=None) for moment in both)
        raise Misread(Message("Clocks are put forward here, and skip this time. Write {example}.",
                              example=later.isoformat(" ", timespec="minutes")))
    offsets = tuple(offset_of(moment.astimezone(zone)) for moment in times)
    if times[0] != times[-1] and offset not in offsets:
        raise Twice(Message("Clocks are put back here, and show this time twice. Choose which one is meant."),
                    (offsets[0], offsets[-1]))
    moment = times[offsets.index(offset)] if times[0] != times[-1] else times[0]
    return parse_time(moment.isoformat(timespec="microseconds"))


def offset_of(moment: datetime) -> str:
    """Returns the offset of a time from UTC: `+02:00`, to the minute."""
    minutes = round((moment.utcoffset() or timedelta()).total_seconds() / 60)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
