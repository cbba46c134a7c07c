"""Background tasks of the service: one daemon thread in each serving process runs them in turn.

A task ends with its process. Work that must not be lost is a job (`gatepost/jobs`). A failing task is logged once, and
runs again at its next time. It never stops the others.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from models.engine.waiting import uncounted
from system.worker import Worker

log = logging.getLogger("gatepost.background")

TICK = 1.0  # seconds between two checks for due tasks


@dataclass
class BackgroundTask:
    """Task that calls `run` at each interval (`at_once`: also at the start), and `last` when the process stops."""

    name: str
    every: float
    run: Callable[[], object]
    last: Callable[[], object] | None = None
    at_once: bool = False
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
        except (Exception, SystemExit) as error:
            if not self.failing:
                log.error("%s failed and will be retried: %s: %s", self.name, type(error).__name__, error)
            self.failing = True
        else:
            if self.failing:
                log.info("%s works again", self.name)
            self.failing = False


class Background:
    """Background tasks of one process."""

    def __init__(self, *tasks: BackgroundTask) -> None:
        self._tasks = tasks
        self._worker = Worker("tasks", self._run_due, TICK)

    def add(self, *tasks: BackgroundTask) -> None:
        """Adds tasks before all others. For use before the start."""
        self._tasks = (*tasks, *self._tasks)

    def start(self) -> None:
        """Starts the thread of this process. A second call does nothing."""
        if not self._worker.running:
            for task in self._tasks:
                task.due = monotonic() + (0.0 if task.at_once else min(task.every, 60.0))
            self._worker.start()

    def stop(self) -> None:
        """Stops the thread and runs each task's `last`. A second call does nothing."""
        if self._worker.running:
            self._worker.stop()
            for task in self._tasks:
                task.end()

    def _run_due(self) -> None:
        for task in self._tasks:
            if not self._worker.stopping and monotonic() >= task.due:
                task.attempt()
                task.due = monotonic() + task.every
