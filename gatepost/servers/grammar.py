"""Syntax checks of requests, for both servers, where a server is more lenient than RFC 9110 and 9112.

The refusal is plain text. The application does not see the request, and the connection closes, so that no later byte
on it is read as a request.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_HOST = re.compile(r"(?:[A-Za-z0-9._~-]++|\[[0-9A-Fa-f:.]++\])(?::[0-9]{0,5})?")


class Refusal(NamedTuple):
    """Refusal of a request: `status` is 400 or 417, `reason` a sentence for the developer of the client."""

    status: int
    reason: str


def refusal(*, method: str, path: str, host: str, old: bool, expect: str = "", coding: str = "") -> Refusal | None:
    """Returns the refusal of a request's head, or None if the head is valid.

    method  the method as sent: RFC 9110 (section 9.1) distinguishes `get` from `GET`
    path    the path of the target; `*` for the whole server (RFC 9112 section 3.2)
    host    all `Host` headers, joined by commas; empty if there is none
    old     True for HTTP/1.0, which needs no `Host`
    expect  the header `Expect`; the only supported value is `100-continue` (RFC 9110 section 10.1.1)
    coding  the header `Transfer-Encoding`; the only supported value is one `chunked` (RFC 9112 section 6.1)
    """
    if not method.isupper():
        return Refusal(400, "A method is written in capitals.")
    if not (_is_host(host) or (old and not host)):
        return Refusal(400, "A request has one Host, which is a name or an address.")
    if not path.startswith("/") and path != "*":
        return Refusal(400, "The target is neither a path nor a URL.")
    if coding and coding.lower() != "chunked":
        return Refusal(400, "Of the transfer codings, only chunked is understood, once.")
    if expect and expect.lower() != "100-continue":
        return Refusal(417, "Of what a client can expect, only 100-continue is understood.")
    return None


@lru_cache(maxsize=256)
def _is_host(host: str) -> bool:
    return _HOST.fullmatch(host) is not None
