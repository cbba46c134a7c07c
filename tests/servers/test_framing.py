"""Messages as bytes on a connection to waitress and the real application, which a test client cannot send."""

from __future__ import annotations

import json
import socket

import pytest

from tests.apps import close, make_app
from tests.databases import new_database
from tests.servers.waitress.connections import PATIENCE, address_of, listening, standing_clock

LIMIT = 2**20  # bytes of a body


@pytest.fixture(scope="module")
def database_url(request):
    """One database is enough, because these tests are about the server."""
    return new_database("sqlite", request)


@pytest.fixture(scope="module")
def address(instance_folder, database_url):
    app = make_app(instance_folder, database_url)
    with standing_clock(), listening(app) as listener:
        yield address_of(listener)
    close(app)


def send(address, *parts: bytes) -> tuple[int, dict[str, str], bytes]:
    """Returns status, headers (lower case) and body of the answer to these bytes. Expects a closed connection."""
    with socket.create_connection(address, timeout=PATIENCE) as connection:
        try:
            for part in parts:
                connection.sendall(part)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the server may answer, and close, before it has read everything
        received = b""
        try:
            while chunk := connection.recv(65536):
                received += chunk
        except ConnectionResetError:
            pass
    head, _, body = received.partition(b"\r\n\r\n")
    line, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return int(line.split(" ")[1]), headers, body


def request(line: str, *headers: str, body: bytes = b"") -> bytes:
    return "\r\n".join([f"{line} HTTP/1.1", "Host: x", "Connection: close", *headers, "", ""]).encode("latin-1") + body


def problem(answer, status: int, code: str) -> None:
    assert (answer[0], answer[1]["content-type"]) == (status, "application/problem+json"), answer
    assert json.loads(answer[2])["code"] == code
    assert answer[1]["x-request-id"] == json.loads(answer[2])["request_id"]


def login(*headers: str, body: bytes = b"") -> bytes:
    return request("POST /api/login", "Content-Type: application/json", *headers, body=body)


