"""`Worker`: a thread that runs a function again and again.

A thread that runs a function once is a plain `threading.Thread`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Lock, Thread, current_thread

log = logging.getLogger("gatepost.worker")

_changing = Lock()
# A fork waits for a `start` or `stop` under way: the child finds each worker either started or stopped.
os.register_at_fork(before=_changing.acquire, after_in_parent=_changing.release, after_in_child=_changing.release)


class Worker:
    """Runs a function in a thread when woken, and at an interval; it logs exceptions and goes on.

    No thread survives a fork. `start` in the child begins a new one, which first repeats a wake that the parent had not
    completed.

    woken     True if the current run follows `wake`, False if it follows the interval
    stopping  True from `stop` to the next `start`
    """

    def __init__(self, name: str, run: Callable[[], object], interval: float | None = None) -> None:
        """Sets the function `run` and its `interval`, the pause between two runs in seconds; None: only `wake` causes a
        run."""
        self.name, self.woken, self.stopping = name, False, False
        self._run, self._interval = run, interval
        self._wakes = self._completed = 0
        self._process = 0
        # Each thread has its own queue, so that a thread which outlives `stop` still ends. True: run, None: end.
        self._calls: SimpleQueue[bool | None] = SimpleQueue()
        self._thread: Thread | None = None

    @property
    def running(self) -> bool:
        """True between `start` and `stop`, in the process that called `start`."""
        return self._process == os.getpid()

    def start(self) -> None:
        """Starts the thread of this process. A second call does nothing. Raises RuntimeError if no thread can start."""
        with _changing:
            if self.running:
                return
            self.stopping, self._calls = False, SimpleQueue()
            if self._wakes != self._completed:
                self._calls.put(True)
            self._thread = Thread(target=self._work, args=(self._calls,), name=self.name, daemon=True)
            self._thread.start()
            self._process = os.getpid()

    def wake(self) -> None:
        """Causes a run soon, or after the next start. The handler of a signal may call this: it takes no lock."""
        self._wakes += 1
        if self._calls.empty():
            self._calls.put(True)

    def stop(self, timeout: float | None = None) -> None:
        """Ends the thread. Waits for the current run, `timeout` seconds at most. A second call does nothing."""
        with _changing:
            if not self.running:
                return
            self._process, self.stopping = 0, True
            self._calls.put(None)
            thread = self._thread
        if thread is not None and thread is not current_thread():
            thread.join(timeout)

    def _work(self, calls: SimpleQueue[bool | None]) -> None:
        failing = False
        while (woken := self._next(calls)) is not None:
            self.woken, wakes = woken, self._wakes
            try:
                self._run()
            except (Exception, SystemExit):  # sys.exit() in a plugin would end the thread silently
                if not failing:
                    log.exception("the worker %r failed and will try again", self.name)
                failing = True
            else:
                failing = False
            if woken:
                self._completed = wakes

    def _next(self, calls: SimpleQueue[bool | None]) -> bool | None:
        """Returns True after a wake, False after the interval, None at the end."""
        try:
            call = calls.get(timeout=self._interval)
            while call and not calls.empty():
                call = calls.get()
        except Empty:
            return False
        return call
