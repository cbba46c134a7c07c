"""The parser of waitress: it reads the same messages as before, in linear time, and refuses ambiguous framing."""

from __future__ import annotations

import importlib.util
import random
import re
import subprocess
import sys
from types import ModuleType

import pytest
import waitress.parser
from waitress.adjustments import Adjustments
from waitress.buffers import OverflowableBuffer
from waitress.receiver import ChunkedReceiver

from gatepost.servers.waitress.parser import CHUNK_LINE, FRAMING, HEADERS, MOST_HEADERS, Chunks, Parser
from tests.running import ROOT

HANG = 60  # seconds: now it takes less than one; before, it took an hour

def as_shipped() -> ModuleType:
    """Waitress's own parser, with its original patterns."""
    spec = importlib.util.spec_from_file_location("shipped", waitress.parser.__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PARSE = """
from tests.servers.waitress.test_parser import LONG_HEADS, parsed
for name, head in LONG_HEADS.items():
    print(name, flush=True)
    for _ in range(300):
        assert parsed(head).completed
"""
LONG_HEADS = {
    "blanks": b"GET / HTTP/1.1\r\nX:" + b" " * 63_000 + b"x\r\n\r\n",
    "tabs": b"GET / HTTP/1.1\r\nX:" + b"\t" * 63_000 + b"\0\r\n\r\n",
    "blanks within": b"GET / HTTP/1.1\r\nX: a" + b" " * 63_000 + b"\0\r\n\r\n",
    "many headers of blanks": b"GET / HTTP/1.1\r\n" + 15 * (b"X:" + b" \t" * 2000 + b"x\r\n") + b"\r\n",
    "request line": b"GET a://" + b"1" * 60_000 + b" HTTP/9.99\r\n\r\n",
}


def parsed(head: bytes) -> Parser:
    parser = Parser(Adjustments(max_request_header_size=HEADERS))
    parser.received(head)
    return parser


def found(match: re.Match[bytes] | None) -> dict[str, bytes] | None:
    return None if match is None else {name: (value or b"").strip(b" \t") for name, value in match.groupdict().items()}


def test_headers_and_request_lines_are_read_as_by_waitress():
    shipped, drawn = as_shipped(), random.Random(17)
    assert shipped.HEADER_FIELD_RE is not waitress.parser.HEADER_FIELD_RE
    parts = [bytes([code]) for code in b" \t:aB-1\x7f\x80\xff\0\n\r/?#.H"] + [b"a://", b" HTTP/1.1", b"GET "]
    matched = 0
    for _ in range(60_000):
        line = b"".join(drawn.choices(parts, k=drawn.randrange(12)))
        header = found(waitress.parser.HEADER_FIELD_RE.match(line))
        request = found(waitress.parser.first_line_re.fullmatch(line))
        assert header == found(shipped.HEADER_FIELD_RE.match(line)), line
        assert request == found(shipped.first_line_re.fullmatch(line)), line
        matched += (header is not None) + (request is not None)
    assert matched > 500


@pytest.mark.slow
def test_no_head_takes_quadratic_time():
    """Runs a separate process, which can be stopped. It parses each head 300 times."""
    subprocess.run([sys.executable, "-c", PARSE], cwd=ROOT, timeout=HANG, check=True, stdout=subprocess.PIPE)


@pytest.mark.parametrize("blank", [b" ", b"\t"])
def test_a_header_that_goes_on_in_the_next_line_is_refused(blank):
    parser = parsed(b"GET / HTTP/1.1\r\nHost: x\r\nX: a\r\n" + blank + b"b\r\n\r\n")
    assert (parser.completed, parser.error.code) == (True, 400)


@pytest.mark.parametrize(("headers", "status"), [(MOST_HEADERS, None), (MOST_HEADERS + 1, 431)])
def test_a_request_has_a_most_number_of_headers(headers, status):
    parser = parsed(b"GET / HTTP/1.0\r\n" + b"a:b\r\n" * headers + b"\r\n")
    assert parser.completed
    assert (parser.error and parser.error.code) == status


@pytest.mark.parametrize("head", [b"GET http://[x/ HTTP/1.1\r\n\r\n",
                                  b"POST / HTTP/1.1\r\nContent-Length: " + b"1" * 5000 + b"\r\n\r\n"],
                         ids=["host", "length"])
def test_what_python_cannot_convert_is_the_clients_error(head):
    assert parsed(head).error.code == 400


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def received(sent: bytes, size: int) -> tuple[bytes, bool, str | None, int]:
    """Feeds `size` bytes at a time. Returns the body, True if it is complete, its error, and its number of bytes."""
    chunks, taken = Chunks(OverflowableBuffer(2**20)), 0
    for start in range(0, len(sent), size):
        if not chunks.completed:
            taken += chunks.received(sent[start:start + size])
    return chunks.getfile().read(), chunks.completed, chunks.error and chunks.error.body, taken


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8192])
def test_chunks_are_put_together_however_they_arrive(size):
    body = chunk(b"hello ") + b"5;name=value\r\nworld\r\n" + b"0\r\nTrailer: x\r\n\r\n"
    assert received(body + b"GET /", size)[:3] == (b"hello world", True, None)
    assert received(body + b"GET /", size)[3] == len(body)


