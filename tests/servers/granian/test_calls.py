"""Requests that find no place free in a worker of granian: they wait or are refused. The liveness probe is answered."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any

import pytest

from gatepost.http.protocol.problems import REFUSED_BY_SERVER
from gatepost.servers.admission import PATIENCE
from gatepost.servers.granian import calls
from gatepost.servers.granian.bodies import BodyPlaces
from gatepost.servers.granian.calls import Calls
from gatepost.servers.granian.transfers import Transfers
from tests.servers.granian.test_bodies import Clock

LONG = 60  # seconds that a test waits for what has to happen


class Sink:
    """Keeps the status that a client gets."""

    def __init__(self) -> None:
        self.statuses: list[int] = []

    def response_bytes(self, status: int, headers: Any, body: bytes) -> None:
        self.statuses.append(status)


class Serving:
    stopping = False

    def look(self) -> None:
        pass


class Worker:
    """A worker with one place. Its application answers `/wait` when it is `released`."""

    def __init__(self) -> None:
        self.started, self.released = Event(), Event()
        self.calls = Calls(self._answer, 1, BodyPlaces(1), Transfers(port=1), Serving())

    def _answer(self, environ: Any, start_response: Any) -> list[bytes]:
        if environ["PATH_INFO"] == "/wait":
            self.started.set()
            assert self.released.wait(LONG)
        start_response("503 Service Unavailable" if REFUSED_BY_SERVER in environ else "200 OK", [])
        return [b""]

    def ask(self, path: str) -> Sink:
        """Call the worker for a request, as a thread of granian does."""
        sink = Sink()
        self.calls(sink, {"PATH_INFO": path, "REQUEST_METHOD": "GET", "SERVER_PROTOCOL": "HTTP/1.1", "HTTP_HOST": "x"})
        return sink


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(calls, "monotonic", clock)
    return clock


@contextmanager
def stuck() -> Iterator[Worker]:
    """A worker whose only place is taken until it is released."""
    worker = Worker()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(worker.ask, "/wait")
        try:
            assert worker.started.wait(LONG)
            yield worker
        finally:
            worker.released.set()
        assert first.result(LONG).statuses == [200]


def test_a_request_that_waits_for_a_moment_is_answered_by_the_thread_that_becomes_free(clock):
    with stuck() as worker:
        waiting = [worker.ask("/soon") for _ in range(3)]
        assert [each.statuses for each in waiting] == [[], [], []]
        clock.now += PATIENCE - 1
    assert [each.statuses for each in waiting] == [[200]] * 3
    assert worker.ask("/next").statuses == [200]


def test_a_request_that_has_waited_too_long_is_refused_while_the_place_is_taken(clock):
    with stuck() as worker:
        late = worker.ask("/late")
        clock.now += PATIENCE + 1
        soon = worker.ask("/soon")
        worker.calls._refuse_overdue(clock.now - PATIENCE)
        assert (late.statuses, soon.statuses) == ([503], [])
    assert soon.statuses == [200]


def test_a_thread_that_becomes_free_refuses_what_has_waited_too_long(clock):
    with stuck() as worker:
        late = worker.ask("/late")
        clock.now += PATIENCE + 1
    assert late.statuses == [503]


def test_the_liveness_probe_is_answered_while_the_place_is_taken(clock):
    with stuck() as worker:
        assert worker.ask("/api/health/live").statuses == [200]
