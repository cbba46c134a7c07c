"""Question of the server whether to read a body, asked before it reads one (RFC 9110, section 10.1.1).

The server sends the head of the request through the application with `ASK` in the environment. The answer is 100, or
the final one. After reading the body, it sends the request through the application again, with the result of `resumed`
in the environment. The request keeps its id, and spends no more units.
"""

from __future__ import annotations

from typing import Any
from wsgiref.types import WSGIEnvironment

from .answer_headers import carried

ENVIRON_KEY = "gatepost.head"  # its value is `ASKED`, or the headers that the answer about the head was to carry
ASKED = "asked"
ASK = {ENVIRON_KEY: ASKED}


def resumed(head: WSGIEnvironment) -> dict[str, Any]:
    """Returns the additions to the environment of the whole request, after its head (`asked`) was accepted."""
    headers = carried(head)
    return {ENVIRON_KEY: headers} | ({"HTTP_X_REQUEST_ID": headers["X-Request-ID"]} if headers else {})
