"""Requests that violate HTTP, as bytes, to both servers.

Each is answered as docs/running/broken-requests.md says. Bytes after a refused request are never read as a request.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from tests.apps import close, make_app
from tests.databases import new_database
from tests.incidents.load import SERVERS
from tests.running import ROOT, Instance
from tests.servers.waitress.connections import address_of, listening, standing_clock

HOST, LINE = "Host: x", "GET /api/health/live HTTP/1.1"
LOGIN = "POST /api/login HTTP/1.1"
BODY = '{"email": "x@example.org", "password": "y"}'
CHUNKED, LENGTH = "Transfer-Encoding: chunked", f"Content-Length: {len(BODY)}"
BEHIND = b"GET /api/behind HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


def head(*lines: str) -> str:
    return "\r\n".join((*lines, "", ""))


def get(*headers: str) -> str:
    return head(LINE, HOST, *headers)


def target(text: str) -> str:
    return head(f"GET {text} HTTP/1.1", HOST)


def post(*headers: str, body: str = BODY) -> str:
    return head(LOGIN, HOST, "Content-Type: application/json", *headers) + body


def chunks(size: str = f"{len(BODY):x}\r\n", end: str = "\r\n", last: str = "0\r\n", trailers: str = "\r\n") -> str:
    return post(CHUNKED, body=size + BODY + end + last + trailers)


# By the first column of the table in docs/running/broken-requests.md.
REQUESTS = {
    "no `Host`, two of them, or one that is no name or address": [
        head(LINE), get(HOST), get("Host: y"), *(head(LINE, f"Host:{host}") for host in (
            "", " ", " a@b", " a/b", " a b", " a, b", " a:b", " [::1", " ::1", " \xff", " a:123456"))],
    "`Expect` other than `100-continue`": [
        post("Expect: more", LENGTH), post("Expect: 100-continue, more", LENGTH), get("Expect: 200-ok")],
    "HTTP/0.9, or a version other than 1.0 and 1.1": [
        "GET /api/health/live\r\n\r\n", *(get().replace("HTTP/1.1", version) for version in (
            "HTTP/0.9", "HTTP/1.2", "HTTP/2.0", "HTTP/1.10", "HTTP/3", "http/1.1", "HTTP/1.1 x"))],
    "a method that is not all capitals": [
        get().replace("GET", "get"), get().replace("GET", "Get"), post(LENGTH).replace("POST", "post")],
    "a target that is neither a path nor a URL, or has control or non-ASCII characters": [
        *map(target, ("x:80", "api/health/live", "", "/a b", "/a\0", "/a\x01", "/a\x7f", "/\xff")),
        head("CONNECT x:80 HTTP/1.1", HOST), get().replace("GET ", "GET\t")],
    "a URL with another scheme, or a URL and no `Host` header": [
        target("ftp://x/api/health/live"), head("GET http://x/api/health/live HTTP/1.1")],
    "a transfer coding other than `chunked`, or `chunked` twice": [
        *(chunks().replace(CHUNKED, f"Transfer-Encoding:{coding}") for coding in (
            " gzip", " gzip, chunked", " chunked, gzip", " identity", " chunked, identity", " xchunked", "",
            " chunked, chunked", ' "chunked"', " chunked;a=b", " \x0bchunked")),
        chunks().replace(CHUNKED, f"{CHUNKED}\r\n{CHUNKED}"), chunks().replace("HTTP/1.1", "HTTP/1.0")],
    "`Transfer-Encoding` together with `Content-Length`": [
        chunks().replace(CHUNKED, f"{CHUNKED}\r\n{LENGTH}"), chunks().replace(CHUNKED, f"{LENGTH}\r\n{CHUNKED}")],
    "two different lengths, or a length that is no number": [
        post(LENGTH, "Content-Length: 42"), *(post(f"Content-Length:{length}") for length in (
            " 43, 43", " +43", " -1", " 0x2b", " 4_3", " 4e1", "", " x"))],
    "the same length twice": [post(LENGTH, LENGTH)],
    "a folded header, a space before the colon, an invalid name or value": [
        *(get(line) for line in ("A: b\r\n c", "A: b\r\n\tc", "A : b", ": b", "broken", "A(b): c", "\xe4: c", "A\0: c",
                                 "A: b\0c", "A: b\x01c", "A: b\x7fc", "A: b\rc", "\rA: b")),
        head(LINE, " Host: x"), chunks().replace(CHUNKED, "Transfer-Encoding : chunked")],
    "header lines that end in LF alone": [
        get().replace("\r\n", "\n"), get("A: b").replace("x\r\n", "x\n"), get().replace("1.1\r\n", "1.1\n"),
        head(LINE, HOST).removesuffix("\r\n") + "\n"],
    "a chunk without a valid size, or with a size line that ends in LF or CR alone": [
        *(chunks(size) for size in ("2b\n", "2b\r", "0x2b\r\n", "-1\r\n", "\r\n", "zz\r\n", "2b;a\nb\r\n",
                                    "2b;a\rb\r\n", "f" * 17 + "\r\n"))],
    "a chunk that is longer or shorter than its size, or ends in LF alone": [chunks(end="\n"), chunks(end="xx\r\n")],
    "an invalid trailer": [chunks(trailers="broken\r\n\r\n"), chunks(trailers="X: \0\r\n\r\n")],
    "a space after a chunk size, an invalid chunk extension": [chunks("2b \r\n"), chunks("2b;=\r\n")],
    "chunk extensions, trailers": [
        chunks("2b;a=b\r\n"), chunks('2b;a="b;c"\r\n'), chunks(trailers="X: y\r\n\r\n"),
        chunks(trailers="Content-Length: 5\r\nAuthorization: Bearer x\r\n\r\n")],
    "a URL as target, `*`": [target("http://x/api/health/live"), target("*"), head("OPTIONS * HTTP/1.1", HOST)],
}


@pytest.fixture(scope="module")
def database_url(request: pytest.FixtureRequest) -> str:
    """One database is enough, because these tests are about the server."""
    return new_database("sqlite", request)


@pytest.fixture(scope="module", params=["waitress", pytest.param("granian", marks=pytest.mark.slow)])
def server(request: pytest.FixtureRequest) -> str:
    return request.param


@contextmanager
def waitress(request: pytest.FixtureRequest) -> Iterator[tuple[str, int]]:
    """The address of waitress in this process."""
    app = make_app(request.getfixturevalue("instance_folder"), request.getfixturevalue("database_url"))
    with standing_clock(), listening(app) as listener:
        yield address_of(listener)
    close(app)


@contextmanager
def granian(request: pytest.FixtureRequest) -> Iterator[tuple[str, int]]:
    """The address of granian in a separate process, because it cannot run in the process of a test."""
    folder = request.getfixturevalue("tmp_path_factory").mktemp("grammar") / "instance"
    with Instance(folder, {"GATEPOST_RATE_LIMITS": "off"}).made().served(*SERVERS["granian"]) as service:
        host, _, port = service.url.removeprefix("http://").partition(":")
        yield host, int(port)


@pytest.fixture(scope="module")
def address(request: pytest.FixtureRequest, server: str) -> Iterator[tuple[str, int]]:
    with waitress(request) if server == "waitress" else granian(request) as address:
        yield address


def answers(address: tuple[str, int], message: bytes) -> list[tuple[int, bytes]]:
    """Returns status and rest of each answer to these bytes, until the server closes the connection."""
    received = b""
    with socket.create_connection(address, timeout=60) as connection, suppress(ConnectionError):
        connection.sendall(message)
        while chunk := connection.recv(65536):
            received += chunk
    parts = re.split(rb"HTTP/1\.[01] (\d{3}) ", received)
    return list(zip(map(int, parts[1::2]), parts[2::2], strict=True))


def promised() -> dict[str, dict[str, str]]:
    """Returns the answer of each server that the document promises, by the first column of its table."""
    text = (ROOT / "docs/running/broken-requests.md").read_text("utf-8")
    rows = re.findall(r"^\| (.+) \| ([\w ]+) \| ([\w ]+) \|$", text, re.M)
    return {name: {"waitress": first, "granian": second} for name, first, second in rows[1:]}


def test_the_document_has_a_row_for_each_kind_of_request():
    assert list(promised()) == list(REQUESTS)


@pytest.mark.parametrize("kind", REQUESTS)
def test_a_broken_request_is_answered_as_the_document_says(address, server, kind):
    expected = promised()[kind][server]
    for message in REQUESTS[kind]:
        found = answers(address, message.encode("latin-1") + BEHIND)
        statuses = [status for status, _ in found]
        if expected == "accepted":
            assert len(found) == 2 and statuses[0] in (200, 401, 404) and statuses[1] == 404, (message, found)
            continue
        assert len(found) == 1, (message, found)
        assert b"/api/behind" not in found[0][1] or b"Bare CR or LF" in found[0][1]
        assert b"Traceback" not in found[0][1]
        if expected == "closed after it":
            assert statuses[0] in (400, 401), (message, found)
        else:
            assert statuses == [int(expected)], (message, found)


@pytest.mark.parametrize("message", [
    head(LINE, "Host: a_b.example:80"), head(LINE, "Host: [::1]:80"), head(LINE, "Host: 127.0.0.1:"),
    head("GET /api/health/live HTTP/1.0", "Connection: keep-alive"), post("Expect: 100-Continue", LENGTH), chunks(),
    chunks().replace("chunked", "CHUNKED"), "\r\n" + get()], ids=repr)
def test_what_is_allowed_is_taken(address, message):
    found = answers(address, message.encode() + BEHIND)
    assert [status for status, _ in found if status != 100] in ([200, 404], [401, 404]), found
