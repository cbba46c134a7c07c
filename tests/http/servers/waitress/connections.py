"""The waitress listener in a thread of the test, in front of any WSGI application, and connections to it as bytes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from wsgiref.types import WSGIApplication

from waitress import wasyncore

from blueprints.http.servers.waitress.bodies import BodyBudget
from blueprints.http.servers.waitress.listener import Listener
from blueprints.http.servers.waitress.server import listen
from blueprints.http.servers.waitress.turns import turn

LIMIT, IMPORT_LIMIT = 2**20, 2**23
PATIENCE = 20  # seconds that a test waits for what has to happen

Address = tuple[str, int]


@contextmanager
def listening(app: WSGIApplication, *, threads: int = 4, connections: int = 100, **bodies: Any) -> Iterator[Listener]:
    """`bodies` are the arguments of `BodyBudget` that differ from the limits above."""
    sockets: dict[int, Any] = {}
    [listener] = listen(app, sockets, host="127.0.0.1", port=0, threads=threads, connections=connections + 2,
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
        for each in list(listener.active_channels.values()):
            each.handle_close()  # lets a thread go that waits for a client
        listener.task_dispatcher.shutdown(timeout=PATIENCE)
        wasyncore.close_all(sockets)


def address_of(listener: Listener) -> Address:
    return listener.effective_host, int(listener.effective_port)


def connect(address: Address, sent: bytes = b"", *, receive_buffer: int = 0) -> socket.socket:
    connection = socket.socket()
    connection.settimeout(PATIENCE)
    if receive_buffer:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.connect(address)
    connection.sendall(sent)
    return connection


def read_all(connection: socket.socket) -> bytes:
    """Everything until the server closes."""
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
