"""Limits of the request bodies that waitress reads.

The large limit applies only after the application has accepted the head. The bodies that wait for a handler, in memory
or on disk, are bounded for the process and for each address.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from copy import copy
from functools import cached_property
from io import RawIOBase
from threading import Lock
from types import MappingProxyType
from typing import Any, BinaryIO, cast

from waitress.adjustments import Adjustments
from werkzeug.http import parse_list_header

from ...http.operations.concurrency import RETRY_AFTER
from ...http.operations.limits import network_of
from ...http.protocol.expectation import ASK
from ...http.protocol.problems import REFUSED_BY_SERVER, Problem
from .parser import Chunks, Parser

TOTAL = 112 * 2**20  # bytes of all bodies beyond `FREE`: with a thousand connections' share, 128 MiB
SHARE = 64 * 2**20  # bytes of one address: two imports of the usual limit
FREE = 16_384  # bytes of each body that are not counted, so that a small one always finds room
LARGE = 2  # bodies over `limit` that one address may send at a time

_LARGER = re.compile(r"/api/(v1/)?([^/]+/import|admin/policy/(try|apply))")  # paths that take a body above the limit


class BodyBudget:
    """Counts the bytes of bodies whose requests are not answered yet, for one process.

    limit            most bytes of a body
    import_limit     most bytes of a body for endpoints that accept larger bodies, such as imports
    trusted_proxies  the number of trusted proxies in front of the client's address
    """

    def __init__(self, *, limit: int, import_limit: int, trusted_proxies: int = 0) -> None:
        self.limit, self.import_limit = limit, import_limit
        self._trusted = trusted_proxies
        self._lock = Lock()
        self.held = 0  # bytes
        self._held_of: Counter[str] = Counter()
        self._large_of: Counter[str] = Counter()

    def address(self, headers: dict[str, str], peer: str) -> str:
        """Returns the network of the client: of `peer`, or of the address that `ProxyFix` reads behind proxies."""
        forwarded = parse_list_header(headers.get("X_FORWARDED_FOR", "")) if self._trusted else []
        return network_of(forwarded[-self._trusted] if len(forwarded) >= self._trusted > 0 else peer)

    def acquire(self, address: str, size: int) -> bool:
        """Counts further bytes. Returns False if there is no room for them."""
        with self._lock:
            if self.held + size > TOTAL or self._held_of[address] + size > SHARE:
                return False
            self.held += size
            self._held_of[address] += size
            return True

    def acquire_large(self, address: str) -> bool:
        """Counts a large body. Returns False if this address already sends `LARGE` of them."""
        with self._lock:
            if self._large_of[address] >= LARGE:
                return False
            self._large_of[address] += 1
            return True

    def release(self, request: WaitressRequest) -> None:
        """Frees the bytes of this request. A second call does nothing."""
        with self._lock:
            address, size, large = request.address, request.held, request.large
            request.held, request.large = 0, False
            self.held -= size
            self._held_of[address] -= size
            self._large_of[address] -= large
            for counter in (self._held_of, self._large_of):
                if not counter[address]:
                    del counter[address]


class Missing(RawIOBase):
    """The `wsgi.input` of a request whose body was not read: reading it raises `Problem` (`body_too_large`).

    The pipeline usually refuses such a request earlier. A handler that reads it must not get an empty body.
    """

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        raise Problem("body_too_large")


class WaitressRequest(Parser):
    """Request whose body is read only if the application can use it.

    asks           True if it has only the head, about which the server asks the application
    unread         True if its body is not read to the end: the connection closes after the answer
    extra_environ  additions to the environment of the application
    held           bytes that `BodyBudget` counts for it
    large          True if `BodyBudget` counts it as large
    """

    asks = unread = large = False
    extra_environ: Mapping[str, Any] = MappingProxyType({})
    held = 0

    def __init__(self, adj: Adjustments, bodies: BodyBudget | None = None, peer: str = "") -> None:
        super().__init__(adj)
        self._bodies, self._peer = bodies, peer

    def received(self, data: bytes) -> int:
        reading = self.headers_finished
        consumed: int = super().received(data)
        if self.error is not None:
            # Waitress would send 100 to the client, and read a refused body.
            self.expect_continue, self.unread = False, True
        elif reading:
            self._weigh()
        elif self.body_rcv is not None:
            self._look_ahead()
        return consumed

    def get_body_stream(self) -> BinaryIO:
        if self.asks or self.unread:
            return cast(BinaryIO, Missing())
        stream: BinaryIO = super().get_body_stream()
        return stream

    def go_on(self, extra_environ: Mapping[str, Any]) -> WaitressRequest | None:
        """Returns the same request to read its body, after the head was accepted; None if the budget is used up."""
        assert self._bodies is not None
        if not self._bodies.acquire_large(self.address):
            self.turn_away(Problem("overloaded", "Your address sends other large bodies at this moment.",
                                   headers={"Retry-After": RETRY_AFTER}))
            return None
        whole = copy(self)
        whole.asks = whole.unread = whole.completed = False
        whole.extra_environ, whole.large = extra_environ, True
        return whole

    def turn_away(self, problem: Problem) -> None:
        """Makes the application answer this problem, regardless of the request."""
        self.extra_environ, self.asks = {REFUSED_BY_SERVER: problem}, False
        if not self.completed:
            self._stop_reading()

    def close(self) -> None:
        """Releases the body and its counted bytes. A second call does nothing."""
        super().close()
        self.count_no_more()

    def count_no_more(self) -> None:
        """Frees the counted bytes for other bodies."""
        if self._bodies is not None and (self.held or self.large):
            self._bodies.release(self)

    @cached_property
    def address(self) -> str:
        """Key by which `BodyBudget` counts the request."""
        assert self._bodies is not None
        return self._bodies.address(self.headers, self._peer)

    def _look_ahead(self) -> None:
        bodies = self._bodies
        length = int(self.headers.get("CONTENT_LENGTH", 0))
        in_chunks = isinstance(self.body_rcv, Chunks)
        if bodies is None or not (in_chunks or length > bodies.limit):
            return
        large = self.method == "POST" and _LARGER.fullmatch(self.path) is not None
        if large and length <= bodies.import_limit:
            self.asks = self.unread = self.completed = True
            self.extra_environ = ASK
        elif not in_chunks:
            self._stop_reading()

    def _weigh(self) -> None:
        assert self._bodies is not None
        size = len(self.body_rcv)
        if size > (self._bodies.import_limit if self.large else self._bodies.limit):
            # The application compares this with its limit, as the announced length.
            self.headers["CONTENT_LENGTH"] = str(size)
            self._stop_reading()
        elif (more := size - FREE - self.held) > 0:
            if self._bodies.acquire(self.address, more):
                self.held += more
            else:
                self.turn_away(Problem("overloaded", "Too many bodies are being sent at this moment.",
                                       headers={"Retry-After": RETRY_AFTER}))

    def _stop_reading(self) -> None:
        self.close()
        self.body_rcv = None
        self.expect_continue = False
        self.unread = self.completed = True
