"""Interrupted imports, to both servers: none of their rows is stored, and no client gets a success."""

from __future__ import annotations

import json
import socket
from urllib.parse import urlsplit

import pytest

from tests.incidents.load import SERVERS
from tests.running import Instance

pytestmark = pytest.mark.slow

TYPES = {"application/x-ndjson": b"".join(b'{"title": "t", "slug": "cut-%d", "body": "b"}\n' % n for n in range(3)),
         "text/csv": b"title,slug,body\r\nt,cut-4,b\r\nt,cut-5,b\r\n"}
CHUNKED, LAST = "Transfer-Encoding: chunked", b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


CUT = {
    "no last chunk": lambda body: (CHUNKED, chunk(body)),
    "no end of a chunk": lambda body: (CHUNKED, chunk(body)[:-2]),
    "half a chunk": lambda body: (CHUNKED, chunk(body) + b"5\r\nab"),
    "a chunk that is none": lambda body: (CHUNKED, chunk(body) + b"zz\r\nab\r\n" + LAST),
    "shorter than announced": lambda body: (f"Content-Length: {len(body) + 1}", body),
}


@pytest.fixture(scope="module")
def instance(tmp_path_factory) -> Instance:
    """One database is enough, because these tests are about the server."""
    return Instance(tmp_path_factory.mktemp("made") / "instance", {"GATEPOST_RATE_LIMITS": "off"}).made()


def send(service, token: str | None, measured: str, body: bytes, *, media_type: str = "application/x-ndjson",
         ends: bool = False) -> tuple[int, bytes]:
    """Returns status and body of the answer to an import; (0, b"") for none. `ends`: the client closes its side."""
    where, received = urlsplit(service.url), b""
    head = ["POST /api/articles/import HTTP/1.1", "Host: x", "Connection: close", measured,
            f"Content-Type: {media_type}", *([f"Authorization: Bearer {token}"] if token else [])]
    with socket.create_connection((where.hostname, where.port), timeout=60) as connection:
        connection.sendall("\r\n".join([*head, "", ""]).encode() + body)
        if ends:
            connection.shutdown(socket.SHUT_WR)
        while read := connection.recv(65536):
            received += read
    top, _, document = received.partition(b"\r\n\r\n")
    return (int(top.split()[1]), document) if top else (0, b"")


@pytest.mark.parametrize("server", SERVERS)
def test_an_import_that_is_cut_off_stores_nothing_and_chunks_are_taken_where_a_cut_can_be_told_from_their_end(
        instance, server):
    line = b'{"title": "t", "slug": "whole-%s", "body": "b"}\n' % server.encode()
    with instance.served(*SERVERS[server]) as service:
        token = service.log_in()
        for media_type, body in TYPES.items():
            for name, cut in CUT.items():
                status, _ = send(service, token, *cut(body), media_type=media_type, ends=True)
                assert status in (0, 400), name
        status, document = send(service, token, CHUNKED, chunk(line) + LAST)
        stranger, _ = send(service, None, CHUNKED, chunk(line) + LAST)
    assert stranger == 401  # before any header about the body
    exported = instance.run("export", "articles").stdout  # the server has finished the request
    assert "cut-" not in exported
    answer, stored = json.loads(document), f"whole-{server}" in exported
    if server == "waitress":
        assert (status, answer["imported"], stored) == (200, 1, True)
    else:
        assert (status, answer["code"], answer["errors"][0]["header"]) == (400, "invalid_header", "Content-Length")
        assert not stored
