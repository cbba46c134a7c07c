"""Clients that send requests continuously, and record the answers and their times."""

from __future__ import annotations

import http.client
import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from time import monotonic, sleep
from typing import Any

from tests.running import PASSWORD

from .fault import Place

EVERY = 0.1  # seconds between two requests of a client
PATIENCE = 12.0  # seconds after which a client gives up on an answer
LAG = 5.0  # seconds for which health may rely on a write that succeeded


@dataclass(frozen=True)
class Answer:
    """One answer; status 0: there was none. `said`: the code of a problem, or what health says."""

    kind: str
    began: float
    ended: float
    status: int
    said: str
    checks: frozenset[str] = frozenset()


@dataclass
class Clients:
    """`with Clients(place).asking():` two write, one reads, one asks for liveness, one for health.

    created  slugs that were acknowledged with 201
    """

    place: Place
    answers: list[Answer] = field(default_factory=list)
    created: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._ended, self._lock, self._token = Event(), Lock(), ""

    def log_in(self) -> None:
        """Fetches an access token, if that is possible now."""
        body = {"email": "admin@example.org", "password": PASSWORD}
        status, answer = self._ask("POST", "/api/login", body)
        if status == 200:
            self._token = answer["access_token"]

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Sends requests during the block."""
        works: list[Callable[[int], None]] = [self._write, self._write, self._read, self._live, self._health]
        threads = [Thread(target=self._repeat, args=(number, work), daemon=True) for number, work in enumerate(works)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._ended.set()
            for thread in threads:
                thread.join(PATIENCE * 2)

    def succeeded_since(self, moment: float) -> float | None:
        """Returns the end of the first successful write that began after `moment`."""
        with self._lock:
            return min((one.ended for one in self.answers
                        if one.kind == "write" and one.status == 201 and one.began > moment), default=None)

    def between(self, began: float, ended: float, *kinds: str) -> list[Answer]:
        """Returns the answers to requests of these kinds that were sent in the period."""
        with self._lock:
            return [one for one in self.answers if one.kind in kinds and began <= one.began < ended]

    def lies(self) -> list[str]:
        """Returns the answers `ok` of health between two failed writes without a success between them."""
        with self._lock:
            answers = sorted(self.answers, key=lambda one: one.ended)
        writes = [one for one in answers if one.kind == "write" and one.status != 401]
        found = []
        for health in (one for one in answers if one.kind == "health" and one.said == "ok"):
            failed = list(itertools.takewhile(lambda one: one.status != 201, (
                one for one in reversed(writes) if one.ended <= health.began)))
            meanwhile = any(one.status == 201 for one in writes
                            if one.ended > health.began and one.began < health.ended)
            later = next((one for one in writes if one.began >= health.ended), None)
            if failed and failed[-1].ended <= health.began - LAG and not meanwhile and later and later.status != 201:
                found.append(f"health says ok though writes have failed for {health.began - failed[-1].ended:.1f} s")
        return found

    def _write(self, client: int) -> None:
        for number in itertools.count():
            if self._ended.wait(EVERY):
                return
            slug = f"fault-{client}-{number}"
            body = {"title": "A fault", "slug": slug, "body": "Words."}
            status = self._note("write", "POST", "/api/articles", body)
            if status == 201:
                with self._lock:
                    self.created.append(slug)
            elif status == 401:
                self.log_in()

    def _read(self, client: int) -> None:
        for path in itertools.cycle(("/api/articles?limit=20", "/api/categories?limit=20")):
            if self._ended.wait(EVERY):
                return
            self._note("read", "GET", path)

    def _live(self, client: int) -> None:
        while not self._ended.wait(EVERY):
            self._note("live", "GET", "/api/health/live")

    def _health(self, client: int) -> None:
        while not self._ended.wait(2 * EVERY):
            self._note("health", "GET", "/api/health")

    def _repeat(self, number: int, work: Callable[[int], None]) -> None:
        try:
            work(number)
        except Exception as error:
            self.broken.append(f"{work.__name__}: {error!r}")

    def _note(self, kind: str, method: str, path: str, body: Any = None) -> int:
        began = monotonic()
        status, answer = self._ask(method, path, body)
        said, checks = "", frozenset[str]()
        if kind == "health" and status in (200, 503) and "checks" in answer:
            said = answer["status"]
            checks = frozenset(name for name, state in answer["checks"].items() if state != "ok")
        elif status >= 400:
            said = answer.get("code", "no problem document")
        with self._lock:
            self.answers.append(Answer(kind, began, monotonic(), status, said, checks))
        if status == 0:
            sleep(EVERY)
        return status

    def _ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {self._token}"} if self._token and path != "/api/login" else {}
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            with closing(http.client.HTTPConnection("127.0.0.1", self.place.port, timeout=PATIENCE)) as connection:
                connection.request(method, path, None if body is None else json.dumps(body), headers)
                answer = connection.getresponse()
                text = answer.read()
        except (OSError, http.client.HTTPException):
            return 0, {}
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, {}
