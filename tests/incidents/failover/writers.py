"""Clients that write with an `Idempotency-Key`, repeat unanswered requests, and record acknowledged writes."""

from __future__ import annotations

import http.client
import itertools
import json
import ssl
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from time import monotonic, sleep
from typing import Any

from tests.incidents.failover.nodes import Nodes
from tests.incidents.proxies import HOST

PATIENCE = 30.0  # seconds after which a client gives up on an answer
BETWEEN = 0.02  # seconds between two writes of a client
AGAIN = 0.1  # seconds until a client repeats a request; an honest one waits for as long as Retry-After says
_ALLOWED = {(503, "unavailable"), (503, "overloaded"), (503, "timeout"), (409, "idempotency_in_progress")}
# nginx has no node, or the node died during a POST, which must not be sent twice.
_PROXY = {502, 504}


@dataclass(frozen=True)
class Acknowledged:
    """A write with the answer 201: its client, and its monotonic time."""

    client: int
    marker: str
    id: str
    began: float
    ended: float


@dataclass
class Writers:
    """`with Writers(…) as writers:` one client writes to each node, two through nginx, and one reads through it.

    acknowledged  what was answered 201
    answers       other answers, and requests without one, by what they were
    wrong         what no client may see
    longest       seconds of the slowest answer
    """

    nodes: Nodes
    token: str
    article: str
    name: str
    acknowledged: list[Acknowledged] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    longest: float = 0.0

    def __enter__(self) -> Writers:
        self._stop, self._lock = Event(), Lock()
        direct = len(self.nodes.each)
        works = [*[(self._write, number) for number in range(direct + 2)], (self._read, direct + 2)]
        self._threads = [Thread(target=self._guard, args=work, daemon=True) for work in works]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Each client ends once its last write is acknowledged."""
        self._stop.set()
        for thread in self._threads:
            thread.join(120)
            if thread.is_alive():
                self.wrong.append("a write is not acknowledged for two minutes")

    def first_of(self, client: int, moment: float) -> float | None:
        """Returns the end of the client's first acknowledged write that ended after `moment`."""
        with self._lock:
            return min((one.ended for one in self.acknowledged if one.client == client and one.ended > moment),
                       default=None)

    def all(self) -> list[Acknowledged]:
        """Returns the writes that are acknowledged so far."""
        with self._lock:
            return list(self.acknowledged)

    def _guard(self, work: Any, client: int) -> None:
        try:
            work(client)
        except Exception as error:
            with self._lock:
                self.wrong.append(f"client {client}: {error!r}")

    def _write(self, client: int) -> None:
        with closing(self._connection(client)) as connection:
            for number in itertools.count():
                if self._stop.is_set():
                    return
                marker = f"{self.name}-{client}-{number}"
                body = json.dumps({"article_id": self.article, "body": marker})
                began = monotonic()
                # The last write, too: it is repeated until its result is known.
                while (made := self._ask(connection, "POST", "/api/comments", body, marker, direct=client)) is None:
                    if monotonic() - began > 100:
                        raise AssertionError(f"{marker} is not acknowledged")
                    sleep(AGAIN)
                with self._lock:
                    self.acknowledged.append(Acknowledged(client, marker, made["id"], began, monotonic()))
                sleep(BETWEEN)

    def _read(self, client: int) -> None:
        """Reads through nginx, which may choose another node. A read fails only because of the database."""
        with closing(self._connection(client)) as connection:
            while not self._stop.wait(AGAIN):
                self._ask(connection, "GET", "/api/articles?limit=1", None, "", direct=client)

    def _connection(self, client: int) -> http.client.HTTPConnection:
        if client < len(self.nodes.each):
            return http.client.HTTPConnection("127.0.0.1", self.nodes.each[client].port, timeout=PATIENCE)
        return http.client.HTTPSConnection("127.0.0.1", self.nodes.proxy, timeout=PATIENCE,
                                           context=ssl._create_unverified_context())

    def _ask(self, connection: http.client.HTTPConnection, method: str, path: str, body: str | None, key: str, *,
             direct: int) -> Any:
        """Sends a request. Returns the body of a success; None if the request has to be repeated."""
        headers = {"Authorization": f"Bearer {self.token}", "Host": HOST}
        if body is not None:
            headers |= {"Content-Type": "application/json", "Idempotency-Key": key}
        began = monotonic()
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            with self._lock:
                self.answers[f"{method} {type(error).__name__}"] += 1
                if direct >= len(self.nodes.each):
                    self.wrong.append(f"nginx, {method}: {error!r}")
            return None
        with self._lock:
            self.longest = max(self.longest, monotonic() - began)
            if answer.status in (200, 201):
                self.answers[f"{method} {answer.status}"] += 1
                if answer.getheader("Idempotency-Replayed"):
                    self.answers["replayed"] += 1
                return json.loads(text)
            self._check(method, answer, text, proxied=direct >= len(self.nodes.each))
        return None

    def _check(self, method: str, answer: http.client.HTTPResponse, text: bytes, *, proxied: bool) -> None:
        if proxied and answer.status in _PROXY:
            self.answers[f"{method} {answer.status} of nginx"] += 1
            if method == "GET":
                self.wrong.append(f"nginx answered a GET {answer.status}")
            return
        problem = answer.getheader("Content-Type", "").startswith("application/problem+json")
        code = json.loads(text).get("code") if problem else "no problem document"
        self.answers[f"{method} {answer.status} {code}"] += 1
        if (answer.status, code) not in _ALLOWED or not answer.getheader("Retry-After"):
            self.wrong.append(f"{method}: {answer.status} {code}, Retry-After {answer.getheader('Retry-After')}")
