"""WSGI middleware of a granian worker: limits simultaneous requests, and refuses requests that RFC 9112 forbids.

granian calls the application in its threads, one request for each. Half of the threads may wait until another request
has ended, so that a request waits a little instead of being refused. The last thread waits only while other requests
end. If all others are stuck, it refuses requests and answers the liveness probe. The proxy in front must handle slow
clients, because each of them holds a thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from threading import Semaphore
from time import monotonic
from typing import Any
from wsgiref.types import InputStream, StartResponse, WSGIApplication, WSGIEnvironment

from ...http.protocol.problems import CUT_UNSEEN, REFUSED_BY_SERVER
from .. import admission
from ..admission import LIVE, LOOK, overloaded
from ..grammar import Refusal, refusal

STUCK = 0.5  # seconds without an ended request after which the last thread no longer waits
_BODY = ("CONTENT_LENGTH", "CONTENT_TYPE")


def threads_for(places: int) -> int:
    """Returns the number of threads that granian needs for so many simultaneous requests: twice as many, and the last.
    """
    return 2 * places + 1


class Application:
    """Application that granian calls.

    places       number of requests that are handled at a time
    is_stopping  returns True if each connection must close after its next answer
    """

    def __init__(self, application: WSGIApplication, places: int, is_stopping: Callable[[], bool]) -> None:
        self._application, self._is_stopping = application, is_stopping
        self._places, self._waiting = Semaphore(places), Semaphore(places)
        self._last_end = monotonic()  # when a request last ended
        # granian copies the environment of the process into that of each request, where a variable may look like a
        # header.
        self._inherited = [(name, value) for name, value in os.environ.items()
                           if name.startswith("HTTP_") or name in _BODY]

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        for name, value in self._inherited:
            if environ.get(name) == value:
                del environ[name]
        if (fault := _fault(environ)) is not None:
            return _refuse(fault, start_response)
        body = _body(environ)

        def start(status: str, headers: list[tuple[str, str]], error: Any = None) -> Callable[[bytes], object]:
            if self._is_stopping() or (body is not None and not body.is_whole):
                # granian closes the connection: the client must not send another request on it.
                headers = [*headers, ("Connection", "close")]
            return start_response(status, headers, error)

        if environ["PATH_INFO"] in LIVE:
            return self._application(environ, start)
        if not self._acquire():
            environ[REFUSED_BY_SERVER] = overloaded()
            return self._application(environ, start)
        try:
            return self._application(environ, start)
        finally:
            self._last_end = monotonic()
            self._places.release()

    def _acquire(self) -> bool:
        """Waits until the request may run. Returns False if that takes too long."""
        if self._places.acquire(blocking=False):
            return True
        if self._waiting.acquire(blocking=False):
            try:
                return self._places.acquire(timeout=admission.PATIENCE)
            finally:
                self._waiting.release()
        end = monotonic() + admission.PATIENCE
        while (now := monotonic()) < min(end, self._last_end + STUCK):
            if self._places.acquire(timeout=min(LOOK, end - now)):
                return True
        return False


class Body:
    """Request body (`wsgi.input`) that knows if it was read to its end. `length` is in bytes, None if unknown."""

    def __init__(self, stream: InputStream, length: int | None) -> None:
        self._stream, self._length = stream, length
        self._count, self._ended = 0, False

    @property
    def is_whole(self) -> bool:
        return self._ended or self._count == self._length

    def read(self, size: int = -1) -> bytes:
        data = self._counted(self._stream.read(size), size)
        self._ended = self._ended or size < 0
        return data

    def readline(self, size: int = -1) -> bytes:
        return self._counted(self._stream.readline(size), size)

    def readlines(self, hint: int = -1) -> list[bytes]:
        return list(self)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.readline, b"")

    def _counted(self, data: bytes, size: int) -> bytes:
        self._count += len(data)
        self._ended = self._ended or (not data and size != 0)
        return data


def _body(environ: WSGIEnvironment) -> Body | None:
    """Puts `Body` into the environment of a request that has one.

    A body of known length that breaks off is an error for Werkzeug. A chunked body that breaks off looks complete,
    because granian drops the error of its parser.
    """
    length = environ.get("CONTENT_LENGTH", "")
    if "HTTP_TRANSFER_ENCODING" not in environ and length in ("", "0"):
        return None
    size = int(length) if length.isascii() and length.isdigit() else None
    if size is None:
        environ[CUT_UNSEEN] = True
    else:
        del environ["wsgi.input_terminated"]
    body = environ["wsgi.input"] = Body(environ["wsgi.input"], size)
    return body


def _fault(environ: WSGIEnvironment) -> Refusal | None:
    """Returns the refusal of a request that granian's parser accepts although the standards forbid it; else None."""
    coding = environ.get("HTTP_TRANSFER_ENCODING", "")
    if coding and "CONTENT_LENGTH" in environ:
        # The parser removes the length for `Transfer-Encoding`. This one came as `Transfer_Encoding`, which it ignores.
        return Refusal(400, "The length of the message is ambiguous.")
    return refusal(method=environ["REQUEST_METHOD"], path=environ["PATH_INFO"], host=environ.get("HTTP_HOST", ""),
                   old=environ["SERVER_PROTOCOL"] != "HTTP/1.1", expect=environ.get("HTTP_EXPECT", ""), coding=coding)


def _refuse(fault: Refusal, start_response: StartResponse) -> Iterable[bytes]:
    """Answers without reading the body, and closes, so that no later byte is read as a request."""
    start_response(f"{fault.status} ", [("Content-Type", "text/plain; charset=utf-8"), ("Connection", "close")])
    return [fault.reason.encode()]
