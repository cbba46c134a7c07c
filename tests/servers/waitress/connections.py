"""The waitress listener in a thread of the test, with any WSGI application, and raw connections to it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from wsgiref.types import WSGIApplication

import pytest
from waitress import wasyncore

from gatepost.servers.waitress import channel
from gatepost.servers.waitress import dispatcher as waitress_dispatcher
from gatepost.servers.waitress import listener as waitress_listener
from gatepost.servers.waitress.bodies import BodyBudget
from gatepost.servers.waitress.dispatcher import Dispatcher
from gatepost.servers.waitress.listener import Listener, channels
from gatepost.servers.waitress.server import listen, turn
from tests.running import wait_until

LIMIT, IMPORT_LIMIT = 2**20, 2**23
PATIENCE = 60  # seconds that a test waits for an expected event

Address = tuple[str, int]


class Clock:
    """A replacement of `monotonic` that stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def forward(self, listener: Listener, seconds: float, steps: int = 10) -> None:
        """Advances the clock in equal steps, and makes the listener check its connections after each step.

        It also checks before the first step, to record the state of each connection.
        """
        self._look(listener)
        for _ in range(steps):
            self.now += seconds / steps
            self._look(listener)

    def _look(self, listener: Listener) -> None:
        """Waits until one check has begun and ended."""
        for _ in range(2):
            listener._next_sweep = 0.0
            listener.pull_trigger()
            wait_until(lambda: listener._next_sweep)


@contextmanager
def standing_clock() -> Iterator[Clock]:
    """The clock of connections, listener and threads."""
    clock = Clock()
    with pytest.MonkeyPatch.context() as patch:
        for module in (channel, waitress_dispatcher, waitress_listener):
            patch.setattr(module, "monotonic", clock)
        yield clock


@contextmanager
def listening(app: WSGIApplication, *, threads: int = 4, connections: int = 100, **bodies: Any) -> Iterator[Listener]:
    """`bodies` are the arguments of `BodyBudget` that differ from the limits above."""
    sockets: dict[int, Any] = {}
    dispatcher = Dispatcher(threads)
    [listener] = listen(app, sockets, dispatcher, host="127.0.0.1", port=0, connections=connections + 2,
                        bodies=BodyBudget(**{"limit": LIMIT, "import_limit": IMPORT_LIMIT, **bodies}))
    stop = threading.Event()

    def loop() -> None:
        while not stop.is_set():
            turn(sockets, 0.05)

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield listener
    finally:
        stop.set()
        thread.join()
        for each in channels(sockets):
            each.handle_close()  # releases a thread that waits for a client
        dispatcher.shutdown(timeout=PATIENCE)
        wasyncore.close_all(sockets)


def address_of(listener: Listener) -> Address:
    return listener.address


def connect(address: Address, sent: bytes = b"", *, receive_buffer: int = 0) -> socket.socket:
    connection = socket.socket()
    connection.settimeout(PATIENCE)
    if receive_buffer:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.connect(address)
    connection.sendall(sent)
    return connection


def receive(connection: socket.socket, size: int) -> None:
    """Reads `size` bytes, and drops them."""
    while size:
        data = connection.recv(min(size, 2**20))
        assert data, "closed"
        size -= len(data)


def read_all(connection: socket.socket) -> bytes:
    """Reads until the server closes the connection."""
    received = b""
    with suppress(ConnectionResetError):
        while chunk := connection.recv(65536):
            received += chunk
    return received


def ask(address: Address, sent: bytes) -> bytes:
    with connect(address, sent) as connection:
        return read_all(connection)


def get(path: str, *headers: str, close: bool = True) -> bytes:
    lines = [f"GET {path} HTTP/1.1", "Host: x", *(["Connection: close"] if close else []), *headers, "", ""]
    return "\r\n".join(lines).encode()


def post(path: str, *headers: str, length: int | None = None, body: bytes = b"") -> bytes:
    measured = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    return "\r\n".join([f"POST {path} HTTP/1.1", "Host: x", measured, *headers, "", ""]).encode() + body


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)
