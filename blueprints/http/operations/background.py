"""Background jobs: one daemon thread in each process that serves does them in turn.

A job that fails is logged once and tried again at its next time; it never stops the others.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event, Lock, Thread
from time import monotonic

from models.engine.waiting import uncounted

log = logging.getLogger("gatepost.background")

TICK = 1.0  # seconds between two looks at what is due


@dataclass
class Job:
    """`run` is called every so many seconds, and `last` once when the process stops."""

    name: str
    every: float
    run: Callable[[], object]
    last: Callable[[], object] | None = None
    due: float = 0.0
    failing: bool = False

    def attempt(self) -> None:
        self._attempt(self.run)

    def end(self) -> None:
        if self.last is not None:
            self._attempt(self.last)

    def _attempt(self, run: Callable[[], object]) -> None:
        try:
            with uncounted():
                run()
        except Exception as error:
            if not self.failing:
                log.error("%s failed and will be tried again: %s: %s", self.name, type(error).__name__, error)
            self.failing = True
        else:
            if self.failing:
                log.info("%s works again", self.name)
            self.failing = False


class Background:
    """The jobs of one process. Started after any fork, since threads do not survive one."""

    def __init__(self, *jobs: Job) -> None:
        self._jobs = jobs
        self._starting = Lock()
        self._stopping = Event()
        self._thread: Thread | None = None
        self._process = 0

    def start(self) -> None:
        """Run the jobs in a thread of this process; a second call does nothing."""
        with self._starting:
            if self._process == os.getpid():
                return
            self._process = os.getpid()
            self._stopping.clear()
            for job in self._jobs:
                job.due = monotonic() + min(job.every, 60.0)
            self._thread = Thread(target=self._run, name="background jobs", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the thread and do what must not be left undone. A second call does nothing."""
        with self._starting:
            if self._process != os.getpid():
                return
            self._process = 0
            self._stopping.set()
            if self._thread is not None:
                self._thread.join()
                self._thread = None
            for job in self._jobs:
                job.end()

    def _run(self) -> None:
        while not self._stopping.wait(TICK):
            for job in self._jobs:
                if not self._stopping.is_set() and monotonic() >= job.due:
                    job.attempt()
                    job.due = monotonic() + job.every