def test_chunks_are_cut_as_by_waitress():
    drawn = random.Random(17)
    for _ in range(2000):
        body = b"".join(chunk(b"x" * drawn.randrange(1, 40)) for _ in range(drawn.randrange(4))) + b"0\r\n\r\n"
        shipped = ChunkedReceiver(OverflowableBuffer(2**20))
        assert received(body + b"GET /", 8192)[3] == shipped.received(body + b"GET /") == len(body)
        assert received(body, drawn.randrange(1, 9))[0] == shipped.getfile().read()


@pytest.mark.parametrize("size", [1, 8192])
@pytest.mark.parametrize(("line", "wrong"), [
    (CHUNK_LINE, None), (CHUNK_LINE + 1, "The line before a chunk is too long")])
def test_the_line_before_a_chunk_has_a_greatest_length(size, line, wrong):
    sent = b"1;" + b"x" * (line - 4) + b"\r\n"
    assert received(sent + b"x\r\n0\r\n\r\n", size)[2] == wrong


def test_a_line_without_end_is_refused_before_it_is_kept():
    chunks = Chunks(OverflowableBuffer(2**20))
    assert chunks.received(b"0" * 8192) == 8192
    assert (chunks.completed, chunks.error.code) == (True, 400)


def test_trailers_have_a_greatest_size():
    trailer = b"X: " + b"x" * 95 + b"\r\n"
    assert received(b"0\r\n" + trailer * (HEADERS // 100) + b"\r\n", 8192)[2] is None
    assert received(b"0\r\n" + trailer * (HEADERS // 100 + 1) + b"\r\n", 8192)[2] == "The trailers are too long"


@pytest.mark.parametrize("size", [7, 8192])
def test_chunks_that_have_too_much_framing_are_refused(size):
    assert received(chunk(b"x") * (FRAMING // 6) + b"0\r\n\r\n", size)[2] is None
    assert received(chunk(b"x") * FRAMING, size)[2] == "The chunks are too small"
    assert received(chunk(b"x" * 16) * FRAMING, size)[2] == "The chunks are too small"


def test_a_client_that_sends_line_by_line_is_read():
    sent = chunk(b"x" * 24) * (2**20 // 24) + b"0\r\n\r\n"
    body, completed, wrong, _ = received(sent, 8192)
    assert (len(body), completed, wrong) == (2**20 // 24 * 24, True, None)


@pytest.mark.parametrize("sent", [b"\r\n", b"5\nhello\r\n", b"5\r\nhello!\r\n", b"-1\r\n", b"0x5\r\n", b"5 \r\n",
                                  b"g\r\n", b"5;=\r\n", b"0\r\nX: y\n\r\n"], ids=repr)
def test_chunks_that_could_be_read_in_two_ways_are_refused(sent):
    assert received(sent, 8192)[2] is not None
