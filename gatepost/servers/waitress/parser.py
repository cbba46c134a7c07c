"""Parser of messages for waitress: takes linear time, and refuses ambiguous messages.

A message is ambiguous if two servers could read it differently. Waitress parses in the one thread that serves all
connections: slow parsing there stops the service.
"""

from __future__ import annotations

import re
from typing import Any, BinaryIO

from waitress import parser
from waitress.buffers import OverflowableBuffer
from waitress.parser import HTTPRequestParser, ParsingError, TransferEncodingNotImplemented
from waitress.rfc7230 import CHUNK_EXT_RE, FIELD_VCHAR, ONLY_HEXDIG_RE, TCHAR
from waitress.utilities import BadRequest, RequestHeaderFieldsTooLarge

from ..grammar import refusal

HEADERS = 65_536  # bytes of a request's line and headers; as many for its trailers
MOST_HEADERS = 100  # as many as granian takes
CHUNK_LINE = 256  # bytes that say how long a chunk is
LARGEST_CHUNK = 2**64  # bytes; no other server accepts more
FRAMING = 32_768  # bytes around the chunks of a body, beside a quarter of what the body has: chunks of 24 bytes pass

REQUEST_LINE = re.compile(rf"({TCHAR}++) ([!-~]++) HTTP/1\.([01])\r\n".encode())
_URL = re.compile(r"https?://[^/?#]", re.IGNORECASE)
# The language of waitress's own pattern, without its backtracking: blanks before a value took quadratic time (63 kB:
# 21 s). So did a request line that ends wrongly after `a://` (16 kB: 18 s), which `REQUEST_LINE` refuses before.
_BLANKS, _VISIBLE = r"[ \t]", FIELD_VCHAR
_VALUE = rf"(?:{_VISIBLE}++(?:{_BLANKS}++{_VISIBLE}++)*+)?+"
HEADER_FIELD = re.compile(rf"^(?P<name>{TCHAR}++):{_BLANKS}*+(?P<value>{_VALUE}){_BLANKS}*+$".encode("latin-1"))
PLAIN_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})\r\n")
# Patterns, because they are searched from line to line: `in` takes several times as long.
_FOLDED = re.compile(rb"\n(?<=\r\n)[ \t]")
_CODING = re.compile(rb"\ntransfer-encoding:", re.IGNORECASE)
parser.HEADER_FIELD_RE = HEADER_FIELD


class ExpectationFailed(BadRequest):
    code = 417
    reason = "Expectation Failed"


_ERRORS = {400: BadRequest, 417: ExpectationFailed}


class Parser(HTTPRequestParser):
    """Parser that refuses messages whose end two servers could see in two places (RFC 9112, sections 5.2 and 6.3)."""

    path = method = ""  # of a head that cannot be read
    body_rcv: Any  # of waitress, or `Chunks`

    def parse_header(self, header_plus: bytes) -> None:
        # Unfolding would take quadratic time, too.
        if _FOLDED.search(header_plus):
            raise ParsingError("A header goes on in the next line")
        if header_plus.count(b"\r\n") > MOST_HEADERS + 2:  # the request line's, and the empty line's
            self.error = RequestHeaderFieldsTooLarge(f"more than {MOST_HEADERS} headers")
            header_plus = b"GET / HTTP/1.0\r\n"  # as waitress does it when they are too long
        if (line := REQUEST_LINE.match(header_plus)) is None:
            raise ParsingError("The request line is not one of HTTP/1.1 or HTTP/1.0")
        self.method, target = line[1].decode(), line[2].decode()
        try:
            super().parse_header(header_plus)
        except ValueError as error:  # of a number too long for `int`, or a host that is none
            raise ParsingError("The target or the length of the message is not valid") from error
        except TransferEncodingNotImplemented as error:
            raise ParsingError("Of the transfer codings, only chunked is understood, once") from error
        if self.path.startswith("//"):  # as the environment has it, and all who look at the path sooner
            self.path = "/" + self.path.lstrip("/")
        headers = self.headers
        if _CODING.search(header_plus):
            # Waitress takes this header away where it understands it: what is left came with HTTP/1.0. It takes one
            # without a value for none, and another server may not.
            if (not headers.keys().isdisjoint(("TRANSFER_ENCODING", "CONTENT_LENGTH")) or self.body_rcv is None
                    or header_plus.lower().count(b"chunked") > 1):
                raise ParsingError("The length of the message is ambiguous")
            self.body_rcv = Chunks(self.body_rcv.getbuf())
        fault = refusal(method=self.method, path="/" if _URL.match(target) else target, host=headers.get("HOST", ""),
                        old=line[3] == b"0", expect=headers.get("EXPECT", ""))
        if fault is not None:
            self.error, self.completed = _ERRORS[fault.status](fault.reason), True


