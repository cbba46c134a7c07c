"""What granian calls for each request, in one of its threads: the application, as long as there is a place.

granian cannot queue requests, nor answer one from another thread. Here a thread that finds no place free queues the
request and takes the next one, and a request can be answered from another thread while its own is stuck.

A request with a body is not queued: granian drops the body when the call returns. Its thread waits for a place. As many
threads may do so as there are places, and the last thread only while others finish their requests: when all are stuck,
it keeps answering the liveness probe.
"""

from __future__ import annotations

import logging
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from io import BytesIO
from queue import Empty
from threading import Lock, Thread
from time import monotonic, sleep
from typing import Any, Protocol
from wsgiref.types import WSGIApplication

from ...http.protocol.problems import REFUSED_BY_SERVER, Problem
from .. import pace
from ..admission import LIVE, LOOK, PATIENCE, overloaded
from ..grammar import Refusal, refusal
from .bodies import Asked, Body, BodyPlaces, Headers, ResponseSink
from .transfers import Transfers

log = logging.getLogger("gatepost.serving")

# Seconds that a thread rests after it has laid a request aside, where another was finished as lately: then the others
# soon take what comes, and to wake this one for each request costs a tenth of an answer.
REST = 0.02
STUCK = 0.5  # seconds without a finished request, after which the last thread does not wait for a place
_PLAIN = [("Content-Type", "text/plain; charset=utf-8"), ("Connection", "close")]


class Standing(Protocol):
    """How the process stands to the others: `stopping` says whether each connection ends with its next answer."""

    @property
    def stopping(self) -> bool: ...

    def look(self) -> None:
        """Called every `LOOK` seconds, as long as the threads of this process turn."""


def threads_for(places: int) -> int:
    """How many threads granian needs: one for each place, one for each request that waits for one, and the last."""
    return 2 * places + 1


class Calls:
    """Handles so many requests at a time (`places`); the others wait in the order in which they came."""

    def __init__(self, application: WSGIApplication, places: int, bodies: BodyPlaces, connections: Transfers,
                 standing: Standing) -> None:
        self._application, self._bodies, self._connections = application, bodies, connections
        self._standing = standing
        self._most = places
        self._places = [None] * places
        self._waiting: deque[Asked] = deque()
        self._claims: deque[Lock] = deque()  # of threads that wait for a place; released by the one that gives it
        self._claimed = 0.0  # since when there has been a claim
        self._look = 0.0  # when the transfers are looked at next
        self._moved = monotonic()  # when a request was last finished
        self._environ = {
            "GATEWAY_INTERFACE": "CGI/1.1", "SCRIPT_NAME": "", "SERVER_SOFTWARE": "Granian",
            "wsgi.errors": sys.stderr, "wsgi.multiprocess": True, "wsgi.multithread": True, "wsgi.run_once": False,
            "wsgi.version": (1, 0)}

    def watch(self) -> None:
        """Refuse what waits too long, is sent too slowly or is read too slowly, in a thread of its own."""
        Thread(target=self._watch, name="clients", daemon=True).start()

    def __call__(self, sink: ResponseSink, scope: Mapping[str, Any]) -> None:
        try:
            self._places.pop()
        except IndexError:
            if scope["PATH_INFO"] in LIVE:
                self._answer(sink, scope)
                return
            if not _sends(scope):
                self._waiting.append(Asked(sink, scope, monotonic()))
                try:
                    self._places.pop()
                except IndexError:
                    if monotonic() - self._moved < REST:
                        sleep(REST)
                    return
            elif self._claim():
                self._answer(sink, scope)
            else:
                self._answer(sink, scope, overloaded())
                return
        else:
            self._answer(sink, scope)
        self._go_on()

    def _claim(self) -> bool:
        """Wait for a place until one is given, or time is over; whether there is one."""
        if not self._claims:
            self._claimed = monotonic()
        last, end = len(self._claims) >= self._most, monotonic() + PATIENCE
        claim = Lock()
        claim.acquire()
        self._claims.append(claim)
        try:
            self._places.pop()  # given back just now
        except IndexError:
            pass
        else:
            self._release()  # to the first claim, perhaps this one
        while not claim.acquire(timeout=max(0.0, self._until(end, last) - monotonic())):
            if monotonic() < self._until(end, last):
                continue
            try:
                self._claims.remove(claim)
            except ValueError:  # a place was given to it just now
                claim.acquire()
                return True
            return False
        return True

    def _until(self, end: float, last: bool) -> float:
        """When a claim is given up; `last`: of the last thread."""
        return min(end, max(self._moved, self._claimed) + STUCK) if last else end

    def _release(self) -> None:
        """Let the thread that has waited longest have this thread's place, or whichever comes next."""
        try:
            self._claims.popleft().release()
        except IndexError:
            self._places.append(None)

    def _go_on(self) -> None:
        """With a place: answer the requests that wait, then give it back."""
        while True:
            self._moved = monotonic()
            while self._waiting:
                try:
                    asked = self._waiting.popleft()
                except IndexError:  # another thread was quicker
                    break
                self._answer(asked.sink, asked.scope,
                             overloaded() if monotonic() - asked.since > PATIENCE else None)
                self._moved = monotonic()
            self._release()
            if not self._waiting:
                return
            try:
                self._places.pop()
            except IndexError:
                return

    def _answer(self, sink: ResponseSink, scope: Mapping[str, Any], problem: Problem | None = None) -> None:
        if (wrong := _wrong(scope)) is not None:
            # Where there is a body, it is not read: what follows must not be taken for a request.
            sink.response_bytes(wrong.status, _PLAIN, wrong.reason.encode())
            return
        environ = {**self._environ, **scope}
        if problem is not None:
            environ[REFUSED_BY_SERVER] = problem
        body = self._bodies.of(environ, Asked(sink, scope, monotonic())) if _sends(scope) else None
        start = Start()
        try:
            answer = self._application(environ, start)
            if self._standing.stopping or (body is not None and not body.whole):
                # granian closes then, and the client must not send another request on this connection.
                start.headers.append(("Connection", "close"))
            if isinstance(answer, list):
                sink.response_bytes(start.status, start.headers, b"".join(answer))
            else:
                sink.response_iter(start.status, start.headers, Stream(answer))
        except BaseException:  # whatever it is, the place must be given back
            log.exception("unhandled error")
            sink.response_bytes(500, [], b"")

    def _watch(self) -> None:
        look = monotonic() + LOOK
        while True:
            try:
                with suppress(Empty):
                    self._give_up(self._bodies.overtaken.get(timeout=max(0.0, look - monotonic())))
                now = monotonic()
                if now >= look:
                    look = now + LOOK
                    self._standing.look()
                    self._look_for_slow(now)
            except Exception:
                log.exception("unhandled error")

    def _look_for_slow(self, now: float) -> None:
        self._refuse_overdue(now - PATIENCE)
        for body in self._bodies.slow(now):
            self._give_up(body)
        if now >= self._look:
            self._look = now + pace.WINDOW / 10
            self._connections.look(now)

    def _refuse_overdue(self, late: float) -> None:
        while self._waiting:
            try:
                asked = self._waiting.popleft()
            except IndexError:  # another thread was quicker
                return
            if asked.since > late:
                self._waiting.appendleft(asked)
                return
            self._answer(asked.sink, asked.scope, overloaded())

    def _give_up(self, body: Body) -> None:
        """Tell a client that it sends too slowly, and close the connection: that wakes the thread that waits for it.

        granian closes at once only an answer that ends too early. So this one is said to be longer by a byte.
        """
        asked, start = body.asked, Start()
        environ = {**self._environ, **asked.scope}
        environ |= {"wsgi.input": BytesIO(), REFUSED_BY_SERVER: body.refusal}
        document = b"".join(self._application(environ, start))
        headers = [each for each in start.headers if each[0].lower() != "content-length"]
        headers += [("Content-Length", str(len(document) + 1)), ("Connection", "close")]
        asked.sink.response_iter(start.status, headers, Stream(_then_stop(document)))


