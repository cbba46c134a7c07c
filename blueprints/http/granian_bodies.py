"""What clients send to granian, which waits for a body without end, in a thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import BoundedSemaphore
from typing import Any
from wsgiref.types import InputStream, WSGIEnvironment

from .errors import Problem

PATIENCE = 0.1  # seconds that a body waits to be read
AT_ONCE = 16_384  # bytes that are asked for at a time: granian returns none of them before all have come


class Bodies:
    """Lets at most so many threads read what clients send (`places`).

    A request that finds no place within `PATIENCE` is refused (`unavailable`). What has arrived already is read in no
    time, so these are clients that send slowly, or the few who come while those hold every place.
    """

    def __init__(self, places: int) -> None:
        self._places = BoundedSemaphore(places)

    def of(self, environ: WSGIEnvironment, answering: Any) -> Body:
        """The body of a request that has one; from now on its `wsgi.input`.

        One whose length is known is read that far, and no further. Else werkzeug reads once more, to the end, and
        each read is handed to granian's own threads and back.
        """
        length = environ.get("CONTENT_LENGTH", "")
        known = int(length) if length.isascii() and length.isdigit() else None
        if known is None:
            environ["wsgi.input_terminated"] = True
        body = environ["wsgi.input"] = Body(environ["wsgi.input"], known, self._places)
        return body


class Body:
    """A request's body, `wsgi.input`; `length` in bytes, None when it comes in chunks."""

    def __init__(self, sent: InputStream, length: int | None, places: BoundedSemaphore) -> None:
        self._sent, self._places, self._length = sent, places, length
        self._read_so_far, self._ended = 0, False

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
        if not self._places.acquire(timeout=PATIENCE):
            raise Problem("unavailable", "Too many clients are sending slowly. Try again.")
        try:
            found = read(size)
        finally:
            self._places.release()
        self._read_so_far += len(found)
        self._ended = not found and size != 0
        return found
