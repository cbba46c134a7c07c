"""Unread exports: two at a time for one caller, half of the threads for all. Other requests are answered."""

from __future__ import annotations

import gc
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPResponse
from urllib.parse import urlsplit

import pytest

from gatepost.http.operations.concurrency import ConcurrencyLimit
from gatepost.http.pipeline import responses
from gatepost.http.protocol.problems import Problem
from tests.running import Instance, Served, wait_until

SERVERS = {"waitress": (), "granian": ("--workers", "1")}
THREADS = 6
EXPORT = "/api/articles/export"


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Instance:
    made = Instance(tmp_path_factory.mktemp("made") / "instance", {"GATEPOST_RATE_LIMITS": "off"}).made()
    assert made.run("demo", "--articles", "20000").returncode == 0  # more than sockets and buffers hold
    rules = made.folder / "policies" / "articles.csv"
    opened = rules.read_text("utf-8").replace("# end", "p, guest, article.export, published, allow\n# end")
    rules.write_text(opened, "utf-8")
    return made


@pytest.fixture(params=SERVERS)
def service(request: pytest.FixtureRequest, instance: Instance) -> Iterator[Served]:
    with instance.served(*SERVERS[request.param], "--threads", str(THREADS)) as service:
        yield service


@contextmanager
def begun(service: Served, address: str = "127.0.0.1", token: str = "") -> Iterator[tuple[int, socket.socket]]:
    """Starts an export from this address and reads only its status line."""
    where = urlsplit(service.url)
    credentials = f"Authorization: Bearer {token}\r\n" if token else ""
    with closing(socket.socket()) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(60)
        connection.bind((address, 0))
        connection.connect((where.hostname, where.port))
        connection.sendall(f"GET {EXPORT} HTTP/1.1\r\nHost: x\r\n{credentials}\r\n".encode())
        with closing(HTTPResponse(connection)) as answer:
            answer.begin()
            if answer.status == 503:
                assert answer.headers["Content-Type"] == "application/problem+json"
                assert (b'"code":"overloaded"' in answer.read(), answer.headers["Retry-After"]) == (True, "5")
            yield answer.status, connection


def status(service: Served, **who: str) -> int:
    with begun(service, **who) as (found, _):
        return found


def wait_for_slot(service: Served, **who: str) -> None:
    wait_until(lambda: status(service, **who) == 200)


@pytest.mark.slow
def test_two_at_a_time_for_one_caller_and_half_of_the_threads_for_all(service):
    token = service.log_in()
    with ExitStack() as unread:
        for who in ({"address": "127.0.0.1"}, {"address": "127.0.0.1"}):
            assert unread.enter_context(begun(service, **who))[0] == 200
        assert status(service) == 503, "this address has two"
        assert unread.enter_context(begun(service, token=token))[0] == 200, "a user is no guest"
        assert status(service, address="127.0.0.2") == 503, "three of six threads"
        for _ in range(20):
            assert service.call("GET", "/api/articles?limit=1")[0] == 200
    wait_for_slot(service)
    wait_for_slot(service, address="127.0.0.2")


@pytest.mark.slow
def test_what_fails_before_the_first_byte_holds_no_slot(service):
    for _ in range(THREADS):
        assert service.call("GET", f"{EXPORT}?sort=nonsense")[0] == 400
    assert status(service) == 200


@pytest.mark.slow
def test_what_was_read_to_its_end_holds_no_slot(service):
    for _ in range(THREADS):
        with begun(service) as (found, connection):
            assert found == 200
            while not (part := connection.recv(2**20)).endswith(b"0\r\n\r\n"):
                assert part
    assert status(service) == 200


def test_a_response_that_is_never_sent_holds_no_slot(app, as_role, monkeypatch):
    """A failure after the handler: no code closes the export, but the garbage collector does."""
    def fail(*_: object) -> None:
        raise Problem("conflict")

    services = app.extensions["gatepost"]
    monkeypatch.setattr(services, "long_answers", ConcurrencyLimit(1))
    monkeypatch.setattr(responses, "_with_headers", fail)
    assert as_role("editor").get(EXPORT).status_code == 409
    gc.collect(1)  # of what is young, since a search of everything takes seconds
    assert services.long_answers.acquire("another")


def test_a_slot_is_free_once_what_held_it_ends():
    slots = ConcurrencyLimit(3)
    assert [slots.acquire("a"), slots.acquire("a"), slots.acquire("a"), slots.acquire("b"), slots.acquire("c")] == [
        True, True, False, True, False]
    slots.release("a")
    assert [slots.acquire("c"), slots.acquire("a")] == [True, False]
