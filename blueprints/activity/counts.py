"""How busy the service is: requests by minute, counted in memory as they are answered, stored by a task.

Not counted are the paths of those who look after the service and not at its data (`APART`): the probes of a supervisor
and of Prometheus, which come at any load, and pages for readers. Everything else is, an unknown path as well.

A process that is killed loses what it counted since it stored last: `EVERY` seconds, or more while the database could
not be written.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from operator import add
from threading import Lock
from time import time
from typing import TYPE_CHECKING, cast

from flask import Request, Response, g

from gatepost.http.operations.background import BackgroundTask
from gatepost.http.operations.metrics import BUCKETS
from gatepost.http.protocol import trace
from models.base import later, now
from models.tables.activity import ANSWERED, FAILED, KEPT, LIMITED, REFUSED, note_requests

if TYPE_CHECKING:
    from gatepost.http.operations.logs import Answered
    from gatepost.http.request.call import Services
    from models.engine.database import Database

EVERY = 10.0  # seconds between two times at which counts are stored
APART = ("/api/health", "/console", "/docs", "/metrics")  # with which the paths begin that are not counted
MOST = KEPT // 60 + 1  # minutes that wait while the database is away: as many as it would keep
BOUNDS = tuple(round(bound * 1_000_000) for bound in (*BUCKETS, 60.0))  # microseconds; what takes longer is in the last
# Of each minute a list: for each outcome, one number for each of the bounds.
_OUTCOMES = (ANSWERED, REFUSED, LIMITED, FAILED)
_FIRST = {outcome: place * len(BOUNDS) for place, outcome in enumerate(_OUTCOMES)}
_KINDS = tuple((outcome, bound) for outcome in _OUTCOMES for bound in BOUNDS)
_EPOCH = "1970-01-01T00:00:00.000000Z"


def make(services: Services) -> Activity:
    """The counts of an app."""
    return Activity(services.database)


def tasks(services: Services) -> Iterator[BackgroundTask]:
    """The background task that stores them."""
    counts = _of(services)
    yield BackgroundTask("storing how many requests were answered", EVERY, counts.store, last=counts.store)


def departure(services: Services) -> Callable[[Request, Response], Response]:
    """Returns what counts each answer."""
    return counting(_of(services))


def _of(services: Services) -> Activity:
    return cast(Activity, services.feature("activity"))


class Activity:
    """What one process has counted and not stored yet. Any number of threads may count at once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = Lock()
        self._waiting: dict[float, list[int]] = {}  # by minutes since the epoch

    def count(self, outcome: str, seconds: float) -> None:
        """Count a request that ends now, and took so long."""
        kind = _FIRST[outcome] + bisect_left(BUCKETS, seconds)
        minute = time() // 60
        with self._lock:
            counts = self._waiting.get(minute)
            if counts is None:
                counts = self._begin(minute)
            counts[kind] += 1

    def store(self) -> None:
        """Add what was counted to the table. What a database cannot take now, it gets the next time.

        Each request is counted at most once: what a COMMIT that is not answered may have stored is not added again.
        """
        with self._lock:
            taken, self._waiting = self._waiting, {}
        if not taken:
            return
        counted = {(later(60 * minute, _EPOCH), *kind): count for minute, counts in taken.items()
                   for kind, count in zip(_KINDS, counts, strict=True) if count}
        done = False

        def work() -> None:
            nonlocal done
            done = False
            note_requests(counted)
            done = True

        try:
            self._database.transact(work)
        except BaseException:
            if not done:
                self._put_back(taken)
            raise

    def _begin(self, minute: float) -> list[int]:
        """The counts of a minute that has none yet; the oldest go where there are too many."""
        while len(self._waiting) >= MOST:
            del self._waiting[min(self._waiting)]
        counts = self._waiting[minute] = [0] * len(_KINDS)
        return counts

    def _put_back(self, taken: dict[float, list[int]]) -> None:
        with self._lock:
            newer, self._waiting = self._waiting, taken
            for minute, more in sorted(newer.items()):
                counts = taken.get(minute) or self._begin(minute)
                counts[:] = map(add, counts, more)


def this_minute() -> str:
    """When the minute began that is running."""
    return f"{now()[:16]}:00.000000Z"


def quantile(counts: Mapping[int, int], share: float) -> float | None:
    """Milliseconds that this share of the requests took at most, by how many took so many microseconds at most; None
    without any.

    Within a bucket they are taken to be spread evenly, as Prometheus does.
    """
    wanted = share * sum(counts.values())
    before = 0
    for bound, count in sorted(counts.items()):
        if count and before + count >= wanted:
            place = bisect_left(BOUNDS, bound)
            lower = BOUNDS[place - 1] if place else 0
            return (lower + (bound - lower) * (wanted - before) / count) / 1000
        before += count
    return None


def counting(activity: Activity) -> Callable[[Request, Response], Response]:
    """Count every request once it is answered."""
    def count_request(request: Request, response: Response) -> Response:
        status = response.status_code
        if status != 100 and not request.path.startswith(APART):
            activity.count(ANSWERED if status < 400 else _outcome(status), trace.elapsed(request.environ))
        return response

    return count_request


def _outcome(status: int) -> str:
    """What became of a request that was answered with an error."""
    if status in (401, 403) or (status == 404 and _of_object()):
        return REFUSED
    if status == 429:
        return LIMITED
    return FAILED if status >= 500 else ANSWERED


def _of_object() -> bool:
    """Whether a caller was refused an object, as in the audit trail: one that is absent is not told apart."""
    call: Answered | None = g.get("call")
    return call is not None and call.endpoint.permission is not None