class Chunks:
    """Puts the chunks of a body together (RFC 9112, section 7.1), as waitress's own `ChunkedReceiver` does.

    completed  True if the body has ended, or is invalid
    error      the error: a line that is too long, or too much framing
    """

    completed = False
    error: BadRequest | None = None

    def __init__(self, buffer: OverflowableBuffer) -> None:
        self._buffer = buffer
        self._missing = 0  # bytes of the current chunk that have not come
        self._line = b""  # what has come of a line
        self._framing = self._trailers = 0  # bytes
        self._next = self._size

    def __len__(self) -> int:
        return len(self._buffer)

    def getfile(self) -> BinaryIO:
        file: BinaryIO = self._buffer.getfile()
        return file

    def getbuf(self) -> OverflowableBuffer:
        return self._buffer

    def received(self, data: bytes) -> int:
        """Takes bytes from the connection, and returns how many of them belong to the body."""
        at = 0
        while at < len(data) and not self.completed:
            if not (self._missing or self._line) and self._next == self._size:
                start, at = at, self._whole_chunks(data, at)
                if at > start:
                    continue
            if self._missing:
                chunk = data[at:at + self._missing]
                self._buffer.append(chunk)
                self._missing -= len(chunk)
                at += len(chunk)
                continue
            end = data.find(b"\n", at) + 1 or len(data)
            self._line += data[at:end]
            self._framing += end - at
            at = end
            self._check()
            if self._line.endswith(b"\n") and not self.completed:
                line, self._line = self._line, b""
                self._next(line)
        return at

    def _whole_chunks(self, data: bytes, at: int) -> int:
        """Takes the complete chunks without extensions from `at` on, as most are. Returns the place after them."""
        start, chunks = at, []
        while (size := PLAIN_SIZE.match(data, at)) is not None:
            begin = size.end()
            end = begin + int(size[1], 16)
            if end == begin or data[end:end + 2] != b"\r\n":
                break
            chunks.append(data[begin:end])
            at = end + 2
        if chunks:
            body = b"".join(chunks)
            self._buffer.append(body)
            self._framing += at - start - len(body)
            self._check()
        return at

    def _check(self) -> None:
        if self._next == self._trailer:
            if self._trailers + len(self._line) > HEADERS:
                self._fail("The trailers are too long")
        elif len(self._line) > CHUNK_LINE:
            self._fail("The line before a chunk is too long")
        elif self._framing > FRAMING + len(self._buffer) // 4:
            self._fail("The chunks are too small")

    def _size(self, line: bytes) -> None:
        size, semicolon, extension = line.removesuffix(b"\r\n").partition(b";")
        if not line.endswith(b"\r\n") or not ONLY_HEXDIG_RE.match(size):
            self._fail("Invalid chunk size")
        elif not CHUNK_EXT_RE.match(semicolon + extension):
            self._fail("Invalid chunk extension")
        elif int(size, 16) >= LARGEST_CHUNK:
            self._fail("Invalid chunk size")
        else:
            self._missing = int(size, 16)
            self._next = self._end if self._missing else self._trailer

    def _end(self, line: bytes) -> None:
        if line != b"\r\n":
            self._fail("Chunk not properly terminated")
        self._next = self._size

    def _trailer(self, line: bytes) -> None:
        self._trailers += len(line)
        if line == b"\r\n":
            self.completed = True
        elif not line.endswith(b"\r\n") or not HEADER_FIELD.match(line[:-2]):
            self._fail("Invalid trailer")

    def _fail(self, reason: str) -> None:
        self.error = BadRequest(reason)
        self.completed = True
