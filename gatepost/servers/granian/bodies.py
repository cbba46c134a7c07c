"""What clients send to granian, which waits for a body without end, in a thread."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from queue import SimpleQueue
from threading import Condition
from time import monotonic
from typing import Any, NamedTuple, Protocol
from wsgiref.types import InputStream, WSGIEnvironment

from ...http.operations.slots import RETRY_AFTER
from ...http.protocol.problems import CUT_UNSEEN, Problem
from .. import pace
from ..forwarded import client_network
from ..pace import Pace

EACH = 2  # bodies of one network that hold a place
PATIENCE = 0.2  # seconds that a body holds its place, though no more of it comes, while another one wants it
AT_ONCE = 8_192  # bytes that are asked for at a time: granian returns none of them before all have come

Headers = list[tuple[str, str]]


class ResponseSink(Protocol):
    """Where granian takes an answer from, in any thread. A second one is dropped."""

    def response_bytes(self, status: int, headers: Headers, body: bytes) -> None: ...

    def response_iter(self, status: int, headers: Headers, body: Any) -> None: ...


class Asked(NamedTuple):
    """One request: where its answer goes, what granian says of it, and when a thread first took it."""

    sink: ResponseSink
    scope: Mapping[str, Any]
    since: float


def too_slow() -> Problem:
    """The answer to a client that sends too slowly."""
    return Problem("timeout", "The body came too slowly.")


def overtaken() -> Problem:
    """The answer to a client that sends slowly while others wait."""
    return Problem("overloaded", "Too many clients are sending slowly. Try again.",
                   headers={"Retry-After": RETRY_AFTER})


class BodyPlaces:
    """Lets at most so many threads read what clients send (`places`), and `EACH` of them for one network.

    What has arrived already is read in no time. So where no place is free, the body that a thread has waited for
    longest, for `PATIENCE` at least, is given up: first from a network that holds `EACH` places.

    places           threads that read at a time
    trusted_proxies  how many proxies deep the client's address is looked for
    overtaken        bodies that are given up for another one, for the thread that tells their clients
    """

    def __init__(self, places: int, trusted_proxies: int = 0) -> None:
        self._places, self._trusted = places, trusted_proxies
        self._left = Condition()  # and what is noted of those that read
        self._reading: set[Body] = set()
        self.overtaken: SimpleQueue[Body] = SimpleQueue()

    def acquire(self, body: Body) -> None:
        """Take a place. Raises `Problem` (`overloaded`) when none becomes free, though one was given up."""
        with self._left:
            began = None
            while rivals := self._rivals(body):
                now = monotonic()
                began = began or now
                if now - began >= 2 * PATIENCE:
                    raise overtaken()
                self._left.wait(self._overtake(rivals, now))
            body.began = monotonic()
            self._reading.add(body)

    def release(self, body: Body) -> None:
        """Give the place back."""
        with self._left:
            self._reading.discard(body)
            self._left.notify_all()

    def slow(self, now: float) -> list[Body]:
        """Those for which a thread waits whose client sends less than `pace` says: they are given up."""
        with self._left:
            found = [body for body in self._reading if body.refusal is None and body.slow(now)]
            for body in found:
                body.refusal = too_slow()
            return found

    def _rivals(self, body: Body) -> Collection[Body]:
        """Bodies of which one must yield its place to this one; none where there is a place."""
        if len(self._reading) < min(EACH, self._places):
            return ()
        own = [each for each in self._reading if each.network == body.network]
        if len(own) >= EACH:
            return own
        return self._reading if len(self._reading) >= self._places else ()

    def _overtake(self, rivals: Collection[Body], now: float) -> float:
        """Give up the one that is waited for longest, when it is time; seconds to wait for the place of one of them."""
        staying = [body for body in rivals if body.refusal is None]
        if not staying:
            return PATIENCE
        first = min(staying, key=lambda each: each.began)
        if (left := first.began + PATIENCE - now) > 0:
            return left
        first.refusal = overtaken()
        self.overtaken.put(first)
        return PATIENCE

    def of(self, environ: WSGIEnvironment, asked: Asked) -> Body:
        """The body of a request that has one; from now on its `wsgi.input`.

        One whose length is known is read that far, and no further. Else werkzeug reads once more, to the end, and
        each read is handed to granian's own threads and back. The end of one in chunks is the same to us as its
        breaking off: granian drops the error that hyper tells it.
        """
        length = environ.get("CONTENT_LENGTH", "")
        known = int(length) if length.isascii() and length.isdigit() else None
        if known is None:
            environ["wsgi.input_terminated"] = environ[CUT_UNSEEN] = True
        forwarded_for = environ.get("HTTP_X_FORWARDED_FOR", "")
        network = client_network(environ.get("REMOTE_ADDR", "-"), forwarded_for, self._trusted)
        body = environ["wsgi.input"] = Body(environ["wsgi.input"], known, asked, self, network)
        return body


class Body:
    """A request's body, `wsgi.input`.

    asked    the request
    network  its client's
    began    when the last read began (monotonic)
    refusal  what its client is answered, once no more of it is read; set while `BodyPlaces` counts it as read
    """

    refusal: Problem | None = None

    def __init__(self, sent: InputStream, length: int | None, asked: Asked, bodies: BodyPlaces, network: str) -> None:
        """`length` is in bytes, None when the body comes in chunks."""
        self.asked, self.network = asked, network
        self._sent, self._length, self._bodies = sent, length, bodies
        self._read_so_far, self._ended = 0, False
        self.began = self._waited = 0.0  # seconds; the second one is what the reads before took
        self._pace = Pace(0.0, pace.WINDOW)

    def slow(self, now: float) -> bool:
        """Whether less came than should have, in the time for which it was waited for."""
        return self._pace.too_slow(self._waited + now - self.began, self._read_so_far)

    @property
    def whole(self) -> bool:
        """Whether it was read to its end."""
        return self._ended or self._read_so_far == self._length

    def read(self, size: int = -1) -> bytes:
        if size >= 0:
            return self._read(self._sent.read, min(size, AT_ONCE))
        return b"".join(iter(lambda: self.read(AT_ONCE), b""))

    def readline(self, size: int = -1) -> bytes:
        return self._read(self._sent.readline, size)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.readline, b"")

    def _read(self, read: Callable[[int], bytes], size: int) -> bytes:
        if self._length is not None and self._read_so_far >= self._length:
            return b""
        self._bodies.acquire(self)
        try:
            found = read(size)
        finally:
            self._bodies.release(self)
            self._waited += monotonic() - self.began
        if self.refusal is not None:  # what has come may look whole where it came in chunks
            raise self.refusal
        self._read_so_far += len(found)
        self._ended = not found and size != 0
        return found
