"""Durations of `olderThan` and `youngerThan`, as ISO 8601 writes them: weeks, or days, hours, minutes and seconds."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache

from .vocabulary import date_time

LONGEST = 36_500  # days
EARLIEST, LATEST = "0001-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z"
UNITS = (("W", 604_800), ("D", 86_400), ("H", 3_600), ("M", 60), ("S", 1))  # letter → seconds
EXAMPLES = "'P2W', 'P90D', 'PT12H' or 'P1DT6H'"

_NUMBER = r"(0|[1-9]\d{0,8})"
_DURATION = re.compile(
    rf"P(?:{_NUMBER}W|(?!$)(?:{_NUMBER}D)?(?:T(?!$)(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?)", re.ASCII)
_CALENDAR = re.compile(r"P(?:(\d{1,3})Y)?(?:(\d{1,3})M)?(?:\d+[WD])?(?:T.*)?", re.ASCII)


def seconds_of(duration: str) -> int | None:
    """Returns the seconds of a duration; None if it is not one of these."""
    match = _DURATION.fullmatch(duration)
    if match is None:
        return None
    return sum(int(number) * seconds for number, (_, seconds) in zip(match.groups("0"), UNITS, strict=True))


def wrong_duration(duration: str) -> str | None:
    """Describes what is wrong with a duration, and what to write; None if nothing is."""
    seconds = seconds_of(duration)
    if seconds is None:
        years, months = match.groups("0") if (match := _CALENDAR.fullmatch(duration)) else ("0", "0")
        if days := int(years) * 365 + int(months) * 30:
            return f"years and months vary in length; write days, such as 'P{days}D'"
        return f"{duration!r} is no duration; write weeks, days, hours, minutes or seconds in whole numbers, such as " \
               f"{EXAMPLES}"
    if seconds == 0:
        return f"{duration!r} is no time at all; compare with r.env.now"
    return f"{duration!r} is too long; write at most 'P{LONGEST}D'" if seconds > LONGEST * 86_400 else None


@lru_cache(maxsize=256)
def ago(now: str | None, seconds: int) -> str | None:
    """Returns the time (YYYY-MM-DDTHH:MM:SS.ffffffZ) that lies this long before `now`; None without a `now`."""
    return None if now is None else later(now, timedelta(seconds=-seconds))


def later(time: str, span: timedelta) -> str:
    """Returns the time that lies this long after another one, or the first or last time that can be written."""
    try:
        return date_time(datetime.fromisoformat(time) + span)
    except OverflowError:
        return EARLIEST if span < timedelta() else LATEST


def parts_of(seconds: int) -> list[tuple[int, str]]:
    """Returns a duration in days, hours, minutes and seconds: (number, letter) of each that is not zero."""
    parts = []
    for letter, length in UNITS[1:]:
        number, seconds = divmod(seconds, length)
        if number:
            parts.append((number, letter))
    return parts
