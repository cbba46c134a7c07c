"""Connections of waitress: clients that do not read, do not send, or are too many do not affect others."""

from __future__ import annotations

import errno
import logging
import resource
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import pairwise

import pytest

from gatepost.servers.waitress import channel as waitress_channel
from gatepost.servers.waitress import dispatcher
from gatepost.servers.waitress import listener as waitress_listener
from gatepost.servers.waitress.channel import CREDIT, HEAD_SECONDS, IDLE, RATE, WINDOW, Channel, unacknowledged
from gatepost.servers.waitress.listener import PAUSE, Listener
from tests.running import wait_until
from tests.servers.waitress.connections import (
    PATIENCE,
    address_of,
    ask,
    chunk,
    connect,
    get,
    listening,
    post,
    read_all,
    receive,
)

LARGE = 2**23  # bytes: more than the kernel buffers for a client with a small buffer


class Service:
    """A WSGI application: `/large` answers in one piece, `/stream` endlessly, `/wait` when it is `released`."""

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


def closed(connection: socket.socket) -> bool:
    """True if the server closes this connection. Drops the data that it still sends."""
    try:
        while connection.recv(65536):
            pass
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
    return True


def only(listener: Listener) -> Channel:
    """The server's side of the only connection."""
    wait_until(lambda: len(listener.active_channels) == 1)
    [channel] = listener.active_channels.copy().values()
    return channel


# Pipelining


def test_requests_that_are_pipelined_are_answered_in_order(service):
    with listening(service) as listener:
        answer = ask(address_of(listener), get("/a", close=False) * 20 + get("/large", close=False) + get("/b"))
    assert answer.count(b"HTTP/1.1 200 OK") == 22
    assert service.asked == ["/a"] * 20 + ["/large", "/b"]
    assert answer.endswith(b"read 0")


def test_the_next_pipelined_request_starts_when_the_answer_before_it_has_left(service):
    """Opens more connections than threads: none of them holds a thread."""
    with listening(service, threads=2) as listener, ExitStack() as unread:
        address = address_of(listener)
        for _ in range(6):
            unread.enter_context(connect(address, get("/large", close=False) * 20, receive_buffer=4096))
        wait_until(lambda: service.asked == ["/large"] * 6)
        for _ in range(5):
            assert ask(address, get("/honest")).endswith(b"read 0")
        assert service.asked.count("/large") == 6


def test_a_client_that_reads_at_last_gets_everything(service):
    sent = get("/large", close=False) * 2 + get("/b")
    with listening(service, threads=1) as listener, connect(address_of(listener), sent) as late:
        wait_until(lambda: service.asked == ["/large"])
        assert len(read_all(late)) > 2 * LARGE


# More requests than threads


def answered_live(address, enough: threading.Event) -> list[bytes]:
    """Returns the answers of /api/health/live, requested repeatedly until `enough` is set."""
    answers = []
    while not enough.is_set():
        answers.append(ask(address, get("/api/health/live")))
    return answers


def test_what_waits_too_long_is_refused_however_often_the_process_is_asked_whether_it_lives(service, clock):
    enough = threading.Event()
    with listening(service, threads=1) as listener, ThreadPoolExecutor(3) as pool:
        address = address_of(listener)
        with connect(address, get("/wait")) as busy:
            wait_until(lambda: service.asked)
            probes = [pool.submit(answered_live, address, enough) for _ in range(3)]
            with connect(address, get("/late")) as late:
                try:
                    wait_until(lambda: len(listener.task_dispatcher))
                    assert "/late" not in service.asked
                    clock.forward(listener, dispatcher.PATIENCE + 1)
                    wait_until(lambda: "/late" in service.asked)  # `Service` has no refusals
                    assert read_all(late)
                finally:
                    enough.set()
                    service.released.set()
            assert read_all(busy).endswith(b"read 0")
        assert all(answer.endswith(b"read 0") for probe in probes for answer in probe.result())


def test_what_waits_for_a_moment_is_answered(service, clock):
    with listening(service, threads=1) as listener, connect(address_of(listener), get("/wait")) as busy:
        wait_until(lambda: service.asked)
        with connect(address_of(listener), get("/soon")) as waiting:
            wait_until(lambda: len(listener.task_dispatcher))
            clock.forward(listener, dispatcher.PATIENCE - 1, steps=1)
            service.released.set()
            assert read_all(busy).endswith(b"read 0")
            assert read_all(waiting).endswith(b"read 0")


