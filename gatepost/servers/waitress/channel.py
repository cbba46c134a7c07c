"""Connection of waitress: one request at a time, with limits for slow clients.

Waitress itself starts the next pipelined request while earlier answers are unread. A client could hold a thread by
reading nothing.
"""

from __future__ import annotations

import fcntl
import socket
import sys
import termios
from collections.abc import Mapping
from contextlib import suppress
from enum import IntEnum, auto
from math import inf
from time import monotonic
from typing import Any, Protocol
from wsgiref.types import WSGIEnvironment

from waitress.channel import HTTPChannel
from waitress.task import WSGITask

from gatepost.http.protocol import expectation
from gatepost.servers.waitress.bodies import BodyBudget, WaitressRequest

RATE = 1000  # bytes a second that a client sends or reads at least
WINDOW = 30.0  # seconds for which a transfer may move nothing
CREDIT = 300.0  # most seconds that a fast reader can earn: a receive window that has grown to 32 MB opens that late


def unacknowledged(connection: socket.socket) -> int:
    """Returns the bytes that were sent on a connection and have not arrived; 0 if there is no connection.

    The kernel takes megabytes at once, even if the client reads nothing.
    """
    try:
        return int.from_bytes(fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4)), sys.byteorder)
    except OSError:
        return 0


class Pace:
    """Pace of one transfer that must move `RATE` bytes a second, from `start` (monotonic) on.

    A faster transfer earns seconds in which no bytes need to move, at most `most`.
    left  seconds for which no bytes need to move
    """

    def __init__(self, start: float, most: float, moved: int = 0) -> None:
        self._most, self._since, self._moved = most, start, moved
        self.left = WINDOW

    def too_slow(self, now: float, moved: int) -> bool:
        """Notes that so many bytes were moved until `now`, and returns True if they are too few."""
        earned, passed = (moved - self._moved) / RATE, now - self._since
        self._since, self._moved = now, moved
        self.left = min(self.left + earned, self._most) - passed
        return self.left < 0


# seconds
IDLE = 60.0  # that a connection is kept without a request
HEAD_SECONDS = 30.0  # in which line and headers have to come
LINGER = 2.0  # in which a client can read an answer that came before the end of its request

SWALLOWED = 32 * 2**20  # bytes of an unwanted body that are discarded during `LINGER`

_SINK = bytearray(65_536)


class Doing(IntEnum):
    """Activity of a connection, in the order in which connections are closed to make room for others."""

    IDLING = auto()
    LINGERING = auto()
    SENDING_HEAD = auto()
    SENDING_BODY = auto()
    READING = auto()  # the answer
    WAITING = auto()  # for the handler


class Accepting(Protocol):
    """Interface of the server for its connections."""

    bodies: BodyBudget
    stopping: bool

    def add_task(self, task: Channel) -> None: ...


class Task(WSGITask):
    """Request for the application: the whole request, or only its head, to learn whether to read the body."""

    request: WaitressRequest
    channel: Channel
    _needs_no_close = False  # True while the head is written of an answer after which the connection can go on

    @property
    def has_body(self) -> bool:
        """False also for an answer to HEAD without a length: waitress would end it like a chunked body."""
        stream_of_head = self.request.method == "HEAD" and self.content_length is None
        return bool(super().has_body) and not stream_of_head

    def get_environment(self) -> WSGIEnvironment:
        environ: WSGIEnvironment = super().get_environment()
        environ.update(self.request.extra_environ)
        self._environ = environ
        if self.request.unread:
            self.set_close_on_finish()
        return environ

    def set_close_on_finish(self) -> None:
        if not self._needs_no_close:
            super().set_close_on_finish()

    def build_response_header(self) -> bytes:
        headers = self.request.headers
        # With `Connection: close`, Node.js takes a chunked answer that is cut off for a whole one (undici #5273).
        is_stream = self.has_body and self.content_length is None
        stops = self.channel.server.stopping and not self.request.asks and not is_stream
        if stops or "close" in _elements(headers.get("CONNECTION", "")):
            headers["CONNECTION"] = "close"  # waitress does not look for it in a list
        # Waitress closes after each answer without a length, even if it has no body or its last chunk ends it.
        self._needs_no_close = not (self.close_on_finish or self.version == "1.0"
                                    or headers.get("CONNECTION") == "close")
        # A client that has read the answer may send the next body at once.
        if self.request.large:
            self.request.count_no_more()
        header: bytes = super().build_response_header()
        self._needs_no_close = False
        return header

    def finish(self) -> None:
        if not (self.request.asks and self.status.startswith("100")):
            super().finish()
        elif self.channel.go_on(self.request, expectation.resumed(self._environ)):
            self.close_on_finish = False
        else:
            Task(self.channel, self.request).service()


