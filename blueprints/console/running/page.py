"""*Running*: whether the service is well, how busy it is, how large it has become, and what was left undone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, cast

from flask import Response

from blueprints.console.amounts import Amounts, Axis, ago
from blueprints.console.data.listed import Kind, possible
from blueprints.console.forms import form
from blueprints.console.frame import drawn_again, local_time, page, routes, see_other, show, texts
from blueprints.console.naming import sentence
from blueprints.console.overview import Part, Step, show_part, suggest
from gatepost import Call, Collection, Endpoint, Message, Problem, later, now
from gatepost.collections.asking import ask
from gatepost.http.credentials.console_sessions import member
from models.engine.errors import TimedOut, Unavailable

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
    """Joins so many minutes into one span each. The last span ends with the last minute.

    Counts are summed. A median of several minutes cannot be computed from theirs, so it is left out. Of the 95th
    percentiles the worst is kept.
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


def columns_of(amounts: Amounts, spans: Sequence[Mapping[str, Any]], *, single: bool, zone: tzinfo) -> dict[str, Plot]:
    """Returns two charts over time: number of requests and their duration. With `single`, a column is a minute."""
    def clock(span: Mapping[str, Any]) -> str:
        return local_time(span["start"], zone)[11:16]

    every = 10 if single else 12
    requests = [Column(clock(one), _by_outcome(one)) for one in spans]
    times = [Column(clock(one), (("a", one["median_milliseconds"] or 0),), one["p95_milliseconds"])
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


RUNNING = "/console/running"
SEEN_WITH = "policy.view"
SPANS = ("60", "1440")  # minutes
_SINGLE = 120  # minutes up to which each has a column of its own
_TOGETHER = 15  # minutes that are one column beyond
_LARGEST = 8  # tables that are shown at once
_FAILED = 10  # jobs
_RETRY = "retry"
_COST = 18  # roughly the cost of the endpoints that it calls
_AWAY = Message("The database did not answer. Refresh the page in a moment. The service log has the reason.")


@dataclass(frozen=True)
class ApiAnswer:
    """The answer of an endpoint, or why there is none; neither where the endpoint is left out."""

    answer: Mapping[str, Any] | None
    problem: str = ""


@routes.get(RUNNING, **page(SEEN_WITH, query=texts("minutes", "follow"), cost=_COST))
def running(call: Call) -> Response:
    """Show whether the service is well, how busy it is, and how large it has become."""
    return drawn(call)


def _health(call: Call) -> dict[str, Any] | None:
    served = "health_get" in call.services.registry.by_operation
    return {"health": ask(call, "health_get"), "ago": ago} if served else None


def _has_backup(call: Call) -> bool:
    """True if there is a backup, or no way to make one. Raises `Problem`."""
    health = _health(call)
    backups = None if health is None else health["health"].get("backups")
    return backups is None or backups["made_seconds_ago"] is not None


show_part(Part(RUNNING, SEEN_WITH, "overview_health.html", _health, place=10))
suggest(Step(RUNNING, SEEN_WITH, Message("Make the first backup"),
             Message("A backup has the database, the keys, the rules and the settings."), _has_backup,
             command="gatepost backup", place=10))


@routes.of_each
def forms(collection: Collection) -> Iterator[Endpoint]:
    """The form that lets a failed job be tried again: a run of its action."""
    if collection.name == "jobs":
        retry = Kind.of(collection).served[_RETRY]
        yield form(retry, f"{RUNNING}/jobs/<id>/{_RETRY}", lambda call, _: see_other(call, RUNNING),
                   drawn_again(drawn), identify=member, cost=_COST)


def drawn(call: Call, problem: Problem | None = None) -> Response:
    """Returns the page, with the problem of what was tried on it."""
    may, wanted = call.access.may_ever, call.query.get("minutes", "").strip() or SPANS[0]
    if problem is not None and (problem.status == 429 or not may(SEEN_WITH)):
        raise problem
    amounts = Amounts(call.services.translations.wanted(call.request).tag)
    activity = _asked(call, "admin_activity", {"minutes": wanted})
    minutes = [] if activity.answer is None else activity.answer["minutes"]
    single = len(minutes) <= _SINGLE
    spans = together(minutes, 1 if single else _TOGETHER)
    stats = _asked(call, "admin_stats") if may("stats.view") else None
    return show(
        call, "running.html", wanted=wanted, spans=SPANS, follows=call.query.get("follow") == "1", at=now(),
        amounts=amounts, ago=ago, health=_asked(call, "health_get"), activity=activity,
        minutes=spans, single=single,
        plots_of=columns_of(amounts, spans, single=single, zone=call.services.settings.zone),
        sizes=_asked(call, "admin_sizes"), largest=_LARGEST, stats=stats,
        days=days_of(amounts, None if stats is None else stats.answer),
        backups=_asked(call, "admin_backups"), may_back_up=may("backup.create"),
        failed=_failed(call) if may("job.view") else None, problem="" if problem is None else sentence(call, problem))


def _failed(call: Call) -> ApiAnswer:
    """The jobs that have failed last, each with `retries`: whether the caller may have it tried again."""
    found = _asked(call, "jobs_list", {"state": "failed", "limit": _FAILED})
    if found.answer is None:
        return found
    kind, jobs = Kind.of(cast(Collection, call.services.collections["jobs"])), found.answer["items"]
    return _kept(call, lambda: {"items": [{**job, "retries": _RETRY in possible(call, kind, job["id"], None)}
                                          for job in jobs]})


def _asked(call: Call, operation: str, query: Mapping[str, Any] | None = None) -> ApiAnswer:
    if operation not in call.services.registry.by_operation:
        return ApiAnswer(None)
    return _kept(call, lambda: ask(call, operation, query))


def _kept(call: Call, answer: Callable[[], Mapping[str, Any]]) -> ApiAnswer:
    """Returns the answer for one part of the page. A refusal or failure becomes a sentence in place of that part."""
    try:
        return ApiAnswer(answer())
    except Problem as refusal:
        return ApiAnswer(None, sentence(call, refusal))
    except (Unavailable, TimedOut):
        return ApiAnswer(None, call.services.translations.wanted(call.request).say(_AWAY))