def test_a_head_that_cannot_be_read_is_400_also_while_every_thread_is_busy(service, clock):
    with listening(service, threads=1) as listener, connect(address_of(listener), get("/wait")) as busy:
        wait_until(lambda: service.asked)
        for head in (b"GET / HTTP/1.1\r\nBad Header: x\r\n\r\n", b"nonsense\r\n\r\n"):
            with connect(address_of(listener), head) as wrong:
                wait_until(lambda: len(listener.task_dispatcher))
                clock.forward(listener, dispatcher.PATIENCE + 1)
                assert read_all(wrong).split()[1] == b"400"
        service.released.set()
        assert read_all(busy).endswith(b"read 0")


# Slow clients


def test_a_client_that_reads_nothing_is_closed_and_its_thread_is_free(service, clock):
    with listening(service, threads=1) as listener, connect(address_of(listener), get("/stream"), receive_buffer=4096):
        wait_until(lambda: service.asked and only(listener).total_outbufs_len)
        clock.forward(listener, WINDOW + CREDIT)
        wait_until(lambda: service.ended)
        assert ask(address_of(listener), get("/honest")).endswith(b"read 0")


def test_an_answer_that_is_whole_is_not_kept_for_a_client_that_reads_nothing(service, clock):
    with listening(service) as listener, connect(address_of(listener), get("/large"), receive_buffer=4096):
        wait_until(lambda: only(listener).close_when_flushed)
        clock.forward(listener, WINDOW + CREDIT)
        wait_until(lambda: not listener.active_channels)


