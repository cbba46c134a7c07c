"""WSGI middleware of a granian worker: limits the requests under way, and reads a request as RFC 9112 has it.

granian calls the application in one of its threads, for one request after the other. Half of these threads may wait
until one of the requests before has ended, so that a request waits a little instead of being refused. The last thread
waits only while others end their requests: where all of them are stuck, it refuses requests and answers the liveness
probe. Slow clients are left to the proxy in front: each holds a thread.
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

STUCK = 0.5  # seconds without an ended request after which the last thread does not wait for a place
_BODY = ("CONTENT_LENGTH", "CONTENT_TYPE")


def threads_for(places: int) -> int:
    """Returns how many threads granian needs: one for each place, one for each request that waits, and the last."""
    return 2 * places + 1


class Application:
    """The application as granian calls it.

    places       requests that are handled at a time
    is_stopping  True once each connection shall end with its next answer
    """

    def __init__(self, application: WSGIApplication, places: int, is_stopping: Callable[[], bool]) -> None:
        self._application, self._is_stopping = application, is_stopping
        self._places, self._waiting = Semaphore(places), Semaphore(places)
        self._ended = monotonic()  # when a request last ended
        # granian puts the environment of the process into that of each request, where a variable looks like a header.
        self._inherited = [(name, value) for name, value in os.environ.items()
                           if name.startswith("HTTP_") or name in _BODY]

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        for name, value in self._inherited:
            if environ.get(name) == value:
                del environ[name]
        if (wrong := _wrong(environ)) is not None:
            return _refuse(wrong, start_response)
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
            self._ended = monotonic()
            self._places.release()

    def _acquire(self) -> bool:
        """Waits for a place, and returns False if there is none in time."""
        if self._places.acquire(blocking=False):
            return True
        if self._waiting.acquire(blocking=False):
            try:
                return self._places.acquire(timeout=admission.PATIENCE)
            finally:
                self._waiting.release()
        end = monotonic() + admission.PATIENCE
        while (now := monotonic()) < min(end, self._ended + STUCK):
            if self._places.acquire(timeout=min(LOOK, end - now)):
                return True
        return False


class Body:
    """Request body, `wsgi.input`, that notes whether it was read to its end; `length` is in bytes, None if unknown."""

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

    Werkzeug is told the truth about its end: a body of known length that breaks off is an error, and one in chunks
    cannot be told from a whole one, because granian drops the error of its parser.
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


def _wrong(environ: WSGIEnvironment) -> Refusal | None:
    """Returns what granian's parser lets through although the standards forbid it."""
    coding = environ.get("HTTP_TRANSFER_ENCODING", "")
    if coding and "CONTENT_LENGTH" in environ:
        # The parser drops the length itself; this coding came as `Transfer_Encoding`, which it does not follow.
        return Refusal(400, "The length of the message is ambiguous.")
    return refusal(method=environ["REQUEST_METHOD"], path=environ["PATH_INFO"], host=environ.get("HTTP_HOST", ""),
                   old=environ["SERVER_PROTOCOL"] != "HTTP/1.1", expect=environ.get("HTTP_EXPECT", ""), coding=coding)


def _refuse(wrong: Refusal, start_response: StartResponse) -> Iterable[bytes]:
    """Answers without reading the body, so that nothing behind it is taken for a request."""
    start_response(f"{wrong.status} ", [("Content-Type", "text/plain; charset=utf-8"), ("Connection", "close")])
    return [wrong.reason.encode()]
