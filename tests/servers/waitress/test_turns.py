"""One turn of waitress's loop: an event reaches its own connection, or none.

A connection accepted in a turn may get the descriptor of one closed in the same turn. Only the loop closes connections.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from wsgiref.types import WSGIApplication

import pytest
from waitress import wasyncore

from gatepost.http.protocol.expectation import ASKED, ENVIRON_KEY
from gatepost.servers.waitress import listener as waitress_listener
from gatepost.servers.waitress.bodies import BodyBudget
from gatepost.servers.waitress.dispatcher import Dispatcher
from gatepost.servers.waitress.listener import Listener
from gatepost.servers.waitress.server import listen, turn
from tests.running import wait_until
from tests.servers.waitress.connections import IMPORT_LIMIT, LIMIT, PATIENCE, address_of, connect, get, post

LARGE = 2**23  # bytes: more than the kernel buffers for a client with a small buffer


def application(environ: Any, start_response: Any) -> list[bytes]:
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"x" * LARGE if environ["PATH_INFO"] == "/large" else b"read"]


@contextmanager
def by_hand(app: WSGIApplication, connections: int) -> Iterator[tuple[Listener, dict[int, Any]]]:
    """A listener whose turns the test runs itself."""
    sockets: dict[int, Any] = {}
    [listener] = listen(app, sockets, Dispatcher(1), host="127.0.0.1", port=0, connections=connections + 2,
                        bodies=BodyBudget(limit=LIMIT, import_limit=IMPORT_LIMIT))
    try:
        yield listener, sockets
    finally:
        listener.task_dispatcher.shutdown(0)
        wasyncore.close_all(sockets)


def answered(connection: Any, sockets: dict[int, Any]) -> bytes:
    """Takes turns until the server sends. Returns its first bytes; b"" if it closed the connection."""
    connection.setblocking(False)
    found: list[bytes] = []

    def received() -> bool:
        turn(sockets, 0.01)
        try:
            found.append(connection.recv(15))
        except BlockingIOError:
            return False
        except ConnectionResetError:
            found.append(b"")
        return True

    wait_until(received)
    return found[0]


def test_what_the_connection_sent_that_made_room_is_not_read_from_the_new_one():
    with by_hand(application, connections=1) as (listener, sockets):
        address = address_of(listener)
        with connect(address) as idle:
            wait_until(lambda: turn(sockets, 0.01) or listener.active_channels)
            [descriptor] = listener.active_channels
            idle.sendall(b"GET")
            with connect(address) as new:
                turn(sockets, 0.01)
                assert list(listener.active_channels) == [descriptor]
                new.sendall(get("/new"))
                assert answered(new, sockets) == b"HTTP/1.1 200 OK"


def test_a_new_connection_does_not_end_with_the_slow_one_whose_descriptor_it_has(monkeypatch: pytest.MonkeyPatch):
    with by_hand(application, connections=2) as (listener, sockets):
        address = address_of(listener)
        with connect(address, get("/large"), receive_buffer=4096):
            wait_until(lambda: turn(sockets, 0.01) or any(
                each.close_when_flushed for each in listener.active_channels.values()))
            [descriptor] = listener.active_channels
            monkeypatch.setattr(waitress_listener, "UNREAD", 0)
            listener._next_sweep = 0.0
            with connect(address, get("/new")) as new:
                turn(sockets, 0.01)
                if not listener.active_channels:
                    turn(sockets, 0.01)
                monkeypatch.setattr(waitress_listener, "UNREAD", LARGE)
                assert list(listener.active_channels) == [descriptor]
                assert answered(new, sockets) == b"HTTP/1.1 200 OK"


def test_a_thread_that_asks_a_lost_client_for_its_body_leaves_the_closing_to_the_loop():
    """Otherwise the thread could remove a new connection with the same descriptor from the loop's map."""
    asked, lost = threading.Event(), threading.Event()

    def importing(environ: Any, start_response: Any) -> list[bytes]:
        if environ.get(ENVIRON_KEY) != ASKED:
            return application(environ, start_response)
        asked.set()
        assert lost.wait(PATIENCE)
        start_response("100 Continue", [])
        return []

    sent = post("/api/things/import", "Expect: 100-continue", length=2 * LIMIT)
    with by_hand(importing, connections=2) as (listener, sockets):
        with connect(address_of(listener), sent) as gone:
            wait_until(lambda: turn(sockets, 0.01) or asked.is_set())
            [(descriptor, channel)] = listener.active_channels.items()
            gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # the kernel tells the server
        lost.set()
        wait_until(lambda: channel.sent_continue and listener.task_dispatcher.is_idle)
        assert listener.active_channels == {descriptor: channel} and sockets[descriptor] is channel
        with connect(address_of(listener), get("/new")) as new:
            wait_until(lambda: turn(sockets, 0.01) or channel not in sockets.values())
            assert not channel.connected
            assert answered(new, sockets) == b"HTTP/1.1 200 OK"
