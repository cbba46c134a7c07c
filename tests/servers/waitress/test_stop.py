"""A stop of waitress, in the process of the test: requests whose handler has started are answered."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from time import sleep
from typing import Any
from wsgiref.types import WSGIApplication

from gatepost.servers.activation import GRACE
from gatepost.servers.notify import Notifier
from gatepost.servers.waitress import server
from gatepost.servers.waitress.server import serve
from tests.running import wait_until
from tests.servers.waitress.connections import IMPORT_LIMIT, LIMIT, PATIENCE, Address, connect, get, read_all


def listens(address: Address) -> bool:
    with socket.socket() as another:
        return another.connect_ex(address) == 0


def answers_to(clients: Callable[[Address], tuple[bytes, bytes]], application: WSGIApplication) -> tuple[bytes, bytes]:
    """Serves the application until `clients`, in a thread, have stopped it. Returns what they have received."""
    with ThreadPoolExecutor(1) as pool:
        received = []
        serve(application, host="127.0.0.1", port=0, threads=2, body_limit=LIMIT, import_limit=IMPORT_LIMIT,
              trusted_proxies=0, drain_timeout=PATIENCE, notifier=Notifier(),
              ready=lambda *address: received.append(pool.submit(clients, address)))
        return received[0].result(PATIENCE)


def test_a_stop_answers_what_is_under_way_and_accepts_no_connection():
    started, released, stopped = Event(), Event(), Event()

    def application(environ: Any, start_response: Any) -> list[bytes]:
        if environ["PATH_INFO"] == "/wait":
            started.set()
            assert released.wait(PATIENCE)
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"whole"]

    def stop() -> None:
        stopped.set()
        os.kill(os.getpid(), signal.SIGTERM)

    def clients(address: Address) -> tuple[bytes, bytes]:
        """Returns the answers to a request in progress, and to one on an open connection."""
        try:
            with connect(address, get("/wait", close=False)) as busy, connect(address, get("/", close=False)) as kept:
                assert started.wait(PATIENCE)
                received = b""
                while not received.endswith(b"whole"):
                    part = kept.recv(65536)
                    assert part, received
                    received += part
                stop()
                wait_until(lambda: not listens(address))
                released.set()
                return read_all(busy), read_all(kept)
        finally:
            released.set()
            if not stopped.is_set():
                stop()

    busy, kept = answers_to(clients, application)
    assert busy.startswith(b"HTTP/1.1 200 OK") and busy.endswith(b"whole") and b"Connection: close" in busy
    assert kept == b""


def test_the_request_after_a_stream_that_outlasts_the_grace_is_answered(monkeypatch):
    released, stopped = Event(), Event()

    def application(environ: Any, start_response: Any) -> Iterator[bytes]:
        start_response("200 OK", [("Content-Type", "text/plain")])
        yield b"first"
        assert environ["PATH_INFO"] != "/stream" or released.wait(PATIENCE)
        yield b"last"

    def client(address: Address) -> tuple[bytes, bytes]:
        try:
            with connect(address, get("/stream", close=False)) as connection:
                stream = b""
                while b"first" not in stream:
                    stream += connection.recv(65536)
                stopped.set()
                os.kill(os.getpid(), signal.SIGTERM)
                wait_until(lambda: not listens(address))
                sleep(2 * GRACE)
                monkeypatch.setattr(server, "GRACE", PATIENCE)  # for a busy machine
                released.set()
                while not stream.endswith(b"0\r\n\r\n"):
                    stream += connection.recv(65536)
                connection.sendall(get("/next"))
                return stream, read_all(connection)
        finally:
            released.set()
            if not stopped.is_set():
                os.kill(os.getpid(), signal.SIGTERM)

    stream, following = answers_to(client, application)
    assert b"Connection:" not in stream and following.startswith(b"HTTP/1.1 200 OK") and b"last" in following
