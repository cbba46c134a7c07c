"""Clients of granian that send or read next to nothing: they get 503 or are cut off, and their thread is free again.

The server's limits are seconds here, not in half minutes; waitress has tests of its own.
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
from tests.running import Instance, Served

WINDOW, CREDIT = 1.5, 6.0
IMPATIENT = f"""
from blueprints.http.servers import pace
pace.WINDOW = {WINDOW}
pace.CREDIT = {CREDIT}
from gatepost_start.command import cli
cli()
"""
pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="NOT TESTED: Linux only")


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
    connection.settimeout(30)
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
    deadline = time.monotonic() + 30
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
        with closing(connect(service, export(token))) as connection, answered(connection) as answer:
            assert answer.status == 200


def test_a_client_that_has_read_fast_may_pause_for_longer_and_is_closed_all_the_same(service):
    with closing(connect(service, export(service.log_in()))) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**16)
        received = 0
        while received < 2**20:
            received += len(connection.recv(2**16))
        time.sleep(2 * WINDOW)
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == 1  # ESTABLISHED
        assert cut(connection)


def test_whole_answers_that_their_client_does_not_read_end_too(service):
    asked = b"GET /docs/rapidoc-min.js HTTP/1.1\r\nHost: x\r\n\r\n" * 24
    with closing(connect(service, asked)) as connection:
        assert cut(connection)


def test_an_answer_that_is_read_steadily_comes_to_its_end(service):
    with closing(connect(service, export(service.log_in()))) as connection, answered(connection) as answer:
        began, size = time.monotonic(), 0
        while part := answer.read(65_536):
            size += len(part)
            if time.monotonic() - began < 3 * WINDOW:
                time.sleep(0.2)
        assert size > 2**20


HEAD = b"POST /api/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


def test_many_bodies_at_once_are_all_read(service):
    body = b"x" * 60_000
    for _ in range(5):
        with ExitStack() as sending:
            connections = [sending.enter_context(closing(connect(service, HEAD + b"Content-Length: 60000\r\n\r\n")))
                           for _ in range(12)]
            for connection in connections:
                connection.sendall(body)
            for connection in connections:
                with answered(connection) as answer:
                    assert answer.status == 400
        time.sleep(0.2)  # the next ones find that no place has moved lately


def test_a_body_that_comes_steadily_is_taken(service):
    body = b'{"email": "x@example.org", "password": "' + b"y" * 20 + b'"}'
    length = b"Content-Length: %d\r\n\r\n" % (len(body) + 15 * 2000)
    with closing(connect(service, HEAD + length)) as connection:
        for _ in range(15):
            connection.sendall(b" " * 2000)
            time.sleep(2 * WINDOW / 15)
        connection.sendall(body)
        with answered(connection) as answer:
            assert answer.status == 401


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
        deadline = time.monotonic() + 30
        while service.call("POST", "/api/login", {})[0] != 400:
            assert time.monotonic() < deadline
            time.sleep(0.1)


@contextmanager
def dripping(service: Served, connections: int) -> Iterator[None]:
    """So many bodies that come at 2 kB a second, just fast enough; one that is given up begins anew."""
    ended = Event()

    def drip() -> None:
        while not ended.is_set():
            with suppress(OSError), closing(connect(service, HEAD + b"Content-Length: 900000\r\n\r\n")) as connection:
                while not ended.wait(0.2):
                    connection.sendall(b" " * 400)

    with ThreadPoolExecutor(connections) as pool:
        drips = [pool.submit(drip) for _ in range(connections)]
        try:
            yield
        finally:
            ended.set()
    for each in drips:
        each.result()


def test_bodies_that_come_just_fast_enough_do_not_keep_others_from_sending(service):
    with dripping(service, 4):
        time.sleep(1)  # all of them have begun
        assert [service.call("POST", "/api/login", {})[0] for _ in range(20)] == [400] * 20