def test_a_client_that_reads_a_little_faster_than_the_least_rate_is_served_to_the_end(service, clock):
    """The kernel may hold data that the client has not read: it takes the last megabyte at once."""
    step = 2**16  # bytes
    with listening(service) as listener, connect(address_of(listener), get("/large"), receive_buffer=65_536) as slow:
        channel = only(listener)
        wait_until(lambda: channel.close_when_flushed)
        for received in range(step, LARGE // 4, step):
            receive(slow, step)
            wait_until(lambda received=received: channel._sent - unacknowledged(channel.socket) >= received)
            clock.forward(listener, 0.9 * step / RATE, steps=1)
        assert clock.now > 20 * WINDOW
        assert received + len(read_all(slow)) > LARGE


def test_a_client_that_has_read_fast_may_pause_for_longer_and_is_closed_all_the_same(service, clock):
    """A large receive window opens late: the kernel of an honest client may be silent for minutes."""
    with listening(service, threads=1) as listener, connect(address_of(listener), get("/stream")) as eager:
        for _ in range(32):
            receive(eager, 2**20)
            clock.forward(listener, 1, steps=1)
        clock.forward(listener, 0.9 * CREDIT)
        assert service.ended == [] and listener.active_channels
        clock.forward(listener, 2 * CREDIT)
        wait_until(lambda: service.ended)


def test_bytes_that_the_kernel_has_and_that_are_not_counted_yet_close_no_connection(service, clock):
    """A thread passes bytes to the kernel before it counts them."""
    with listening(service) as listener, connect(address_of(listener), get("/large"), receive_buffer=4096):
        channel = only(listener)
        wait_until(lambda: channel.close_when_flushed)
        clock.forward(listener, 1, steps=1)
        channel._sent -= 2**20
        clock.forward(listener, 1, steps=1)
        assert channel.connected


@pytest.mark.parametrize("sent", [b"GET / HTTP/1.1\r\nHost: x\r\n", b"GET"], ids=["headers", "line"])
def test_a_head_has_to_come_in_time_however_often_a_byte_comes(service, clock, sent):
    with listening(service) as listener, connect(address_of(listener), sent) as dripping:
        channel = only(listener)
        wait_until(lambda: channel.request is not None)
        for _ in range(int(HEAD_SECONDS) - 3):
            dripping.sendall(b"x")
            clock.forward(listener, 1, steps=1)
        assert listener.active_channels
        with suppress(ConnectionError):
            for _ in range(5):
                clock.forward(listener, 1, steps=1)
                dripping.sendall(b"x")
        assert closed(dripping)
    assert service.asked == []


@pytest.mark.parametrize("request_head", [post("/", length=100_000), post("/")], ids=["length", "chunked"])
def test_a_body_that_hardly_comes_is_given_up(service, clock, request_head):
    with listening(service) as listener, connect(address_of(listener), request_head + b"1\r\n") as dripping:
        channel = only(listener)
        wait_until(lambda: channel.request is not None)
        clock.forward(listener, 2 * WINDOW)
        assert closed(dripping)
    assert service.asked == []


def test_a_body_that_comes_slowly_but_steadily_is_read(service, clock):
    sent = post("/", "Connection: close")
    with listening(service) as listener, connect(address_of(listener), sent) as slow:
        channel, piece = only(listener), chunk(b"x" * 5000)
        for number in range(1, 31):
            slow.sendall(piece)
            wait_until(lambda number=number: channel._arrived >= len(sent) + number * len(piece))
            clock.forward(listener, 5000 / RATE - 1, steps=1)
        assert clock.now > 4 * WINDOW
        slow.sendall(chunk(b""))
        assert read_all(slow).endswith(b"read 150000")


def test_a_stream_that_fails_ends_its_connection_without_its_last_chunk(caplog):
    def failing(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        yield b"part"
        raise ValueError("half of it")

    with listening(failing) as listener, connect(address_of(listener), get("/", close=False)) as connection:
        head, _, body = read_all(connection).partition(b"\r\n\r\n")
    assert b"Connection:" not in head and body == chunk(b"part")
    assert "half of it" in caplog.text


def test_a_connection_that_is_kept_alive_ends_when_nothing_is_asked(service, clock):
    with listening(service) as listener, connect(address_of(listener), get("/a", close=False)) as idle:
        assert idle.recv(65536)
        wait_until(lambda: only(listener).idle)
        clock.forward(listener, IDLE - 5)
        assert listener.active_channels
        clock.forward(listener, 10)
        assert closed(idle)


def test_a_handler_may_take_its_time(service, clock):
    with listening(service) as listener, connect(address_of(listener), get("/wait")) as patient:
        wait_until(lambda: service.asked)
        clock.forward(listener, 10 * (IDLE + CREDIT))
        service.released.set()
        assert read_all(patient).endswith(b"read 0")


def test_unread_answers_are_bounded_for_the_process(service, clock, monkeypatch):
    """The connections with the oldest unread answers are closed first."""
    monkeypatch.setattr(waitress_listener, "UNREAD", 2 * LARGE)
    monkeypatch.setattr(waitress_channel, "RATE", 10**9)  # bytes a second: bytes in the buffer earn no time
    channels: list[Channel] = []

    def new() -> list[Channel]:
        return [each for each in listener.active_channels.copy().values() if each not in channels]

    def whole() -> bool:
        """True if the newest connection has the whole answer."""
        return channels[-1].close_when_flushed

    with listening(service) as listener, ExitStack() as unread:
        for _ in range(5):
            unread.enter_context(connect(address_of(listener), get("/large"), receive_buffer=4096))
            wait_until(new)
            channels += new()
            wait_until(whole)
            clock.forward(listener, 1, steps=1)
        remaining = [each for each in channels if each.connected]
        assert 0 < len(remaining) < 5 and remaining == channels[-len(remaining):]
        assert sum(each.total_outbufs_len for each in remaining) <= 2 * LARGE


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


def test_a_connection_whose_request_is_under_way_makes_no_room(service, clock):
    with listening(service, connections=1) as listener, connect(address_of(listener), get("/wait")) as busy:
        wait_until(lambda: service.asked)
        with connect(address_of(listener), get("/b")) as waiting:
            wait_until(lambda: listener._exhausted)  # it was refused room
            assert service.asked == ["/wait"]
            service.released.set()
            assert read_all(busy).endswith(b"read 0")
            clock.forward(listener, PAUSE, steps=1)
            assert read_all(waiting).endswith(b"read 0")


def test_dripping_connections_make_room_for_honest_ones(service):
    with listening(service, connections=20) as listener, ExitStack() as dripping:
        for _ in range(60):
            dripping.enter_context(connect(address_of(listener), b"GET / HTTP/1.1\r\nHost"))
        for _ in range(5):
            assert ask(address_of(listener), get("/honest")).endswith(b"read 0")


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM])
def test_without_descriptors_it_pauses_and_says_so_once(service, monkeypatch, caplog, clock, code):
    failures = []

    def accept(self):
        failures.append(clock.now)
        raise OSError(code, "no more")

    with listening(service) as listener, caplog.at_level(logging.INFO), monkeypatch.context() as exhausted:
        exhausted.setattr(waitress_listener.TcpWSGIServer, "accept", accept)
        with connect(address_of(listener), get("/a")) as waiting:
            for number in range(1, 6):
                wait_until(lambda number=number: len(failures) == number)
                listener.pull_trigger()
                clock.now += 0.9 * PAUSE
                listener.pull_trigger()
                clock.now += 0.1 * PAUSE + 0.001
            assert all(later - earlier >= PAUSE for earlier, later in pairwise(failures))
            assert [record.message for record in caplog.records if "No connection" in record.message] == [
                "No connection can be accepted: no more. Waiting for some to end."]
            exhausted.undo()
            clock.now += PAUSE
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
