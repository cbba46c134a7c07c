"""What runs in a process beside its requests, from the first of them to the end of the process."""

from __future__ import annotations

import atexit
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Protocol


class Part(Protocol):
    """Has threads of its own. A second `start` or `stop` in a row does nothing."""

    def start(self) -> None: ...
    def stop(self) -> None: ...


class Jobs(Part, Protocol):
    """Runs jobs: the runner of `http/jobs`."""

    def wake(self) -> None:
        """Look for a job at once: one was committed."""

    def run_due(self) -> int:
        """Run every job that is due, here and now; how many."""


class Process(ABC):
    """Starts its parts once in each process, since a server may fork after the app was made."""

    _started_in: int = 0

    @property
    @abstractmethod
    def parts(self) -> Iterable[Part]:
        """In the order in which they start and stop."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what the parts have used."""

    def ensure_running(self) -> None:
        """Start the parts, unless this process has done so."""
        if self._started_in != os.getpid():
            self._started_in = os.getpid()
            for part in self.parts:
                part.start()
            # A process that ends by itself still stores what it has to tell.
            atexit.register(self.stop)

    def stop(self) -> None:
        """End the parts, which store what waits, and close the connections."""
        atexit.unregister(self.stop)
        self._started_in = 0
        for part in self.parts:
            part.stop()
        self.close()
