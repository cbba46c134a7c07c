"""Logs: one JSON object a line, with the ids of requests and traces, and without secrets."""

from __future__ import annotations

import gc
import json
import logging
import os
import signal
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from gatepost.http.operations import logs
from gatepost.http.operations.logs import LONGEST, OFTEN, JsonFormatter, Repetitions
from tests.apps import PASSWORD, Given, close, make_app, new_instance
from tests.databases import new_database
from tests.running import Instance

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
HEADERS = {"X-Request-ID": "r-1", "traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}


@pytest.fixture(scope="module")
def app(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    url = new_database("sqlite", request)
    instance = new_instance(tmp_path_factory.mktemp("logged") / "instance", url, "default")
    made = make_app(instance, url, log_requests="on")
    yield made
    close(made)


class Lines(logging.Handler):
    """Keeps the lines that would be written."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.setFormatter(JsonFormatter())

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    handler, logger = Lines(), logging.getLogger("gatepost")
    monkeypatch.setattr(logger, "level", logging.INFO)
    logger.manager._clear_cache()
    logger.addHandler(handler)
    yield handler.lines
    logger.removeHandler(handler)
    logger.manager._clear_cache()


def test_every_request_is_one_line_that_joins_request_and_trace(app, lines):
    app.test_client().get("/api/articles?title=secret-title", headers=HEADERS)
    (line,) = lines
    entry = json.loads(line)
    assert {"level": "info", "logger": "gatepost.request", "message": "GET /api/articles", "request_id": "r-1",
            "trace_id": TRACE, "status": 200, "code": None, "principal": "guest",
            "address": "127.0.0.1"}.items() <= entry.items()
    assert entry["milliseconds"] > 0
    assert "secret-title" not in line


def test_an_error_has_its_code(app, lines):
    app.test_client().get("/api/profile")
    app.test_client().get("/nowhere")
    assert [(entry["status"], entry["code"]) for entry in map(json.loads, lines)] == [
        (401, "unauthenticated"), (404, "not_found")]


def test_what_a_client_sends_cannot_begin_a_line(app, lines):
    app.test_client().get("/api/%0a%7b%22level%22:%22error%22%7d%ff")
    (line,) = lines
    assert "\n" not in line
    assert json.loads(line)["level"] == "info"


def test_no_secret_is_logged(app, lines):
    user = Given(app, "default").user(password=PASSWORD)
    client = app.test_client()
    token = client.post("/api/login", json={"email": user.email, "password": PASSWORD}).get_json()["access_token"]
    client.get("/api/profile?access_token=leaked", headers={"Authorization": f"Bearer {token}"})
    client.post("/api/login", json={"email": user.email, "password": "not the password"})
    assert len(lines) == 3
    for secret in (token, PASSWORD, "not the password", "leaked", user.email):
        assert secret not in "".join(lines)


def test_an_exception_is_part_of_its_line(app, lines):
    try:
        raise ValueError("broken")
    except ValueError:
        logging.getLogger("gatepost").exception("unhandled")
    entry = json.loads(lines[0])
    assert entry["exception"].startswith("Traceback") and "ValueError: broken" in entry["exception"]


def test_a_long_text_is_cut_in_its_middle_and_says_so(app, lines):
    logger = logging.getLogger("gatepost")
    logger.error("begins %s ends", "x" * 100_000)
    try:
        raise ValueError("y" * 100_000)
    except ValueError:
        logger.exception("unhandled")
    cut, exception = (json.loads(line) for line in lines)
    assert cut["message"].startswith("begins x") and cut["message"].endswith("x ends")
    assert f"{100_012 - LONGEST} characters left out" in cut["message"]
    assert exception["exception"].startswith("Traceback") and len(exception["exception"]) < LONGEST + 50


@pytest.fixture
def minutes(monkeypatch: pytest.MonkeyPatch, lines: list[str]) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """A handler that omits repetitions. `minutes()` lets a minute pass and returns the lines written until then."""
    moment, repetitions = 1000.0, Repetitions()
    monkeypatch.setattr(logs, "monotonic", lambda: moment)
    (handler,) = (each for each in logging.getLogger("gatepost").handlers if isinstance(each, Lines))
    handler.addFilter(repetitions)

    def passes(*, told: bool = False) -> list[dict[str, Any]]:
        nonlocal moment
        moment += logs.MINUTE
        if told:
            repetitions.tell()
        written, lines[:] = [json.loads(line) for line in lines], []
        return written

    return passes


def test_a_message_that_comes_again_and_again_is_written_some_times_a_minute_and_then_counted(app, minutes):
    logger = logging.getLogger("gatepost.flood")
    for number in range(1000):
        logger.error("cannot do %s", number)
    logger.error("something else")
    assert [entry["message"] for entry in minutes()] == [f"cannot do {n}" for n in range(OFTEN)] + ["something else"]
    logger.error("cannot do %s", "more")
    assert [entry["message"] for entry in minutes()] == [
        f"{1000 - OFTEN} lines were left out that begin: cannot do 0", "cannot do more"]


def test_an_exception_that_was_logged_keeps_nothing_of_its_request_in_memory():
    class Body:
        pass

    def fail() -> weakref.ref[Body]:
        body = Body()
        try:
            raise ValueError("broken")
        except ValueError:
            record = logging.LogRecord("gatepost", logging.ERROR, __file__, 1, "unhandled", (), sys.exc_info())
            assert repetitions.filter(record)
        return weakref.ref(body)

    repetitions = Repetitions()
    kept = fail()
    gc.collect(1)  # of what is young, since a search of everything takes seconds
    assert kept() is None


def test_a_message_whose_arguments_do_not_fit_it_is_no_error_for_its_logger():
    record = logging.LogRecord("gatepost", logging.ERROR, __file__, 1, "%d of %d", ("one",), None)
    assert Repetitions().filter(record)


def test_messages_left_out_are_counted_also_when_the_message_does_not_come_again(app, minutes):
    for _ in range(50):
        logging.getLogger("gatepost.flood").error("once upon a time")
    *_, last = minutes(told=True)
    assert (last["level"], last["logger"], last["message"]) == (
        "error", "gatepost.flood", f"{50 - OFTEN} lines were left out that begin: once upon a time")
    assert minutes(told=True) == []


def test_a_thread_that_logs_while_lines_are_counted_is_no_error(lines, monkeypatch):
    """Such a thread adds a message to the minute whose messages are being counted."""
    moment = [0.0]
    monkeypatch.setattr(logs, "monotonic", lambda: moment[0])
    repetitions, logger = Repetitions(), logging.getLogger("gatepost.jobs")
    for _ in range(2 * OFTEN):
        for text in ("first", "second"):
            repetitions.filter(logger.makeRecord(logger.name, logging.WARNING, "", 0, text, (), None))
    minute = repetitions._messages

    class Late(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            minute[record.getMessage()] = next(iter(minute.values()))

    late = Late()
    logger.addHandler(late)
    moment[0] = 2 * logs.MINUTE
    try:
        repetitions.tell()
    finally:
        logger.removeHandler(late)
    assert len(lines) == 2


def test_another_exception_under_the_same_message_is_written(app, minutes):
    def fail(error: Exception) -> None:
        try:
            raise error
        except Exception:
            logging.getLogger("gatepost").exception("unhandled")

    for _ in range(100):
        fail(ValueError("common"))
    fail(KeyError("rare"))
    written = minutes()
    assert len(written) == OFTEN + 1 and "rare" in written[-1]["exception"]


def test_messages_without_end_are_counted_together(app, minutes, monkeypatch):
    monkeypatch.setattr(logs, "MESSAGES", 10)
    for number in range(500):
        logging.getLogger("gatepost.flood").error(f"different {number}")
    assert len(minutes()) == 10 + OFTEN


def test_every_request_has_its_line_however_many_they_are(app, minutes):
    for _ in range(3 * OFTEN):
        app.test_client().get("/api/health/live")
    assert len(minutes()) == 3 * OFTEN


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "logged"), [("on", True), ("off", False)])
def test_a_served_instance_logs_requests_where_it_is_asked_to(tmp_path: Path, setting, logged):
    instance = Instance(tmp_path / "instance", {"GATEPOST_LOG_REQUESTS": setting}).made()
    with instance.served() as service:
        service.call("GET", "/api/health/live")
        service.process.send_signal(signal.SIGTERM)
        service.process.wait(timeout=30)
        entries = [json.loads(line) for line in service.process.stderr.read().splitlines()]
    assert ("GET /api/health/live" in [entry["message"] for entry in entries]) is logged


def test_nothing_waits_for_a_log_that_nobody_reads_and_later_it_says_what_is_missing(monkeypatch):
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as reader, os.fdopen(writing, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(logs, "PATIENCE", 0.01)
        handler = logs.StandardError()
        handler.setFormatter(JsonFormatter())

        def log(message):
            handler.handle(logging.makeLogRecord({"msg": message, "levelname": "INFO", "name": "gatepost"}))

        sent = 0
        while not handler._left_out:
            log("x" * 5000)
            sent += 1
        log("one more")
        text = reader.read1(1 << 20)
        log("read again")
        text += reader.read1(1 << 20)
        *written, missing, last = [json.loads(line)["message"] for line in text.splitlines()]
        assert sent > 3 and written == ["x" * 5000] * (sent - 1), "also the line that was cut off is completed"
        assert missing == "2 lines were left out, because nobody read the log"
        assert last == "read again"
