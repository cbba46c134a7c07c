"""*Running*: whether the service is well, how busy it is, how large it has become, and what was left undone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from flask import Response

from gatepost import Call, Collection, Endpoint, Message, Problem, now
from gatepost.collections.asking import ask
from gatepost.http.credentials.console_sessions import member
from models.engine.errors import TimedOut, Unavailable

from ..amounts import Amounts, ago
from ..data.listed import Kind, possible
from ..forms import form
from ..frame import drawn_again, page, routes, see_other, show, texts
from ..naming import sentence
from .plots import columns_of, days_of, together

RUNNING = "/console/running"
SEEN_WITH = "policy.view"
SPANS = ("60", "1440")  # minutes
_SINGLE = 120  # minutes up to which each has a column of its own
_TOGETHER = 15  # minutes that are one column beyond
_LARGEST = 8  # tables that are shown at once
_FAILED = 10  # jobs
_RETRY = "retry"
_COST = 18  # about what the endpoints cost that it asks
_AWAY = Message("The database did not answer that. Look again in a moment; the log says why.")


@dataclass(frozen=True)
class Asked:
    """The answer of an endpoint, or why there is none; neither where the endpoint is left out."""

    answer: Mapping[str, Any] | None
    problem: str = ""


@routes.get(RUNNING, **page(SEEN_WITH, query=texts("minutes", "follow"), cost=_COST))
def running(call: Call) -> Response:
    """Show whether the service is well, how busy it is, and how large it has become."""
    return _drawn(call)


@routes.of_each
def forms(collection: Collection) -> Iterator[Endpoint]:
    """The form that lets a failed job be tried again: a run of its action."""
    if collection.name == "jobs":
        retry = Kind.of(collection).served[_RETRY]
        yield form(retry, f"{RUNNING}/jobs/<id>/{_RETRY}", lambda call, _: see_other(call, RUNNING),
                   drawn_again(_drawn), identify=member, cost=_COST)


def _drawn(call: Call, problem: Problem | None = None) -> Response:
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
        minutes=spans, single=single, plots_of=columns_of(amounts, spans, single=single),
        sizes=_asked(call, "admin_sizes"), largest=_LARGEST, stats=stats,
        days=days_of(amounts, None if stats is None else stats.answer),
        failed=_failed(call) if may("job.view") else None, problem="" if problem is None else sentence(call, problem))


def _failed(call: Call) -> Asked:
    """The jobs that have failed last, each with `retries`: whether the caller may have it tried again."""
    found = _asked(call, "jobs_list", {"state": "failed", "limit": _FAILED})
    if found.answer is None:
        return found
    kind, jobs = Kind.of(cast(Collection, call.services.collections["jobs"])), found.answer["items"]
    return _kept(call, lambda: {"items": [{**job, "retries": _RETRY in possible(call, kind, job["id"], None)}
                                          for job in jobs]})


def _asked(call: Call, operation: str, query: Mapping[str, Any] | None = None) -> Asked:
    if operation not in call.services.registry.by_operation:
        return Asked(None)
    return _kept(call, lambda: ask(call, operation, query))


def _kept(call: Call, answer: Callable[[], Mapping[str, Any]]) -> Asked:
    """What is refused, or cannot be answered now, leaves the rest of the page as it is."""
    try:
        return Asked(answer())
    except Problem as refusal:
        return Asked(None, sentence(call, refusal))
    except (Unavailable, TimedOut):
        return Asked(None, call.services.translations.wanted(call.request).say(_AWAY))