def chunked(*chunks: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"


BODY = b'{"email": "x@example.org", "password": "y"}'


def test_a_body_may_come_in_chunks(address):
    answer = send(address, login("Transfer-Encoding: chunked", body=chunked(BODY[:5], BODY[5:])))
    problem(answer, 401, "invalid_credentials")


def test_a_body_over_the_limit_is_a_problem_document_by_length(address):
    answer = send(address, login(f"Content-Length: {LIMIT + 1}", body=b" " * (LIMIT + 1)))
    problem(answer, 413, "body_too_large")


def test_a_body_over_the_limit_is_a_problem_document_in_chunks(address):
    answer = send(address, login("Transfer-Encoding: chunked", body=chunked(*[b" " * 65536] * 17)))
    problem(answer, 413, "body_too_large")


@pytest.mark.parametrize("headers", [
    ("Content-Length: 99999999999999999999999",), ("Content-Length: -1",), ("Content-Length: x",),
    ("Content-Length: 1e3",), ("Content-Length: 5, 6",), ("Content-Length: +5",),
    ("Content-Length: 43", "Transfer-Encoding: chunked"), ("Transfer-Encoding: chunked, chunked",),
    ("Transfer-Encoding: gzip, chunked",), ("Transfer-Encoding: xchunked",),
    ("Transfer-Encoding: chunked", "Transfer-Encoding: identity"), ("Transfer-Encoding : chunked",),
], ids="; ".join)
def test_a_length_that_is_not_one_is_refused(address, headers):
    status, found, body = send(address, login(*headers, body=BODY))
    assert status in (400, 413)
    assert "html" not in found.get("content-type", "")
    assert b"Traceback" not in body


@pytest.mark.parametrize("chunks", [b"zz\r\nx\r\n0\r\n\r\n", b"-1\r\nx\r\n0\r\n\r\n", b"5\r\nabc\r\n0\r\n\r\n",
                                    b"0x5\r\nhello\r\n0\r\n\r\n"])
def test_chunks_that_are_not_chunks_are_refused(address, chunks):
    status, headers, _ = send(address, login("Transfer-Encoding: chunked", body=chunks))
    assert status in (400, 413)
    assert "html" not in headers.get("content-type", "")


@pytest.mark.parametrize("raw", [
    b"NONSENSE\r\n\r\n", b"GET\r\n\r\n", b"GET /api/health HTTP/9.9\r\n\r\n", b"GET  /api/health HTTP/1.1\r\n\r\n",
    b"get /api/health HTTP/1.1\r\n\r\n", b"GET /api/health HTTP/1.1\r\nBroken\r\n\r\n",
    b"GET /api/health HTTP/1.1\r\nA: b\r\n c\r\n\r\n", b"GET /api/health HTTP/1.1\r\nA\x00: b\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
], ids=repr)
def test_what_is_hardly_http_gets_a_client_error_or_none(address, raw):
    try:
        status, headers, body = send(address, raw)
    except IndexError:
        return  # closed without a word
    assert status < 500
    assert "html" not in headers.get("content-type", "")
    assert b"Traceback" not in body


@pytest.mark.parametrize("target", ["/api/articles?\xff=1", "/api/articles/\xff"])
def test_a_target_that_is_not_ascii_is_refused_by_the_server(address, target):
    status, headers, _ = send(address, request(f"GET {target}"))
    assert (status, headers["content-type"]) == (400, "text/plain; charset=utf-8")


def test_two_credentials_are_none(address):
    answer = send(address, request("GET /api/articles", "Authorization: Bearer a", "Authorization: Bearer b"))
    problem(answer, 401, "invalid_token")
    assert answer[1]["www-authenticate"] == 'Bearer error="invalid_token"'


def test_headers_that_are_too_large_are_refused_by_the_server(address):
    assert send(address, request("GET /api/articles", "X-Large: " + "x" * 70_000))[0] == 431


@pytest.mark.parametrize(("target", "status"), [
    ("/api/articles/%00", 400), ("/api/articles/%ff", 400), ("/api/articles/%zz", 400), ("/api/articles/%", 400),
    ("/api/articles?status=%ff", 400), ("/api/articles?status=%zz", 400),
    ("/%c3%28", 404), ("//api//articles", 404), ("/api/./articles", 404),
    ("/api/v1/articles", 200), ("/api/articles?title=" + "x" * 20_000, 414), ("/" + "%41" * 10_000, 404),
    ("*", 404), ("http://evil.example/api/articles", 200), ("/api/articles#fragment", 200), ("/api/articles;a=b", 404),
], ids=lambda value: str(value)[:40])
def test_targets_as_they_are_written(address, target, status):
    answer = send(address, request(f"GET {target}"))
    assert answer[0] == status, answer
    assert "html" not in answer[1]["content-type"]
    if status >= 400:
        assert answer[1]["content-type"] == "application/problem+json"


def test_head_has_the_headers_of_get_and_no_body(address):
    get, head = (send(address, request(f"{method} /api/articles")) for method in ("GET", "HEAD"))
    assert head[2] == b""
    assert {name: value for name, value in head[1].items() if name not in ("x-request-id", "date")} == {
        name: value for name, value in get[1].items() if name not in ("x-request-id", "date")}


def test_a_second_request_on_the_connection_is_answered_after_a_refused_one(address):
    both = request("GET /api/nope").replace(b"Connection: close\r\n", b"") + request("GET /api/health/live")
    with socket.create_connection(address, timeout=PATIENCE) as connection:
        connection.sendall(both)
        received = b""
        while chunk := connection.recv(65536):
            received += chunk
    assert received.count(b"HTTP/1.1 ") == 2
    assert b"HTTP/1.1 404" in received
    assert b"HTTP/1.1 200" in received


# Answers without a body


def kept(line: str, *headers: str) -> bytes:
    return request(line, *headers).replace(b"Connection: close\r\n", b"")


def answers(address, *sent: bytes) -> list[tuple[bytes, bytes]]:
    """Returns head and body of each answer on one connection. The last request asks to close it."""
    with socket.create_connection(address, timeout=PATIENCE) as connection:
        connection.sendall(b"".join(sent))
        received = b""
        while chunk := connection.recv(65536):
            received += chunk
    parts = [b"HTTP/1.1 " + part for part in received.split(b"HTTP/1.1 ")]
    assert parts[0] == b"HTTP/1.1 "
    return [(head, body) for head, _, body in (part.partition(b"\r\n\r\n") for part in parts[1:])]


LAST = request("GET /api/health/live")


@pytest.mark.parametrize(("sent", "status"), [
    (kept("GET /api/articles", "If-None-Match: *"), b"304"), (kept("HEAD /api/articles", "If-None-Match: *"), b"304"),
    (kept("OPTIONS /api/articles"), b"204"), (kept("HEAD /api/articles"), b"200"), (kept("HEAD /api/nope"), b"404"),
    (kept("GET /api/articles", "If-None-Match: *", "Connection: keep-alive, TE"), b"304"),
], ids=["304", "304 to HEAD", "204", "HEAD", "HEAD of a problem", "keep-alive"])
def test_an_answer_without_a_body_ends_with_its_head_and_keeps_the_connection(address, sent, status):
    check_kept(address, sent, status)


@pytest.mark.parametrize("coding", ["identity", "gzip"])
def test_a_head_of_a_stream_ends_with_its_head_and_keeps_the_connection(address, as_role, coding):
    token = f"Authorization: {as_role('editor').headers['Authorization']}"
    check_kept(address, kept("HEAD /api/articles/export", token, f"Accept-Encoding: {coding}"), b"200")


def check_kept(address, sent, status):
    found = answers(address, *5 * [sent], LAST)
    assert [(head[9:12], body) for head, body in found[:-1]] == 5 * [(status, b"")]
    assert found[-1][0].startswith(b"HTTP/1.1 200")
    for head, _ in found[:-1]:
        assert b"connection: close" not in head.lower()
        if status in (b"204", b"304"):  # RFC 9112 section 6.1
            assert b"transfer-encoding" not in head.lower()


@pytest.mark.parametrize("connection", ["close", "Close", "close, TE", ", close", "TE,close,"])
@pytest.mark.parametrize("line", ["GET /api/articles", "HEAD /api/articles/export", "GET /api/health/live"])
def test_a_client_that_asks_to_close_the_connection_is_heard_in_a_list_too(address, line, connection):
    sent = request(line, "If-None-Match: *").replace(b"Connection: close", f"Connection: {connection}".encode())
    [(head, _)] = answers(address, sent)
    assert b"\r\nConnection: close" in head


def test_http_1_0_closes_after_an_answer_without_a_body(address):
    sent = b"GET /api/articles HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\nIf-None-Match: *\r\n\r\n"
    status, headers, body = send(address, sent)
    assert (status, headers["connection"], body) == (304, "close", b"")
