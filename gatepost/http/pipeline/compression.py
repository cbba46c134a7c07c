"""Compression of large answers with gzip, for clients that accept it (RFC 9110 section 12.5.3).

An ETag names the same row or page in either coding: there are no range requests that could mix the codings. Secret
answers are never compressed, because their length would reveal something about them (CRIME, BREACH).
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import cast

from flask import Request, Response, g
from werkzeug.datastructures import Accept
from werkzeug.http import parse_accept_header

LEAST = 1024  # bytes; for smaller answers the headers cost more than compression saves
LEVEL = 1  # most of the gain for the least time
KINDS = frozenset(("application/json", "application/problem+json", "application/x-ndjson", "text/csv", "text/html",
                   "text/css", "text/javascript", "text/plain"))


def compress(request: Request, response: Response) -> Response:
    """Compresses answers of at least `LEAST` bytes, and streams."""
    accepted = request.environ.get("HTTP_ACCEPT_ENCODING")
    if accepted is None or not _takes_gzip(accepted):
        return response
    headers = response.headers
    length = headers.get("Content-Length")  # a stream has none
    if (length is not None and int(length) < LEAST) or "Content-Encoding" in headers or _secret():
        return response
    if response.status_code == 304 or headers.get("Content-Type", "").partition(";")[0] not in KINDS:
        return response
    headers["Content-Encoding"] = "gzip"
    # Reads always have this (`responses.VARIES`); errors and writes only if they are compressed.
    response.vary.add("Accept-Encoding")
    if length is None:
        response.response = _compressed(cast("Iterable[bytes]", response.response))
    else:
        response.set_data(gzip.compress(response.get_data(), LEVEL, mtime=0))
    return response


def _secret() -> bool:
    call = g.get("call")
    return call is not None and call.endpoint.secret


def _compressed(chunks: Iterable[bytes]) -> Iterator[bytes]:
    press = zlib.compressobj(LEVEL, wbits=zlib.MAX_WBITS | 16)
    try:
        for chunk in chunks:
            if pressed := press.compress(chunk):
                yield pressed
        yield press.flush()
    finally:
        if hasattr(chunks, "close"):
            chunks.close()


@lru_cache(maxsize=256)
def _takes_gzip(accept: str) -> bool:
    return parse_accept_header(accept, Accept).quality("gzip") > 0
