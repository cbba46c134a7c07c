"""What clients send to granian, which waits for a body without end, in a thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import BoundedSemaphore
from time import monotonic
from typing import Any
from wsgiref.types import InputStream, WSGIEnvironment

from . import granian_transfers
from .errors import Problem

PATIENCE = 0.1  # seconds that a body waits to be read
AT_ONCE = 8_192  # bytes that are asked for at a time: granian returns none of them before all have come


def too_slow() -> Problem:
    """What a client is told that sends too slowly."""
    return Problem("timeout", "The body came too slowly.")


class Bodies:
    """Lets at most so many threads read what clients send (`places`).

    A request that finds no place within `PATIENCE` is refused (`unavailable`), or at once where all have been held for
    as long. What has arrived already is read in no time, so these are clients that send slowly, or the few who come
    while those hold every place.
    """

    def __init__(self, places: int) -> None:
        self._places = BoundedSemaphore(places)
        self._moved = 0.0  # when a place was last taken or given back
        self._reading: set[Body] = set()

    def enter(self, body: Body, now: float) -> None:
        """Take a place. Raises `Problem` (`unavailable`)."""
        if not self._places.acquire(timeout=PATIENCE if now - self._moved < PATIENCE else 0):
            raise Problem("unavailable", "Too many clients are sending slowly. Try again.")
        self._moved = now
        self._reading.add(body)

    def leave(self, body: Body, now: float) -> None:
        """Give the place back."""
        self._moved = now
        self._reading.discard(body)
        self._places.release()

    def slow(self, now: float) -> list[Body]:
        """Those for which a thread waits whose client sends less than `granian_transfers` says."""
        return [body for body in list(self._reading) if body.slow(now)]

    def of(self, environ: WSGIEnvironment, asked: Any) -> Body:
        """The body of a request that has one; from now on its `wsgi.input`.

        One whose length is known is read that far, and no further. Else werkzeug reads once more, to the end, and
        each read is handed to granian's own threads and back.
        """
        length = environ.get("CONTENT_LENGTH", "")
        known = int(length) if length.isascii() and length.isdigit() else None
        if known is None:
            environ["wsgi.input_terminated"] = True
        body = environ["wsgi.input"] = Body(environ["wsgi.input"], known, asked, self)
        return body


class Body:
    """A request's body, `wsgi.input`; `length` in bytes, None when it comes in chunks; `asked` is the request."""

    def __init__(self, sent: InputStream, length: int | None, asked: Any, bodies: Bodies) -> None:
        self.asked = asked
        self._sent, self._length, self._bodies = sent, length, bodies
        self._read_so_far, self._ended, self._given_up = 0, False, False
        self._began = self._waited = 0.0  # seconds: when the last read began, and what those before took
        self._mark = 0, 0.0  # what had been read after so many seconds

    def slow(self, now: float) -> bool:
        """Whether less came than should have, in the time for which it was waited for: then no more of it is read."""
        waited = self._waited + now - self._began
        before, since = self._mark
        if waited - since < granian_transfers.WINDOW:
            return False
        self._mark = self._read_so_far, waited
        self._given_up = self._read_so_far - before < granian_transfers.RATE * granian_transfers.WINDOW
        return self._given_up

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
        self._began = monotonic()
        self._bodies.enter(self, self._began)
        try:
            found = read(size)
        finally:
            now = monotonic()
            self._bodies.leave(self, now)
            self._waited += now - self._began
        if self._given_up:  # what has come may look whole where it came in chunks
            raise too_slow()
        self._read_so_far += len(found)
        self._ended = not found and size != 0
        return found
