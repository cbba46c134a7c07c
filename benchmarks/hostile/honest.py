"""Honest clients: each sends a request every 50 ms on its own connection, and records the time of the answer."""

from __future__ import annotations

import http.client
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from time import monotonic, sleep

EVERY = 0.05  # seconds
PATIENCE = 12.0  # seconds after which an answer is given up


@dataclass
class Honest:
    """One client. A request is sent when its time has come, whether or not earlier ones were answered: a server that
    stands still for a second makes twenty slow answers, not one.

    waits     seconds of each answer, also of requests that were given up
    statuses  of the answers; 0 for none
    """

    port: int
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    method: str = "GET"
    body: str | None = None
    waits: list[float] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)

    def start(self) -> None:
        self._ended = Event()
        self._asking: list[Thread] = []
        self._thread = Thread(target=self._go, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stops the requests."""
        self._ended.set()
        self._thread.join()

    def wait(self) -> None:
        """Waits until every request is answered or given up."""
        for one in self._asking:
            one.join(timeout=PATIENCE + 1)

    def _go(self) -> None:
        while not self._ended.is_set():
            one = Thread(target=self._ask, daemon=True)
            one.start()
            self._asking.append(one)
            sleep(EVERY)

    def _ask(self) -> None:
        began, status = monotonic(), 0
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(self.method, self.path, self.body, dict(self.headers))
            answer = connection.getresponse()
            answer.read()
            status = answer.status
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()
            self.waits.append(monotonic() - began)
            self.statuses.append(status)

    def quantile(self, part: float) -> float:
        """Returns the wait in seconds that this fraction of the requests did not exceed."""
        return quantile(self.waits, part)

    @property
    def unanswered(self) -> int:
        """Counts the requests without an answer or with a 5xx."""
        return sum(status == 0 or status >= 500 for status in self.statuses)


@contextmanager
def asking(*clients: Honest) -> Iterator[None]:
    """Runs the clients during the block, then waits for their answers."""
    for client in clients:
        client.start()
    try:
        yield
    finally:
        for client in clients:
            client.stop()
        for client in clients:
            client.wait()


def quantile(waits: Sequence[float], part: float) -> float:
    ordered = sorted(waits)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] if ordered else float("nan")
