"""Clients of granian that send or read next to nothing: they get 503 or are cut off, and their thread is free again.

The server's limits are seconds here, not half minutes. Clients that move enough are in test_transfers.py and
test_bodies.py, where a test moves the clock.
"""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from http.client import HTTPResponse, IncompleteRead
from pathlib import Path
from threading import Event
from urllib.parse import urlsplit

import pytest

from tests import running
from tests.running import Instance, Served, wait_until

WINDOW, CREDIT = 1.0, 2.0
IMPATIENT = f"""
from gatepost.servers import pace
pace.WINDOW = {WINDOW}
pace.CREDIT = {CREDIT}
from gatepost_start.command import cli
cli()
"""
pytestmark = [pytest.mark.slow,
              pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="NOT TESTED: Linux only")]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    made = Instance(tmp_path_factory.mktemp("made") / "instance", {"GATEPOST_RATE_LIMITS": "off"}).made()
    assert made.run("demo", "--articles", "20000").returncode == 0  # more than sockets and buffers hold
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "GATEPOST", [sys.executable, "-c", IMPATIENT])
        with made.served("--workers", "1", "--threads", "4") as service:
            yield service


def connect(service: Served, sent: bytes) -> socket.socket:
    where = urlsplit(service.url)
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(60)
    connection.connect((where.hostname, where.port))
    connection.sendall(sent)
    return connection


@contextmanager
def answered(connection: socket.socket) -> Iterator[HTTPResponse]:
    """Status and headers of what comes next; its body is still to be read."""
    with closing(HTTPResponse(connection)) as answer:
        answer.begin()
        yield answer


def export(token: str) -> bytes:
    return f"GET /api/articles/export HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode()


def cut(connection: socket.socket, keep_busy: bytes = b"") -> bool:
    """Whether the server ends the connection, to which `keep_busy` is sent meanwhile."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        time.sleep(0.2)
        try:
            connection.sendall(keep_busy)
            if connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] != 1:  # not ESTABLISHED
                return True
        except OSError:
            return True
    return False


def test_an_answer_that_its_client_does_not_read_ends_and_its_thread_is_free(service):
    token = service.log_in()
    with ExitStack() as unread:
        for _ in range(2):
            assert cut(unread.enter_context(closing(connect(service, export(token)))))

        def exports() -> bool:
            with closing(connect(service, export(token))) as connection, answered(connection) as answer:
                return answer.status == 200

        wait_until(exports)


def test_a_client_that_has_read_fast_and_stops_is_closed(service):
    with closing(connect(service, export(service.log_in()))) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**16)
        received = 0
        while received < 2**20:
            received += len(connection.recv(2**16))
        assert cut(connection)


def test_whole_answers_that_their_client_does_not_read_end_too(service):
    asked = b"GET /docs/rapidoc-min.js HTTP/1.1\r\nHost: x\r\n\r\n" * 24
    with closing(connect(service, asked)) as connection:
        assert cut(connection)


HEAD = b"POST /api/contact HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


def test_many_bodies_at_once_are_all_read(service):
    """Some of them may be refused, and are sent again."""
    rest = 12

    def all_read() -> bool:
        nonlocal rest
        with ExitStack() as sending:
            connections = [sending.enter_context(closing(connect(service, HEAD + b"Content-Length: 60000\r\n\r\n")))
                           for _ in range(rest)]
            for connection in connections:
                with suppress(OSError):
                    connection.sendall(b"x" * 60_000)
            for connection in connections:
                with suppress(ConnectionError), answered(connection) as answer:
                    assert answer.status in (400, 503)
                    rest -= answer.status == 400
        return rest == 0

    wait_until(all_read)


@pytest.mark.parametrize(("length", "drop"), [(b"Content-Length: 60000\r\n\r\n", b" "),
                                              (b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n")],
                         ids=["length", "chunks"])
def test_a_body_that_drips_is_given_up(service, length, drop):
    with closing(connect(service, HEAD + length)) as connection:
        assert cut(connection, drop)


def test_a_body_that_does_not_come_gets_503(service):
    with (closing(connect(service, HEAD + b"Content-Length: 60000\r\n\r\n{")) as connection,
          answered(connection) as answer, pytest.raises(IncompleteRead) as error):
        answer.read()
    assert (answer.status, answer.headers["Connection"]) == (503, "close")
    assert b'"code":"timeout"' in error.value.partial


def test_bodies_that_drip_leave_room_for_others_once_they_are_given_up(service):
    with ExitStack() as dripping:
        for _ in range(20):
            dripping.enter_context(closing(connect(service, HEAD + b"Content-Length: 60\r\n\r\n{")))
        wait_until(lambda: service.call("POST", "/api/login", {})[0] == 400)


@contextmanager
def dripping(service: Served, connections: int) -> Iterator[list[int]]:
    """So many bodies that come at 2 kB a second, just fast enough; one that is given up begins anew.

    The list has an item for each that has begun.
    """
    ended, begun = Event(), list[int]()

    def drip() -> None:
        while not ended.is_set():
            with suppress(OSError), closing(connect(service, HEAD + b"Content-Length: 900000\r\n\r\n")) as connection:
                begun.append(1)
                while not ended.wait(0.2):
                    connection.sendall(b" " * 400)

    with ThreadPoolExecutor(connections) as pool:
        drips = [pool.submit(drip) for _ in range(connections)]
        try:
            yield begun
        finally:
            ended.set()
    for each in drips:
        each.result()


def test_bodies_that_come_just_fast_enough_do_not_keep_others_from_sending(service):
    with dripping(service, 4) as begun:
        wait_until(lambda: len(begun) >= 4)
        for _ in range(20):
            # On a busy machine a request may be refused, and is repeated.
            wait_until(lambda: service.call("POST", "/api/login", {})[0] == 400)
