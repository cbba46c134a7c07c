"""`Worker`: runs when woken and at an interval, survives exceptions, and begins again in a forked process."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from queue import Queue

import pytest

from system.worker import Worker
from tests.running import wait_until

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # Python ≥ 3.12 warns beside threads

Make = Callable[..., Worker]


@pytest.fixture
def worker() -> Iterator[Make]:
    made: list[Worker] = []

    def make(run: Callable[[], object], interval: float | None = None) -> Worker:
        made.append(Worker("test worker", run, interval))
        return made[-1]

    yield make
    for each in made:
        each.stop(30)


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "test worker"]


def in_child(work: Callable[[], object]) -> int:
    """The exit status of a forked process: 0 if `work` returned in time."""
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            work()
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1]


def test_it_runs_at_its_interval_and_when_woken(worker: Make) -> None:
    runs: Queue[bool] = Queue()
    often = worker(lambda: runs.put(often.woken), 0.001)
    often.start()
    assert [runs.get(timeout=30) for _ in range(3)] == [False] * 3
    seldom = worker(lambda: runs.put(seldom.woken))
    often.stop(30)
    while not runs.empty():
        runs.get()
    seldom.start()
    seldom.wake()
    assert runs.get(timeout=30) is True and runs.empty()


def test_a_wake_before_the_start_and_after_a_stop_is_kept(worker: Make) -> None:
    runs: Queue[int] = Queue()
    made = worker(lambda: runs.put(1))
    made.wake()
    made.start()
    runs.get(timeout=30)
    made.stop(30)
    made.wake()
    made.start()
    runs.get(timeout=30)


def test_wakes_during_a_run_cause_one_more(worker: Make) -> None:
    runs, go_on = Queue[int](), threading.Event()

    def run() -> None:
        runs.put(1)
        go_on.wait(30)

    made = worker(run)
    made.start()
    made.wake()
    runs.get(timeout=30)
    for _ in range(100):
        made.wake()
    go_on.set()
    runs.get(timeout=30)
    made.stop(30)
    assert runs.empty()


def test_a_second_start_or_stop_does_nothing(worker: Make) -> None:
    made = worker(lambda: None, 60)
    made.stop()
    made.start()
    made.start()
    assert len(threads()) == 1 and made.running and not made.stopping
    made.stop(30)
    made.stop(30)
    assert threads() == [] and not made.running and made.stopping


@pytest.mark.parametrize("error", [ZeroDivisionError("no luck"), SystemExit(3)])
def test_an_exception_is_logged_once_and_does_not_end_it(worker: Make, caplog, error: BaseException) -> None:
    runs: Queue[int] = Queue()

    def fails() -> None:
        runs.put(1)
        raise error

    made = worker(fails, 0.001)
    made.start()
    for _ in range(5):
        runs.get(timeout=30)
    made.stop(30)
    assert caplog.messages == ["the worker 'test worker' failed and will try again"]
    assert caplog.records[0].exc_info[1] is error


def test_a_run_may_stop_its_own_worker(worker: Make) -> None:
    made = worker(lambda: made.stop(), 0.001)
    made.start()
    wait_until(lambda: threads() == [])


def test_a_run_that_hangs_is_left_behind_and_ends_though_a_new_thread_was_started(worker: Make) -> None:
    begun, go_on = Queue[int](), threading.Event()

    def run() -> None:
        begun.put(1)
        go_on.wait(30)

    made = worker(run)
    made.wake()
    made.start()
    begun.get(timeout=30)
    [hanging] = threads()
    made.stop(0.01)
    made.start()
    assert hanging.is_alive() and len(threads()) == 2
    go_on.set()
    hanging.join(30)
    assert not hanging.is_alive() and len(threads()) == 1


def test_a_signal_wakes_it_also_while_the_main_thread_wakes_it(worker: Make) -> None:
    runs: Queue[int] = Queue()
    made = worker(lambda: runs.put(1))
    before = signal.signal(signal.SIGHUP, lambda *_: made.wake())
    made.start()
    try:
        for _ in range(2000):
            os.kill(os.getpid(), signal.SIGHUP)
            made.wake()
        runs.get(timeout=30)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_child_starts_a_thread_of_its_own(worker: Make) -> None:
    runs: Queue[int] = Queue()
    made = worker(lambda: runs.put(os.getpid()), 0.001)
    made.start()
    runs.get(timeout=30)

    def child() -> None:
        assert not made.running and threads() == []
        made.stop()  # that of the parent is none of the child's
        made.start()
        while runs.get(timeout=20) != os.getpid():
            pass
        made.stop(20)
        assert threads() == []

    assert in_child(child) == 0
    assert made.running and len(threads()) == 1


def test_a_child_repeats_a_wake_that_its_parent_had_not_completed(worker: Make) -> None:
    begun, go_on, pid = Queue[int](), threading.Event(), os.getpid()

    def run() -> None:
        begun.put(os.getpid())
        if os.getpid() == pid:
            go_on.wait(30)

    made = worker(run)
    made.start()
    made.wake()
    begun.get(timeout=30)  # the parent is in the midst of it

    def child() -> None:
        made.start()
        assert begun.get(timeout=20) == os.getpid()

    assert in_child(child) == 0
    go_on.set()
    made.stop(30)
    made.start()

    def later() -> None:
        made.start()
        made.stop(20)
        assert begun.empty()

    assert in_child(later) == 0


def test_a_fork_waits_until_no_worker_is_half_started(worker: Make) -> None:
    """Threads start and stop workers all the time; a child that inherited a held lock would hang."""
    made = [worker(lambda: None, 60) for _ in range(4)]
    ended = threading.Event()

    def turn(one: Worker) -> None:
        while not ended.is_set():
            one.start()
            one.stop()

    turning = [threading.Thread(target=turn, args=(one,)) for one in made]
    for thread in turning:
        thread.start()

    def child() -> None:
        for one in made:
            one.start()
            assert one.running
            one.stop(20)

    try:
        for _ in range(20):
            assert in_child(child) == 0
    finally:
        ended.set()
        for thread in turning:
            thread.join(30)
