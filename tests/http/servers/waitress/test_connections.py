"""Connections of waitress: clients that do not read, do not send, or are too many do not disturb others."""

from __future__ import annotations

import errno
import logging
import resource
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import pairwise

import pytest

from blueprints.http.servers import pace
from blueprints.http.servers.waitress import channel, dispatcher
from blueprints.http.servers.waitress import listener as waitress_listener
from tests.http.servers.waitress.connections import (
    PATIENCE,
    address_of,
    ask,
    chunk,
    connect,
    get,
    listening,
    post,
    read_all,
)
from tests.running import wait_until

LARGE = 2**23  # bytes: more than the kernel takes for a client with a small buffer


class Service:
    """A WSGI application: `/large` answers in one piece, `/stream` without end, `/wait` when it is `released`."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.ended: list[str] = []
        self.released = threading.Event()

    def __call__(self, environ, start_response):
        path = environ["PATH_INFO"]
        self.asked.append(path)
        sent = environ["wsgi.input"].read()
        if path == "/wait":
            assert self.released.wait(PATIENCE)
        start_response("200 OK", [("Content-Type", "text/plain")])
        return self._stream() if path == "/stream" else [b"x" * LARGE if path == "/large" else b"read %d" % len(sent)]

    def _stream(self):
        try:
            while True:
                yield b"x" * 2**20
        finally:
            self.ended.append("/stream")


@pytest.fixture
def service():
    return Service()


@pytest.fixture
def impatient(monkeypatch):
    """Seconds become tenths."""
    for module, name in ((channel, "IDLE"), (channel, "HEAD_SECONDS"), (pace, "WINDOW")):
        monkeypatch.setattr(module, name, 1.0)
    monkeypatch.setattr(pace, "CREDIT", 10.0)
    monkeypatch.setattr(channel, "LINGER", 0.2)
    monkeypatch.setattr(waitress_listener, "SWEEP", 0.02)


def closed(connection: socket.socket) -> bool:
    """Whether the server closes this connection; what it still sends is dropped."""
    try:
        while connection.recv(65536):
            pass
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
    return True


# Pipelining


def test_requests_that_are_pipelined_are_answered_in_order(service):
    with listening(service) as listener:
        answer = ask(address_of(listener), get("/a", close=False) * 20 + get("/large", close=False) + get("/b"))
    assert answer.count(b"HTTP/1.1 200 OK") == 22
    assert service.asked == ["/a"] * 20 + ["/large", "/b"]
    assert answer.endswith(b"read 0")


def test_the_next_pipelined_request_starts_when_the_answer_before_it_has_left(service):
    """As many connections as threads, and more: none of them holds a thread."""
    with listening(service, threads=2) as listener, ExitStack() as unread:
        address = address_of(listener)
        for _ in range(6):
            unread.enter_context(connect(address, get("/large", close=False) * 20, receive_buffer=4096))
        wait_until(lambda: service.asked == ["/large"] * 6)
        for _ in range(5):
            assert ask(address, get("/honest")).endswith(b"read 0")
        assert service.asked.count("/large") == 6


def test_a_client_that_reads_at_last_gets_everything(service):
    sent = get("/large", close=False) * 3 + get("/b")
    with listening(service, threads=1) as listener, connect(address_of(listener), sent, receive_buffer=65_536) as late:
        wait_until(lambda: service.asked == ["/large"])
        assert len(read_all(late)) > 3 * LARGE


# More requests than threads


def answered_live(address, enough: threading.Event) -> list[bytes]:
    """What /api/health/live answers, asked again and again until there are `enough`."""
    answers = []
    while not enough.is_set():
        answers.append(ask(address, get("/api/health/live")))
    return answers


def test_what_waits_too_long_is_refused_however_often_the_process_is_asked_whether_it_lives(service, monkeypatch):
    monkeypatch.setattr(dispatcher, "PATIENCE", 0.2)
    enough = threading.Event()
    with listening(service, threads=1) as listener, ThreadPoolExecutor(3) as pool:
        address = address_of(listener)
        with connect(address, get("/wait")) as busy:
            wait_until(lambda: service.asked)
            probes = [pool.submit(answered_live, address, enough) for _ in range(3)]
            with connect(address, get("/late")) as late:
                try:
                    wait_until(lambda: "/late" in service.asked)  # `Service` knows no refusals
                    assert read_all(late)
                finally:
                    enough.set()
                    service.released.set()
            assert read_all(busy).endswith(b"read 0")
        assert all(answer.endswith(b"read 0") for probe in probes for answer in probe.result())


def test_a_head_that_cannot_be_read_is_400_also_while_every_thread_is_busy(service, monkeypatch):
    monkeypatch.setattr(dispatcher, "PATIENCE", 0.2)
    with listening(service, threads=1) as listener, connect(address_of(listener), get("/wait")) as busy:
        wait_until(lambda: service.asked)
        for head in (b"GET / HTTP/1.1\r\nBad Header: x\r\n\r\n", b"nonsense\r\n\r\n"):
            assert ask(address_of(listener), head).split()[1] == b"400"
        service.released.set()
        assert read_all(busy).endswith(b"read 0")


# Slow clients


def test_a_client_that_reads_nothing_is_closed_and_its_thread_is_free(service, impatient):
    with listening(service, threads=1) as listener, connect(address_of(listener), get("/stream"), receive_buffer=4096):
        wait_until(lambda: service.ended)
        assert ask(address_of(listener), get("/honest")).endswith(b"read 0")


def test_an_answer_that_is_whole_is_not_kept_for_a_client_that_reads_nothing(service, impatient):
    with listening(service) as listener, connect(address_of(listener), get("/large"), receive_buffer=4096):
        wait_until(lambda: service.asked and not listener.active_channels)


def test_a_client_that_reads_a_little_faster_than_the_least_rate_is_served_to_the_end(service, impatient, monkeypatch):
    """What the kernel has taken is not what the client has read: the last megabyte goes to it at once."""
    monkeypatch.setattr(pace, "RATE", 50_000)
    with listening(service) as listener, connect(address_of(listener), get("/large"), receive_buffer=65_536) as slow:
        received, start = 0, time.monotonic()
        while (data := slow.recv(16_384)):
            received += len(data)
            if time.monotonic() - start < 3:  # several windows long
                time.sleep(0.05)
        assert received > LARGE


def test_a_client_that_has_read_fast_may_pause_for_longer_and_is_closed_all_the_same(service, impatient, monkeypatch):
    """A receive window that has grown opens late: the kernel of an honest client is silent for minutes."""
    monkeypatch.setattr(pace, "CREDIT", 4.0)
    with listening(service, threads=1) as listener, connect(address_of(listener), get("/stream")) as eager:
        received = 0
        while received < 2**25:
            received += len(eager.recv(2**18))
        time.sleep(2.5)
        assert service.ended == []
        wait_until(lambda: service.ended)


@pytest.mark.parametrize("sent", [b"GET / HTTP/1.1\r\nHost: x\r\n", b"GET"], ids=["headers", "line"])
def test_a_head_has_to_come_in_time_however_often_a_byte_comes(service, impatient, sent):
    with listening(service) as listener, connect(address_of(listener), sent) as dripping:
        dripping.settimeout(0.05)
        deadline = time.monotonic() + PATIENCE
        while not closed(dripping):
            assert time.monotonic() < deadline
            try:
                dripping.sendall(b"x")
            except ConnectionError:
                break
    assert service.asked == []


@pytest.mark.parametrize("request_head", [post("/", length=100_000), post("/")], ids=["length", "chunked"])
def test_a_body_that_hardly_comes_is_given_up(service, impatient, request_head):
    with listening(service) as listener, connect(address_of(listener), request_head + b"1\r\n") as dripping:
        assert closed(dripping)
    assert service.asked == []


def test_a_body_that_comes_slowly_but_steadily_is_read(service, impatient):
    with listening(service) as listener, connect(address_of(listener), post("/", "Connection: close")) as slow:
        for _ in range(30):
            slow.sendall(chunk(b"x" * 1000))
            time.sleep(0.1)
        slow.sendall(chunk(b""))
        assert read_all(slow).endswith(b"read 30000")


def test_a_connection_that_is_kept_alive_ends_when_nothing_is_asked(service, impatient):
    with listening(service) as listener, connect(address_of(listener), get("/a", close=False)) as idle:
        assert closed(idle)


def test_a_handler_may_take_its_time(service, impatient):
    with listening(service) as listener, connect(address_of(listener), get("/wait")) as patient:
        time.sleep(1.5)
        service.released.set()
        assert read_all(patient).endswith(b"read 0")


def test_unread_answers_are_bounded_for_the_process(service, monkeypatch):
    """The connections that have kept theirs for longest make room."""
    monkeypatch.setattr(waitress_listener, "UNREAD", 2 * LARGE)
    monkeypatch.setattr(waitress_listener, "SWEEP", 0.02)
    with listening(service) as listener, ExitStack() as unread:
        for number in range(1, 6):
            unread.enter_context(connect(address_of(listener), get("/large"), receive_buffer=4096))
            wait_until(lambda number=number: len(service.asked) == number)
        wait_until(lambda: 0 < sum(each.total_outbufs_len for each in listener.active_channels.copy().values())
                   <= 2 * LARGE and len(listener.active_channels) < 5)


# Many connections


def test_the_connection_that_was_idle_longest_makes_room_for_a_new_one(service):
    with listening(service, connections=3) as listener, ExitStack() as others:
        address = address_of(listener)
        idle = []
        for _ in range(3):
            idle.append(others.enter_context(connect(address, get("/a", close=False))))
            assert idle[-1].recv(65536)
        busy = others.enter_context(connect(address, get("/wait")))
        wait_until(lambda: "/wait" in service.asked)
        assert closed(idle[0])
        assert ask(address, get("/b")).endswith(b"read 0")
        service.released.set()
        assert read_all(busy).endswith(b"read 0")


def test_a_connection_whose_request_is_under_way_makes_no_room(service):
    with listening(service, connections=1) as listener, connect(address_of(listener), get("/wait")) as busy:
        wait_until(lambda: service.asked)
        with connect(address_of(listener), get("/b")) as waiting:
            wait_until(lambda: listener._exhausted)  # it was refused room
            assert service.asked == ["/wait"]
            service.released.set()
            assert read_all(busy).endswith(b"read 0")
            assert read_all(waiting).endswith(b"read 0")


def test_dripping_connections_make_room_for_honest_ones(service):
    with listening(service, connections=20) as listener, ExitStack() as dripping:
        for _ in range(60):
            dripping.enter_context(connect(address_of(listener), b"GET / HTTP/1.1\r\nHost"))
        for _ in range(5):
            assert ask(address_of(listener), get("/honest")).endswith(b"read 0")


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM])
def test_without_descriptors_it_pauses_and_says_so_once(service, monkeypatch, caplog, code):
    failures = []

    def accept(self):
        failures.append(time.monotonic())
        raise OSError(code, "no more")

    monkeypatch.setattr(waitress_listener, "PAUSE", 0.05)
    with listening(service) as listener, caplog.at_level(logging.INFO), monkeypatch.context() as exhausted:
        exhausted.setattr(waitress_listener.TcpWSGIServer, "accept", accept)
        with connect(address_of(listener), get("/a")) as waiting:
            wait_until(lambda: len(failures) >= 5)
            assert all(later - earlier >= 0.05 for earlier, later in pairwise(failures))
            assert [record.message for record in caplog.records if "No connection" in record.message] == [
                "No connection can be accepted: no more. Waiting for some to end."]
            exhausted.undo()
            assert read_all(waiting).endswith(b"read 0")


@pytest.mark.parametrize(("soft", "hard", "connections", "asked"), [
    (1024, 1024, 892, None), (1024, 4096, 1000, 1132), (120, 120, 16, None), (120, resource.RLIM_INFINITY, 1000, 1132),
    (resource.RLIM_INFINITY, resource.RLIM_INFINITY, 1000, None), (256, 512, 380, 512)])
def test_there_are_as_many_connections_as_descriptors_allow(monkeypatch, soft, hard, connections, asked):
    limits = []
    monkeypatch.setattr(resource, "getrlimit", lambda which: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda which, values: limits.append(values))
    assert waitress_listener.connections_allowed(threads=8) == connections
    assert limits == ([] if asked is None else [(asked, hard)])
