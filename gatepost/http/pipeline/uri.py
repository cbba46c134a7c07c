"""Checks of the length and encoding of a URL, before routing.

Werkzeug replaces invalid UTF-8 by U+FFFD, and keeps a stray `%`. A filter would then silently have another value than
the client's (RFC 3986, section 2.1).
"""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

from flask import Request

from ..protocol.messages import Message
from ..protocol.problems import Problem

LONGEST = 16_384  # bytes of path and query: twice the longest cursor with a hundred ids
_STRAY = re.compile(r"%(?![0-9A-Fa-f]{2})")


def refuse_unusable(request: Request) -> None:
    """Refuses a URL that is too long (414), and a query that is not percent-encoded UTF-8 (400)."""
    environ = request.environ
    query: str = environ.get("QUERY_STRING", "")
    if len(environ.get("PATH_INFO", "")) + len(query) > LONGEST:
        raise Problem("uri_too_long", Message(
            "Path and query have at most {most} bytes together.", most=LONGEST))
    if "%" not in query and query.isascii():
        return
    try:
        unquote_to_bytes(query.encode("latin-1")).decode()
    except UnicodeError:
        raise Problem("invalid_parameter", "The query string is not UTF-8.") from None
    if _STRAY.search(query):
        raise Problem("invalid_parameter", "A % in a query stands before two hexadecimal digits; write %25.")

