"""Numbers over time as columns: of minutes, of quarters of an hour, of days."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gatepost import later, now

from ..amounts import Amounts, Axis

_DAYS = 30


@dataclass(frozen=True)
class Column:
    """A column of a plot: its class and height for each part from the foot up, and a stroke across it."""

    label: str
    parts: tuple[tuple[str, float], ...]
    stroke: float | None = None


@dataclass(frozen=True)
class Plot:
    """Columns from left to right; each `every`th has its label below it."""

    columns: Sequence[Column]
    axis: Axis
    every: int


def together(minutes: Sequence[Mapping[str, Any]], number: int) -> list[dict[str, Any]]:
    """So many minutes as one, of which the last ends with the last minute.

    Their numbers are summed. A median of several minutes cannot be told by theirs: it is left out, and of the 95 %
    the worst is kept.
    """
    if number == 1:
        return [dict(minute) for minute in minutes]
    first = len(minutes) % number
    groups = [minutes[:first]] if first else []
    groups += [minutes[start:start + number] for start in range(first, len(minutes), number)]
    return [{"start": group[0]["start"], "median_milliseconds": None,
             "p95_milliseconds": max((minute["p95_milliseconds"] for minute in group
                                      if minute["p95_milliseconds"] is not None), default=None),
             **{name: sum(minute[name] for minute in group)
                for name in ("requests", "refusals", "limited", "errors")}} for group in groups]


def columns_of(amounts: Amounts, spans: Sequence[Mapping[str, Any]], *, single: bool) -> dict[str, Plot]:
    """How many requests there were by time, and how long they took; `single`: a column is a minute."""
    every = 10 if single else 12
    requests = [Column(one["start"][11:16], _by_outcome(one)) for one in spans]
    times = [Column(one["start"][11:16], (("a", one["median_milliseconds"] or 0),), one["p95_milliseconds"])
             for one in spans]
    slowest = max((max(one["p95_milliseconds"] or 0, one["median_milliseconds"] or 0) for one in spans), default=0)
    return {"requests": Plot(requests, amounts.axis(max((one["requests"] for one in spans), default=0), 1), every),
            "times": Plot(times, amounts.axis(slowest), every)}


def _by_outcome(minute: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
    refused, errors = minute["refusals"] + minute["limited"], minute["errors"]
    return ("b", refused), ("a", max(0, minute["requests"] - refused - errors)), ("e", errors)


def days_of(amounts: Amounts, stats: Mapping[str, Any] | None) -> dict[str, Any]:
    """The days of the statistics, those without anything as well, with a plot of each number."""
    if stats is None:
        return {"rows": [], "plots": {}}
    today, counts = now(), {name: {day["date"]: day["count"] for day in stats[f"{name}_per_day"]}
                            for name in ("logins", "refusals")}
    dates = [later(-86_400 * days, today)[:10] for days in range(_DAYS, -1, -1)]
    rows = [{"date": date, **{name: counts[name].get(date, 0) for name in counts}} for date in dates]
    plots = {name: Plot([Column(row["date"][5:], ((kind, row[name]),)) for row in rows],
                        amounts.axis(max(row[name] for row in rows), 1), 7)
             for name, kind in (("logins", "a"), ("refusals", "b"))}
    return {"rows": rows, "plots": plots}
