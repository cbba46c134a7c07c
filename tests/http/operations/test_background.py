"""The background tasks: one thread in each process, which a failing task does not stop."""

from __future__ import annotations

import threading
from queue import Queue

import pytest

from gatepost.http.operations import background
from gatepost.http.operations.background import Background, BackgroundTask


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(background, "TICK", 0.001)


@pytest.fixture
def started():
    running = []

    def start(*tasks):
        made = Background(*tasks)
        running.append(made)
        made.start()
        return made

    yield start
    for each in running:
        each.stop()


def broken():
    raise ZeroDivisionError("no such luck")


def names():
    return [thread.name for thread in threading.enumerate()]


def test_a_job_is_done_again_and_again(started):
    done = Queue()
    started(BackgroundTask("work", 0, lambda: done.put(1)))
    for _ in range(5):
        assert done.get(timeout=30) == 1


def test_a_job_that_fails_is_logged_once_and_stops_no_other(started, caplog):
    done = Queue()
    running = started(BackgroundTask("luck", 0, broken), BackgroundTask("work", 0, lambda: done.put(1)))
    for _ in range(5):
        done.get(timeout=30)
    running.stop()
    assert [record.getMessage() for record in caplog.records] == [
        "luck failed and will be retried: ZeroDivisionError: no such luck"]


def test_a_job_that_works_again_says_so(started, caplog):
    caplog.set_level("INFO")
    outcomes, done = iter((broken, lambda: None)), Queue()

    def sometimes():
        try:
            next(outcomes, lambda: None)()
        finally:
            done.put(1)

    running = started(BackgroundTask("luck", 0, sometimes))
    for _ in range(3):
        done.get(timeout=30)
    running.stop()
    assert caplog.records[-1].getMessage() == "luck works again"


def test_there_is_one_thread_however_often_it_is_started_and_none_after_the_end(started):
    before = len(names())
    running = started(BackgroundTask("work", 60, lambda: None))
    running.start()
    assert len(names()) == before + 1
    running.stop()
    running.stop()
    assert len(names()) == before


def test_what_must_not_be_left_undone_is_done_at_the_end(started):
    done = []
    running = started(BackgroundTask("last words", 60, lambda: done.append("work"), last=lambda: done.append("last")),
                      BackgroundTask("other", 60, lambda: done.append("other")))
    running.stop()
    assert done == ["last"]


def test_it_can_be_started_again_after_it_was_stopped(started):
    done = Queue()
    running = started(BackgroundTask("work", 0, lambda: done.put(1)))
    running.stop()
    while not done.empty():
        done.get()
    running.start()
    assert done.get(timeout=30) == 1
