"""Requests in a worker of granian: the concurrency limit, the liveness probe, bodies, the end of a connection."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
from werkzeug.exceptions import ClientDisconnected
from werkzeug.wrappers import Request

from gatepost.http.protocol.problems import CUT_UNSEEN, REFUSED_BY_SERVER
from gatepost.servers import admission
from gatepost.servers.granian import application
from gatepost.servers.granian.application import Application, threads_for
from tests.running import wait_until

LONG = 60  # seconds that a test waits for an expected event
CHUNKED = {"HTTP_TRANSFER_ENCODING": "chunked"}
Answer = tuple[int, dict[str, str]]


class Worker:
    """A worker with a concurrency limit of one.

    /wait     is answered when the worker is `released`
    /read     reads the body; other paths do not
    requests  the environments that the application received
    """

    def __init__(self, stopping: bool = False) -> None:
        self.released, self.requests = Event(), list[Mapping[str, Any]]()
        self.application = Application(self._answer, 1, lambda: stopping)

    def _answer(self, environ: Any, start_response: Any) -> list[bytes]:
        self.requests.append(environ)
        if environ["PATH_INFO"] == "/read":
            Request(environ).get_data()
        if environ["PATH_INFO"] == "/wait":
            assert self.released.wait(LONG)
        start_response("503 Service Unavailable" if REFUSED_BY_SERVER in environ else "200 OK", [])
        return [b""]

    def ask(self, path: str, body: bytes = b"", **more: str) -> Answer:
        """Returns status and headers of an answer; calls the application as a thread of granian does."""
        answers = list[Answer]()
        self.application({
            "PATH_INFO": path, "REQUEST_METHOD": "POST" if body else "GET", "SERVER_PROTOCOL": "HTTP/1.1",
            "HTTP_HOST": "x", "wsgi.input": io.BytesIO(body), "wsgi.input_terminated": True, **more,
        }, lambda status, headers, error=None: answers.append((int(status[:3]), dict(headers))))
        return answers[0]


@pytest.fixture
def worker() -> Worker:
    return Worker()


@pytest.fixture
def begin(worker: Worker) -> Iterator[Callable[[str], Future[Answer]]]:
    """Sends a request in a separate thread, which occupies the worker."""
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(worker.ask, "/wait")
        try:
            wait_until(lambda: worker.requests)
            yield lambda path: pool.submit(worker.ask, path)
        finally:
            worker.released.set()
        assert first.result(LONG)[0] == 200


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "PATIENCE", 10.0 * LONG)
    monkeypatch.setattr(application, "STUCK", 10.0 * LONG)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "PATIENCE", 0.01)


def test_there_is_a_thread_more_than_requests_that_are_handled_or_wait():
    assert threads_for(4) == 9


@pytest.mark.usefixtures("patient")
def test_requests_that_wait_are_answered_once_the_place_is_free(worker, begin):
    waiting = [begin(f"/{number}") for number in range(3)]
    assert len(worker.requests) == 1
    worker.released.set()
    assert [each.result(LONG)[0] for each in waiting] == [200] * 3
    assert worker.ask("/next")[0] == 200


@pytest.mark.usefixtures("impatient")
def test_a_request_that_waits_too_long_is_refused_and_leaves_the_place_to_others(worker, begin):
    assert worker.ask("/late")[0] == 503
    worker.released.set()
    wait_until(lambda: worker.ask("/next")[0] == 200)


def test_the_last_thread_refuses_at_once_where_no_request_ends(worker, begin, monkeypatch):
    monkeypatch.setattr(admission, "PATIENCE", 10.0 * LONG)
    monkeypatch.setattr(application, "STUCK", 0.0)
    waiting = begin("/waiting")
    wait_until(lambda: not worker.application._waiting._value)
    assert worker.ask("/late")[0] == 503
    worker.released.set()
    assert waiting.result(LONG)[0] == 200


@pytest.mark.usefixtures("patient")
def test_the_liveness_probe_is_answered_while_the_place_is_taken(worker, begin):
    assert worker.ask("/api/health/live")[0] == 200


def test_a_place_is_given_back_when_the_application_raises(worker, monkeypatch):
    def fail(environ: Any, start_response: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(worker.application, "_application", fail)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            worker.ask("/fails")
    monkeypatch.undo()
    assert worker.ask("/next")[0] == 200


def test_a_body_that_breaks_off_is_an_error_where_its_length_is_known(worker):
    with pytest.raises(ClientDisconnected):
        worker.ask("/read", b"abc", CONTENT_LENGTH="4")
    assert worker.ask("/read", b"abc", CONTENT_LENGTH="3") == (200, {})


def test_it_is_noted_where_the_end_of_a_body_cannot_be_told_from_its_breaking_off(worker):
    assert worker.ask("/read", b"abc", **CHUNKED) == (200, {})
    worker.ask("/read", b"abc", CONTENT_LENGTH="3")
    assert [CUT_UNSEEN in each for each in worker.requests] == [True, False]


@pytest.mark.parametrize("sent", [{"CONTENT_LENGTH": "3"}, CHUNKED], ids=["length", "chunks"])
def test_a_connection_ends_where_a_body_was_not_read(worker, sent):
    assert worker.ask("/not-read", b"abc", **sent) == (200, {"Connection": "close"})


def test_a_connection_ends_with_its_next_answer_once_the_service_stops():
    assert Worker(stopping=True).ask("/next") == (200, {"Connection": "close"})


def test_a_request_that_http_does_not_allow_is_answered_without_the_application(worker):
    assert worker.ask("/x", HTTP_HOST="a b") == (
        400, {"Content-Type": "text/plain; charset=utf-8", "Connection": "close"})
    assert worker.ask("/x", b"abc", CONTENT_LENGTH="3", **CHUNKED)[0] == 400
    assert not worker.requests


def test_a_variable_of_the_environment_is_no_header(monkeypatch):
    """granian copies the environment of its process into that of each request."""
    monkeypatch.setenv("HTTP_X_FORWARDED_FOR", "192.0.2.1")
    monkeypatch.setenv("CONTENT_LENGTH", "7")
    worker = Worker()
    worker.ask("/x", HTTP_X_FORWARDED_FOR="192.0.2.1", CONTENT_LENGTH="7")
    worker.ask("/x", HTTP_X_FORWARDED_FOR="192.0.2.9")
    first, second = worker.requests
    assert "HTTP_X_FORWARDED_FOR" not in first and "CONTENT_LENGTH" not in first
    assert second["HTTP_X_FORWARDED_FOR"] == "192.0.2.9"
