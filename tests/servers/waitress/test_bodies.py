"""Bodies on waitress with the real application: they are read only as far as the request can succeed."""

from __future__ import annotations

import json
import logging
import re
import signal
import socket
import time
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

from gatepost.http.operations.concurrency import ConcurrencyLimit
from gatepost.http.operations.limits import IMPORT_PIECE
from gatepost.servers.waitress import bodies as waitress_bodies
from gatepost.servers.waitress import channel
from gatepost.testing import log_in
from tests.apps import close, make_app
from tests.databases import new_database
from tests.running import Instance, wait_until
from tests.servers.waitress.connections import (
    IMPORT_LIMIT,
    LIMIT,
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

NDJSON, JSON = "Content-Type: application/x-ndjson", "Content-Type: application/json"
IMPORT = "/api/categories/import?on_error=skip"
LINE = b'{"name": "Imported", "slug": "imported"}\n'
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


@pytest.fixture(scope="module")
def database_url(request):
    """One database is enough, because these tests end before any row is read."""
    return new_database("sqlite", request)


@pytest.fixture(scope="module")
def app(instance_folder, database_url):
    made = make_app(instance_folder, database_url, import_limit=IMPORT_LIMIT, rate_limits="on")
    yield made
    close(made)


@pytest.fixture
def listener(app, clock):
    with listening(app) as listener:
        yield listener


@pytest.fixture
def address(listener):
    return address_of(listener)


@pytest.fixture
def allowed(as_user):
    """The header of a client who may import, with all units of a minute."""
    return f"Authorization: {as_user('admin').headers['Authorization']}"


def answered(received: bytes) -> tuple[int, dict[str, str], dict]:
    """Returns status, headers (lower case) and JSON of the only answer."""
    head, _, body = received.partition(b"\r\n\r\n")
    line, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return int(line.split()[1]), headers, json.loads(body)


def refused(received: bytes, status: int, code: str) -> dict[str, str]:
    """Checks a problem document that ends its connection. Returns its headers."""
    found, headers, problem = answered(received)
    assert (found, problem["code"], headers["content-type"]) == (status, code, "application/problem+json")
    assert headers["connection"] == "close"
    assert {"x-request-id", "api-version", "x-content-type-options"} <= set(headers)
    return headers


def lines(size: int) -> bytes:
    return LINE + b"\n" * (size - len(LINE))


# What is no import


def test_a_body_over_the_limit_is_refused_by_its_length(address):
    refused(ask(address, post("/api/login", JSON, length=LIMIT + 1)), 413, "body_too_large")


def test_the_pipeline_comes_first_as_with_any_body(address):
    refused(ask(address, post("/api/articles", JSON, length=LIMIT + 1)), 401, "unauthenticated")
    refused(ask(address, post("/api/nothing", JSON, length=LIMIT + 1)), 404, "not_found")


def test_a_client_that_sends_all_before_it_reads_has_its_answer(address):
    with connect(address, post("/api/login", JSON, length=2**24)) as connection:
        for _ in range(2**24 // 2**16):
            connection.sendall(b" " * 2**16)
        refused(read_all(connection), 413, "body_too_large")


def test_chunks_over_the_limit_are_refused_as_soon_as_there_are_too_many(address):
    with connect(address, post("/api/login", JSON)) as connection:
        for _ in range(LIMIT // 2**16 + 1):
            connection.sendall(chunk(b" " * 2**16))
        refused(read_all(connection), 413, "body_too_large")


def test_a_client_that_goes_on_sending_is_closed(address, monkeypatch):
    monkeypatch.setattr(channel, "SWALLOWED", 2**20)
    with connect(address, post("/api/login", JSON, length=2**40)) as connection, pytest.raises(ConnectionError):
        while True:
            connection.sendall(b" " * 2**16)


def test_a_client_that_neither_sends_nor_closes_is_closed(address, listener, clock):
    with connect(address, post("/api/login", JSON, length=2**40)) as connection:
        assert read_all(connection)  # the server has closed its side
        assert listener.active_channels
        clock.forward(listener, channel.LINGER + 1)
        wait_until(lambda: not listener.active_channels)


@pytest.mark.parametrize("body", [{"length": LIMIT + 1}, {"length": 2**40}], ids=str)
def test_a_request_that_would_be_refused_gets_no_100_continue(address, body):
    answer = ask(address, post("/api/login", JSON, "Expect: 100-continue", **body))
    assert CONTINUE not in answer
    refused(answer, 413, "body_too_large")


def test_a_body_within_the_limit_is_asked_for(address):
    sent = post("/api/login", JSON, "Expect: 100-continue", "Connection: close", length=2)
    with connect(address, sent) as connection:
        assert connection.recv(len(CONTINUE), socket.MSG_WAITALL) == CONTINUE
        connection.sendall(b"{}")
        assert answered(read_all(connection))[0] == 400


def test_a_request_that_says_nothing_of_its_body_needs_no_continue(address):
    assert ask(address, get("/api/health/live", "Expect: 100-continue")).startswith(b"HTTP/1.1 200 OK\r\n")


# Imports


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
@pytest.mark.parametrize("prefix", ["/api", "/api/v1"])
def test_an_import_may_be_large(address, allowed, chunked, prefix):
    path, body = IMPORT.replace("/api", prefix), lines(3 * LIMIT)
    sent = chunk(body) + chunk(b"") if chunked else body
    length = None if chunked else len(body)
    status, headers, answer = answered(ask(address, post(path, NDJSON, allowed, "Connection: close", length=length,
                                                         body=sent)))
    assert (status, answer["imported"] + answer["failed"]) == (200, 1)
    assert "ratelimit" in headers


@pytest.mark.parametrize("prefix", ["//api", "http://x//api"])
def test_the_path_is_read_as_the_application_reads_it(address, allowed, prefix):
    size = LIMIT + 1
    status, _, answer = answered(ask(address, post(IMPORT.replace("/api", prefix), NDJSON, allowed, "Connection: close",
                                                   length=size, body=lines(size))))
    assert (status, answer["imported"] + answer["failed"]) == (200, 1)


def test_an_import_over_its_limit_is_refused(address, allowed):
    refused(ask(address, post(IMPORT, NDJSON, allowed, length=IMPORT_LIMIT + 1)), 413, "body_too_large")
    with connect(address, post(IMPORT, NDJSON, allowed)) as connection:
        for _ in range(IMPORT_LIMIT // 2**18 + 1):
            connection.sendall(chunk(b"\n" * 2**18))
        refused(read_all(connection), 413, "body_too_large")


@pytest.mark.parametrize("body", [{"length": 3 * LIMIT}, {}], ids=["length", "chunked"])
def test_an_import_is_refused_by_its_head(address, as_role, body):
    """The client sends no body, and still gets the answer."""
    user = f"Authorization: {as_role('user').headers['Authorization']}"
    refused(ask(address, post(IMPORT, NDJSON, **body)), 401, "unauthenticated")
    refused(ask(address, post(IMPORT, NDJSON, "Authorization: Bearer x", **body)), 401, "invalid_token")
    refused(ask(address, post(IMPORT, NDJSON, user, **body)), 403, "forbidden")
    refused(ask(address, post("/api/nothing/import", NDJSON, user, **body)), 404, "not_found")


def test_a_request_with_a_good_head_gets_100_continue(address, allowed):
    body = lines(2 * LIMIT)
    sent = post(IMPORT, NDJSON, allowed, "Expect: 100-continue", "Connection: close", length=len(body))
    with connect(address, sent) as connection:
        assert connection.recv(len(CONTINUE), socket.MSG_WAITALL) == CONTINUE
        connection.sendall(body)
        assert answered(read_all(connection))[0] == 200
    assert CONTINUE not in ask(address, post(IMPORT, NDJSON, "Expect: 100-continue", length=len(body)))


def test_the_units_of_an_import_are_spent_once(address, as_user):
    caller = as_user("admin")
    allowed = f"Authorization: {caller.headers['Authorization']}"
    left = []
    for size in (LIMIT // 2, 2 * LIMIT):
        headers = answered(ask(address, post(IMPORT, NDJSON, allowed, "Connection: close", length=size,
                                             body=lines(size))))[1]
        left.append(int(headers["ratelimit"].partition("r=")[2].partition(";")[0]))
    assert left[0] - left[1] == 10 + 2 * LIMIT // IMPORT_PIECE


def test_requests_that_follow_an_import_are_answered(address, allowed):
    body = lines(2 * LIMIT)
    answer = ask(address, post(IMPORT, NDJSON, allowed, length=len(body), body=body) + get("/api/health/live"))
    assert answer.count(b"HTTP/1.1 200 OK") == 2


def test_a_body_that_was_not_read_is_never_taken_for_an_empty_one(address, allowed, monkeypatch):
    """Covers a request that is an import for the application, but not for the server."""
    monkeypatch.setattr(waitress_bodies, "_LARGER", re.compile("/never"))
    refused(ask(address, post(IMPORT, NDJSON, allowed, length=2 * LIMIT)), 413, "body_too_large")


# How much at a time


def begun(address, allowed, *headers: str) -> socket.socket:
    """A connection with an accepted import whose body does not come."""
    connection = connect(address, post(IMPORT, NDJSON, allowed, "Expect: 100-continue", *headers, length=2 * LIMIT))
    assert connection.recv(len(CONTINUE), socket.MSG_WAITALL) == CONTINUE
    return connection


def test_an_address_sends_two_large_bodies_at_a_time(address, allowed):
    with ExitStack() as others:
        first, _ = (others.enter_context(begun(address, allowed)) for _ in range(2))
        headers = refused(ask(address, post(IMPORT, NDJSON, allowed, length=2 * LIMIT)), 503, "overloaded")
        assert int(headers["retry-after"]) > 0
        first.sendall(lines(2 * LIMIT))
        assert first.recv(65536)
        with begun(address, allowed):
            pass


def test_a_large_body_that_was_read_is_not_refused_by_the_application(app, address, allowed, monkeypatch):
    """The server has already counted the body for its address."""
    monkeypatch.setattr(app.extensions["gatepost"], "large_bodies", ConcurrencyLimit(0))
    body = lines(2 * LIMIT)
    sent = post(IMPORT, NDJSON, allowed, "Connection: close", length=len(body), body=body)
    assert answered(ask(address, sent))[0] == 200


def test_a_connection_that_breaks_off_counts_no_more(address, allowed, listener):
    for _ in range(3):
        with ExitStack() as both:
            for _ in range(2):
                both.enter_context(begun(address, allowed)).sendall(lines(LIMIT))
        wait_until(lambda: not listener.active_channels)


def test_behind_a_proxy_it_is_the_clients_address_that_counts(app, allowed):
    with listening(app, trusted_proxies=1) as listener, ExitStack() as others:
        address = address_of(listener)
        for _ in range(2):
            others.enter_context(begun(address, allowed, "X-Forwarded-For: 198.51.100.7, 192.0.2.1"))
        third = post(IMPORT, NDJSON, allowed, "X-Forwarded-For: 192.0.2.1", length=2 * LIMIT)
        refused(ask(address, third), 503, "overloaded")
        others.enter_context(begun(address, allowed, "X-Forwarded-For: 192.0.2.1, 198.51.100.7"))


def test_what_waits_for_a_handler_is_bounded_and_small_bodies_come_through(address, allowed, listener, monkeypatch):
    monkeypatch.setattr(waitress_bodies, "TOTAL", LIMIT)
    with begun(address, allowed) as first:
        first.sendall(lines(LIMIT))
        wait_until(lambda: listener.bodies.held == LIMIT - waitress_bodies.FREE)
        with connect(address, post("/api/login", JSON, length=LIMIT) + b" " * (LIMIT // 2)) as second:
            assert int(refused(read_all(second), 503, "overloaded")["retry-after"]) > 0
        small = post("/api/login", JSON, "Connection: close", length=2, body=b"{}")
        assert answered(ask(address, small))[0] == 400
        assert listener.bodies.held == LIMIT - waitress_bodies.FREE
    wait_until(lambda: listener.bodies.held == 0)


def test_an_address_holds_no_more_than_its_share(monkeypatch):
    bodies = waitress_bodies.BodyBudget(limit=LIMIT, import_limit=IMPORT_LIMIT)
    assert bodies.acquire("192.0.2.1", waitress_bodies.SHARE)
    assert not bodies.acquire("192.0.2.1", 1)
    assert bodies.acquire("192.0.2.2", 1)
    assert bodies.address({}, "2001:db8::1") == bodies.address({}, "2001:db8::2") == "2001:db8::/64"


# As an operator sees it


def test_an_import_is_counted_and_logged_once_also_where_its_head_is_refused(instance_folder, database_url, caplog):
    app = make_app(instance_folder, database_url, import_limit=IMPORT_LIMIT, log_requests="on", metrics_token="m" * 20)
    try:
        allowed = f"Authorization: {log_in(app, 'admin').headers['Authorization']}"
        with listening(app) as listener, caplog.at_level(logging.INFO, "gatepost.request"):
            for header, status in ((allowed, 200), ("Authorization: Bearer x", 401)):
                sent = post(IMPORT, NDJSON, header, "Connection: close", length=2 * LIMIT, body=lines(2 * LIMIT))
                assert answered(ask(address_of(listener), sent))[0] == status
        assert [record.fields["status"] for record in caplog.records if record.name == "gatepost.request"] == [200, 401]
        text = app.extensions["gatepost"].metrics.text()[0].decode()
        assert [line.rpartition(" ")[2] for line in text.splitlines()
                if line.startswith("gatepost_requests_total{") and "import" in line] == ["1.0", "1.0"]
    finally:
        close(app)


def listens(host: str, port: int) -> bool:
    with socket.socket() as another:
        return another.connect_ex((host, port)) == 0


@pytest.mark.slow
def test_a_stop_waits_for_an_import_whose_head_was_found_good(tmp_path):
    instance = Instance(tmp_path / "instance").made()
    with instance.served() as service:
        where = urlsplit(service.url)
        with begun((where.hostname, where.port), f"Authorization: Bearer {service.log_in()}") as connection:
            connection.sendall(lines(LIMIT))
            service.process.send_signal(signal.SIGTERM)
            wait_until(lambda: not listens(where.hostname, where.port))
            time.sleep(1)  # idle connections are closed during this time
            connection.sendall(b"\n" * LIMIT)
            assert answered(read_all(connection))[0] == 200
        assert service.process.wait(PATIENCE) == 0
