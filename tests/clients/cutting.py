"""A TCP proxy on the loopback address that cuts connections at random points of requests and answers."""

from __future__ import annotations

import re
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from random import Random
from threading import Lock, Thread
from urllib.parse import urlsplit

# Bytes after which a connection is cut, on average: a page of a list is a few thousand, a request a few hundred.
REQUEST_BYTES, ANSWER_BYTES = 3000, 6000
_STREAM = re.compile(rb"HTTP/1.1 200 .*?\r\ntransfer-encoding: chunked\r\n.*?\r\n\r\n", re.DOTALL | re.IGNORECASE)
_AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: sent but unread data is lost, too


class CuttingProxy:
    """cutting  whether it cuts; cut_requests, cut_answers: how many connections it has cut so far, and where

    streams  whether it cuts nothing but answers without a length, each behind its head
    """

    def __init__(self, upstream: str, seed: int, *, streams: bool = False) -> None:
        target = urlsplit(upstream)
        self._upstream = (target.hostname, target.port)
        self._random, self._lock = Random(seed), Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.streams = streams
        self.cutting, self.cut_requests, self.cut_answers = False, 0, 0

    def run(self) -> None:
        """Accepts connections until it is closed."""
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                budgets = [int(self._random.expovariate(1 / mean)) for mean in (REQUEST_BYTES, ANSWER_BYTES)]
                at_once = self._random.random() < 0.5
            try:
                server = socket.create_connection(self._upstream)
            except OSError:
                client.close()
                continue
            pair = _Pair(client, server, at_once)
            for source, sink, budget, name in ((client, server, budgets[0], "cut_requests"),
                                               (server, client, budgets[1], "cut_answers")):
                Thread(target=self._relay, args=(pair, source, sink, budget, name), daemon=True).start()

    def _relay(self, pair: _Pair, source: socket.socket, sink: socket.socket, budget: int, name: str) -> None:
        with suppress(OSError):
            while part := source.recv(65536):
                if self.streams:
                    head = _STREAM.match(part)
                    budget = head.end() if head else len(part) + 1
                if self.cutting and len(part) >= budget:
                    sink.sendall(part[:budget])
                    with self._lock:
                        setattr(self, name, getattr(self, name) + 1)
                    break
                budget -= len(part) if self.cutting else 0
                sink.sendall(part)
        pair.close()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


class _Pair:
    """Both sides of a connection, which end together."""

    def __init__(self, client: socket.socket, server: socket.socket, at_once: bool) -> None:
        self._sides, self._at_once, self._lock = (client, server), at_once, Lock()

    def close(self) -> None:
        with self._lock:
            for side in self._sides:
                with suppress(OSError):
                    if self._at_once:
                        side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
                    # Wakes the thread that reads from this side.
                    side.shutdown(socket.SHUT_RDWR)
                with suppress(OSError):
                    side.close()


@contextmanager
def cutting_proxy(upstream: str, seed: int, *, streams: bool = False) -> Iterator[CuttingProxy]:
    """A proxy in front of the service at `upstream`. It cuts nothing until `cutting` is true."""
    proxy = CuttingProxy(upstream, seed, streams=streams)
    thread = Thread(target=proxy.run)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.cutting = False
        proxy.close()
        thread.join()