class Channel(HTTPChannel):
    """Connection that takes the next request only after the previous answer is sent."""

    parser_class = WaitressRequest
    task_class = Task
    server: Accepting
    request: WaitressRequest | None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._unparsed = b""
        self._arrived = self._sent = self._read = 0  # bytes; the last ones have reached the client
        self._unread = False  # True if the current request is answered before its end
        self._swallow = 0  # bytes that a lingering connection may still send
        self._does: tuple[Doing, object] = Doing.IDLING, 0
        self._since = monotonic()
        self._pace: Pace | None = None  # of a transfer without a fixed deadline
        super().__init__(*arguments, **options)

    def idle_for(self, now: float) -> float:
        """Returns the seconds since `watch` found the connection idle; 0 if it is not."""
        return now - self._since if self.idle and self._does[0] is Doing.IDLING else 0.0

    @property
    def idle(self) -> bool:
        """True if the connection has no request in progress, and its last answer is sent."""
        awaits_body = self.request is not None and self.request.large
        return not (awaits_body or self.requests or self.total_outbufs_len or self._unparsed or self._swallow)

    @property
    def precedence(self) -> tuple[Doing, float]:
        """Sort key for making room: the connection with the least key is closed first."""
        doing = self._doing()
        if doing != self._does:
            return doing[0], inf
        return doing[0], self._since if self._pace is None else self._pace.left

    def readable(self) -> bool:
        return self._swallow > 0 or not (self.requests or self.total_outbufs_len or self._unparsed
                                         or self.close_when_flushed or self.will_close)

    def writable(self) -> bool:
        return self.total_outbufs_len > 0 or self.will_close or self.close_when_flushed or (
            self._unparsed != b"" and not self.requests)

    def handle_read(self) -> None:
        if not self._swallow:
            super().handle_read()
            return
        try:
            size = self.socket.recv_into(_SINK)
        except BlockingIOError:
            return
        except OSError:
            size = 0
        self._swallow -= size
        if not size or self._swallow <= 0:
            self.handle_close()

    def handle_write(self) -> None:
        if self.total_outbufs_len:
            # A thread may be flushing, even the one that has just answered 100 for the body of an import.
            self._flush_exception(self._flush_some_if_lockable)
        if self.will_close:
            self.handle_close()
        elif self.connected and not self.total_outbufs_len:
            if self.close_when_flushed:
                self._finish()
            elif self._unparsed:
                self._advance()

    def handle_close(self) -> None:
        super().handle_close()
        if (request := self.request) is not None:
            request.close()

    def received(self, data: bytes) -> bool:
        self._arrived += len(data)
        self._unparsed += data
        self._advance()
        return True

    def send(self, data: bytes, do_close: bool = True) -> int:
        """Sends bytes to the client, and returns how many the kernel has taken. Ignores `do_close`.

        Threads send as well, and one that answers 100 passes `do_close`. But only the loop may close connections: a
        thread would remove them from the loop's map by their descriptor, which may already belong to a new connection.
        The kernel tells the loop when a client has disconnected.
        """
        sent: int = super().send(data, do_close=False)
        self._sent += sent
        return sent

    def go_on(self, request: WaitressRequest, extra_environ: Mapping[str, Any]) -> bool:
        """Reads the body of a request after its head was accepted. Returns False if its client already sends enough."""
        whole = request.go_on(extra_environ)
        if whole is None:
            return False
        self.request = whole
        if not self.connected:
            whole.close()
        return True

    def watch(self, now: float) -> None:
        """Closes the connection if its client is too slow; `now` is monotonic."""
        doing = self._doing()
        if doing != self._does:
            self._does, self._since, self._pace = doing, now, self._pace_of(doing[0], now)
        elif now - self._since >= _patience(doing[0]) or (
                self._pace is not None and self._pace.too_slow(now, self._progress(doing[0]))):
            self.handle_close()

    def _pace_of(self, doing: Doing, now: float) -> Pace | None:
        if doing is Doing.SENDING_BODY:
            return Pace(now, WINDOW, self._arrived)
        # An answer is sent in parts, and the client waits for the handler between them. It keeps its earned seconds.
        return Pace(now, CREDIT) if doing is Doing.READING else None

    def _doing(self) -> tuple[Doing, object]:
        """Returns the activity, and a value that changes when the activity starts again."""
        request = self.request
        if self._swallow:
            return Doing.LINGERING, None
        if self.total_outbufs_len:
            return Doing.READING, None
        if self.requests:
            return Doing.WAITING, None
        if request is None:
            return Doing.IDLING, self._arrived
        return Doing.SENDING_BODY if request.headers_finished else Doing.SENDING_HEAD, request

    def _progress(self, doing: Doing) -> int:
        """Returns the bytes that a transfer has moved since the start of the connection."""
        if doing is Doing.SENDING_BODY:
            return self._arrived
        # A thread may have passed bytes to the kernel that are not counted yet; the number must not decrease.
        self._read = max(self._read, self._sent - unacknowledged(self.socket))
        return self._read

    def _advance(self) -> None:
        with self.requests_lock:
            data = self._unparsed
            while data and not (self.requests or self.close_when_flushed or self.will_close):
                request = self.request
                if request is None:
                    request = self.request = WaitressRequest(self.adj, self.server.bodies, self.addr[0])
                data = data[request.received(data):]
                if request.completed:
                    self.request, self.sent_continue = None, False
                    if not request.empty:
                        self._unparsed, self._unread = data, request.unread
                        self.requests.append(request)
                        self.server.add_task(self)
                elif request.expect_continue and request.headers_finished and not self.sent_continue:
                    self.send_continue()
            self._unparsed = data

    def _finish(self) -> None:
        """Closes after the last answer; later if a client that still sends would lose the answer."""
        self.close_when_flushed = False
        if not (self._unread or self._unparsed):
            self.handle_close()
            return
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)
        self._unparsed, self._swallow = b"", SWALLOWED


def _elements(header: str) -> list[str]:
    """Returns the elements of a list (RFC 9110 section 5.6.1), in lower case."""
    return [element.strip(" \t").lower() for element in header.split(",")]


def _patience(doing: Doing) -> float:
    if doing is Doing.IDLING:
        return IDLE
    if doing is Doing.SENDING_HEAD:
        return HEAD_SECONDS
    return LINGER if doing is Doing.LINGERING else inf
