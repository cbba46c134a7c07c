"""Request counts by minute: counted in memory when a request is answered, stored by a background task.

Paths for the operation of the service (`APART`) are not counted: probes of a supervisor and of Prometheus, and pages
for readers. All other paths are, unknown ones too.

A killed process loses its counts since it last stored them: `EVERY` seconds, or more if the database could not be
written.
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

EVERY = 10.0  # seconds between two writes of the counts
APART = ("/api/health", "/console", "/docs", "/metrics")  # prefixes of paths that are not counted
MOST = KEPT // 60 + 1  # minutes to keep in memory while the database fails: as many as it keeps
BOUNDS = tuple(round(bound * 1_000_000) for bound in (*BUCKETS, 60.0))  # microseconds; the last has slower requests too
# The counts of a minute are a list: for each outcome, one number for each of the bounds.
_OUTCOMES = (ANSWERED, REFUSED, LIMITED, FAILED)
_FIRST = {outcome: place * len(BOUNDS) for place, outcome in enumerate(_OUTCOMES)}
_KINDS = tuple((outcome, bound) for outcome in _OUTCOMES for bound in BOUNDS)
_EPOCH = "1970-01-01T00:00:00.000000Z"


def make(services: Services) -> Activity:
    """Creates the counts of an app."""
    return Activity(services.database)


def tasks(services: Services) -> Iterator[BackgroundTask]:
    """Yields the background task that stores them."""
    counts = _of(services)
    yield BackgroundTask("storing request counts", EVERY, counts.store, last=counts.store)


def departure(services: Services) -> Callable[[Request, Response], Response]:
    """Returns the function that counts each response."""
    return counting(_of(services))


def _of(services: Services) -> Activity:
    return cast(Activity, services.feature("activity"))


class Activity:
    """Unstored counts of one process. Safe for any number of threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = Lock()
        self._waiting: dict[float, list[int]] = {}  # by minutes since the epoch

    def count(self, outcome: str, seconds: float) -> None:
        """Counts a request that ends now and took so many seconds."""
        kind = _FIRST[outcome] + bisect_left(BUCKETS, seconds)
        minute = time() // 60
        with self._lock:
            counts = self._waiting.get(minute)
            if counts is None:
                counts = self._begin(minute)
            counts[kind] += 1

    def store(self) -> None:
        """Adds the counts to the table. If that fails, they are added the next time.

        Each request is stored at most once: after a COMMIT without an answer, the counts are not added again.
        """
        with self._lock:
            minutes, self._waiting = self._waiting, {}
        if not minutes:
            return
        rows = {(later(60 * minute, _EPOCH), *kind): count for minute, counts in minutes.items()
                for kind, count in zip(_KINDS, counts, strict=True) if count}
        committed = False

        def work() -> None:
            nonlocal committed
            committed = False
            note_requests(rows)
            committed = True

        try:
            self._database.transact(work)
        except BaseException:
            if not committed:
                self._put_back(minutes)
            raise

    def _begin(self, minute: float) -> list[int]:
        """Adds a minute and returns its counts. Drops the oldest minutes if there are too many."""
        while len(self._waiting) >= MOST:
            del self._waiting[min(self._waiting)]
        counts = self._waiting[minute] = [0] * len(_KINDS)
        return counts

    def _put_back(self, minutes: dict[float, list[int]]) -> None:
        with self._lock:
            newer, self._waiting = self._waiting, minutes
            for minute, new_counts in sorted(newer.items()):
                counts = minutes.get(minute) or self._begin(minute)
                counts[:] = map(add, counts, new_counts)


def this_minute() -> str:
    """Returns the start of the current minute, as RFC 3339."""
    return f"{now()[:16]}:00.000000Z"


def quantile(counts: Mapping[int, int], share: float) -> float | None:
    """Returns a quantile of the duration in milliseconds; None without requests.

    `counts` is bound in microseconds → number of requests up to it and above the next smaller bound. Requests are
    assumed to be spread evenly within a bucket, as Prometheus does.
    """
    rank = share * sum(counts.values())
    below = 0
    for bound, count in sorted(counts.items()):
        if count and below + count >= rank:
            place = bisect_left(BOUNDS, bound)
            lower = BOUNDS[place - 1] if place else 0
            return (lower + (bound - lower) * (rank - below) / count) / 1000
        below += count
    return None


def counting(activity: Activity) -> Callable[[Request, Response], Response]:
    """Returns a function that counts every answered request."""
    def count_request(request: Request, response: Response) -> Response:
        status = response.status_code
        if status != 100 and not request.path.startswith(APART):
            activity.count(ANSWERED if status < 400 else _outcome(status), trace.elapsed(request.environ))
        return response

    return count_request


def _outcome(status: int) -> str:
    """Returns the outcome of a request that was answered with this error status."""
    if status in (401, 403) or (status == 404 and _of_object()):
        return REFUSED
    if status == 429:
        return LIMITED
    return FAILED if status >= 500 else ANSWERED


def _of_object() -> bool:
    """True if the 404 may be the refusal of a hidden object. As in the audit log, an absent object counts too."""
    call: Answered | None = g.get("call")
    return call is not None and call.endpoint.permission is not None
