"""The clock of a request: the time, and the local date and hour, in a zone that this room does not know.

The zone is a setting of the service, and rules are compared without it. So any time and local time are possible that
agree in some existing zone. A proof holds in every zone; an example is possible in at least one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta

from ..syntax.vocabulary import DATE_TIME, date_time

EAST, WEST = timedelta(hours=14), timedelta(hours=-12)  # the offsets of the zones that there are
_DAY, _HOUR = timedelta(days=1), timedelta(hours=1)
_HOURS = 24

Reading = tuple[str, str, int, int]  # the time, the date, the weekday and the hour


def parsed(text: str) -> datetime:
    """A time as columns hold it."""
    return datetime.strptime(text, DATE_TIME).replace(tzinfo=UTC)


def days(moments: Iterable[str]) -> set[str]:
    """The dates (YYYY-MM-DD) on which it can be one of these times somewhere."""
    found = set()
    for moment in map(parsed, moments):
        with suppress(OverflowError):
            found |= {(moment + step * _DAY).date().isoformat() for step in (-1, 0, 1)}
    return found


def runs(hours: Collection[int]) -> list[tuple[int, int]]:
    """The day as runs of hours, first and last, that comparisons with these hours cannot tell apart."""
    cuts = sorted({0, *(cut for hour in hours for cut in (hour, hour + 1) if 0 < cut < _HOURS)})
    return [(first, after - 1) for first, after in zip(cuts, [*cuts[1:], _HOURS], strict=True)]


def readings(moments: Collection[str], dates: Iterable[str], hours: Collection[int]) -> Iterator[Reading]:
    """Yields the readings that clocks can show.

    For each date and each run of `hours`, these are the times in `moments` at which some zone has that date and hour.
    If there is none, one other such time is used. The readings suffice if `moments` contains the neighbours of each
    compared time, and `dates` the neighbours of each compared date.
    """
    known = [(parsed(moment), moment) for moment in moments]
    for day in dates:
        for first, last in runs(hours):
            wall = date.fromisoformat(day)
            midnight = datetime.combine(wall, time(), UTC)
            with suppress(OverflowError):
                begins = datetime.combine(wall, time(first), UTC)
                earliest, latest = begins - EAST, begins + (last - first + 1) * _HOUR - WEST
                near = [(moment, text) for moment, text in known if earliest <= moment < latest]
                for moment, text in near or [(begins, date_time(begins))]:
                    # The first hour of the run at which it can be that time: in the far west the day is still long.
                    yield text, day, wall.isoweekday(), max(first, (moment - midnight + WEST) // _HOUR)


def wall(now: str, day: str | None, hour: int | None) -> datetime:
    """A wall clock at a time: in UTC, or in the nearest zone where it is that day and that hour."""
    moment = parsed(now)
    for offset in sorted(range(WEST // _HOUR, EAST // _HOUR + 1), key=abs):
        with suppress(OverflowError):
            shown = moment + offset * _HOUR
            if day in (None, shown.date().isoformat()) and hour in (None, shown.hour):
                return shown
    return moment