def _sends(scope: Mapping[str, Any]) -> bool:
    """Whether the request has a body."""
    return scope.get("CONTENT_LENGTH", "0") != "0" or "HTTP_TRANSFER_ENCODING" in scope


def _wrong(scope: Mapping[str, Any]) -> Refusal | None:
    """What hyper, which has read the request for granian, lets through and the standards do not."""
    coding = scope.get("HTTP_TRANSFER_ENCODING", "")
    if coding and "CONTENT_LENGTH" in scope:
        # hyper itself drops the length; this coding came as `Transfer_Encoding`, which hyper does not follow.
        return Refusal(400, "The length of the message is ambiguous.")
    return refusal(method=scope["REQUEST_METHOD"], path=scope["PATH_INFO"], host=scope.get("HTTP_HOST", ""),
                   old=scope["SERVER_PROTOCOL"] != "HTTP/1.1", expect=scope.get("HTTP_EXPECT", ""), coding=coding)


def _then_stop(document: bytes) -> Iterator[bytes]:
    yield document
    sleep(0.02)  # seconds in which it is sent; what is not sent by the end is dropped


class Start:
    """WSGI's `start_response`, which only notes status and headers."""

    __slots__ = ("headers", "status")

    def __init__(self) -> None:
        self.status = 200
        self.headers: Headers = []

    def __call__(self, status: str, headers: Headers, error: Any = None) -> Callable[[bytes], object]:
        self.status, self.headers = int(status[:3]), headers
        return _write


def _write(data: bytes) -> object:
    raise NotImplementedError("an answer is returned, not written")


class Stream:
    """An answer that is made while it is sent, as granian reads it."""

    __slots__ = ("__next__", "_answer")

    def __init__(self, answer: Iterable[bytes]) -> None:
        self._answer = answer
        self.__next__: Callable[[], bytes] = iter(answer).__next__

    def close(self) -> None:
        if (close := getattr(self._answer, "close", None)) is not None:
            close()

    def __iter__(self) -> Iterator[bytes]:
        return self
