"""The places where granian waits for bodies: few for one network, and not for long while other networks wait."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from gatepost.http.protocol.problems import Problem
from gatepost.servers.granian import bodies
from gatepost.servers.granian.bodies import AT_ONCE, Body, BodyPlaces
from gatepost.servers.pace import RATE, WINDOW
from tests.running import wait_until

PATIENCE = 60  # seconds that a test waits for what has to happen


class Clock:
    """A replacement of `monotonic` that stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock by which it is decided which body is waited for too long."""
    clock = Clock()
    monkeypatch.setattr(bodies, "monotonic", clock)
    return clock


class Sent:
    """What a client sends: it comes once `arrived` is set."""

    def __init__(self) -> None:
        self.arrived, self.awaited = threading.Event(), threading.Event()

    def read(self, size: int) -> bytes:
        self.awaited.set()
        assert self.arrived.wait(PATIENCE)
        return b"x" * size


class Clients:
    """Reads bodies, each in a thread of its own."""

    def __init__(self, pool: ThreadPoolExecutor, places: int, trusted_proxies: int) -> None:
        self._pool, self._sent = pool, list[Sent]()
        self.bodies = BodyPlaces(places, trusted_proxies)

    def begin(self, address: str, forwarded_for: str = "") -> tuple[Sent, Body, Future[bytes]]:
        """A body of which nothing has come, and what will be read of it."""
        sent = Sent()
        self._sent.append(sent)
        environ = {"wsgi.input": sent, "CONTENT_LENGTH": "9", "REMOTE_ADDR": address}
        if forwarded_for:
            environ["HTTP_X_FORWARDED_FOR"] = forwarded_for
        body = self.bodies.of(environ, address)
        return sent, body, self._pool.submit(body.read, 9)

    def stop(self) -> None:
        for sent in self._sent:
            sent.arrived.set()


@pytest.fixture
def clients() -> Iterator[Callable]:
    """A process with so many places."""
    @contextmanager
    def process(places: int, trusted_proxies: int = 0) -> Iterator[Clients]:
        with ThreadPoolExecutor(8) as pool:
            made = Clients(pool, places, trusted_proxies)
            try:
                yield made
            finally:
                made.stop()

    return process


def code(reading: Future[bytes]) -> str:
    with pytest.raises(Problem) as refused:
        reading.result(PATIENCE)
    return refused.value.code


def test_the_body_that_is_waited_for_longest_makes_room(clients, clock):
    with clients(places=2) as process:
        begun = []
        for address in ("192.0.2.1", "192.0.2.2"):
            begun.append(process.begin(address))
            assert begun[-1][0].awaited.wait(PATIENCE)
            clock.now += 0.01
        third, _, reading = process.begin("192.0.2.3")
        clock.now += bodies.PATIENCE
        given_up = process.bodies.overtaken.get(timeout=PATIENCE)
        first = begun[0]
        assert given_up is first[1]
        assert not third.awaited.is_set(), "not before a place is free"
        first[0].arrived.set()
        assert code(first[2]) == "overloaded"
        assert third.awaited.wait(PATIENCE)
        third.arrived.set()
        assert reading.result(PATIENCE) == b"x" * 9
        assert process.bodies.overtaken.empty()


def test_a_network_takes_no_place_from_others_once_it_has_two(clients, clock):
    with clients(places=3) as process:
        other = process.begin("192.0.2.1")
        assert other[0].awaited.wait(PATIENCE)
        own = [process.begin("198.51.100.7") for _ in range(2)]
        for sent, _, _ in own:
            assert sent.awaited.wait(PATIENCE)
        process.begin("198.51.100.7")
        clock.now += bodies.PATIENCE
        assert process.bodies.overtaken.get(timeout=PATIENCE) in [body for _, body, _ in own]
        other[0].arrived.set()
        assert other[2].result(PATIENCE) == b"x" * 9


def test_two_of_one_network_leave_a_place_for_another(clients):
    with clients(places=3) as process:
        for _ in range(2):
            assert process.begin("2001:db8::1")[0].awaited.wait(PATIENCE)
        third, _, _ = process.begin("2001:db8::2")
        fourth, _, reading = process.begin("2001:db8:1::1")
        assert fourth.awaited.wait(PATIENCE)
        fourth.arrived.set()
        assert reading.result(PATIENCE) == b"x" * 9
        assert not third.awaited.is_set()


def test_behind_a_proxy_it_is_the_clients_network_that_counts(clients):
    with clients(places=3, trusted_proxies=1) as process:
        for address in ("192.0.2.1", "192.0.2.2", "192.0.2.3"):
            assert process.begin("127.0.0.1", f"198.51.100.7, {address}")[0].awaited.wait(PATIENCE)


def test_without_a_free_place_a_body_is_refused(clients, clock):
    with clients(places=1) as process:
        assert process.begin("192.0.2.1")[0].awaited.wait(PATIENCE)
        reading = process.begin("192.0.2.2")[2]

        def refused() -> bool:
            clock.now += bodies.PATIENCE
            return reading.done()

        wait_until(refused)
        assert code(reading) == "overloaded"


def test_a_body_that_waits_for_a_place_does_not_stop_a_body_that_comes(clients):
    """A place that is given back within `bodies.PATIENCE` is passed on."""
    with clients(places=1) as process:
        first, _, read_first = process.begin("192.0.2.1")
        assert first.awaited.wait(PATIENCE)
        second, _, read_second = process.begin("192.0.2.2")
        first.arrived.set()
        assert read_first.result(PATIENCE) == b"x" * 9
        assert second.awaited.wait(PATIENCE)
        second.arrived.set()
        assert read_second.result(PATIENCE) == b"x" * 9
        assert process.bodies.overtaken.empty()


def test_many_bodies_at_once_are_all_read(clients):
    with clients(places=4) as process:
        begun = [process.begin("192.0.2.1") for _ in range(8)]
        for sent, _, _ in begun:
            sent.arrived.set()
        assert [reading.result(PATIENCE) for _, _, reading in begun] == [b"x" * 9] * 8
        assert process.bodies.overtaken.empty()


class Drops:
    """Body that a client sends in pieces of this size; `pause` seconds pass before each of them."""

    def __init__(self, clock: Clock, size: int, pause: float) -> None:
        self._clock, self._size, self._pause = clock, size, pause

    def read(self, size: int) -> bytes:
        self._clock.now += self._pause
        return b"x" * min(size, self._size)


def slow_after(clock: Clock, seconds: float, drops: Drops) -> bool:
    """True if a body that comes in these pieces, for so many seconds at most, is given up."""
    places = BodyPlaces(1)
    body = places.of({"wsgi.input": drops, "CONTENT_LENGTH": str(10**9), "REMOTE_ADDR": "192.0.2.1"}, "192.0.2.1")
    end = clock.now + seconds
    while clock.now < end:
        body.read(AT_ONCE)
        if body.slow(clock.now):
            return True
    return False


def test_a_body_that_comes_steadily_is_taken_and_one_that_drips_is_given_up(clock):
    assert not slow_after(clock, 20 * WINDOW, Drops(clock, RATE, pause=0.9))
    assert slow_after(clock, 20 * WINDOW, Drops(clock, RATE, pause=1.5))
    assert slow_after(clock, 2 * WINDOW, Drops(clock, 1, pause=0.2))
