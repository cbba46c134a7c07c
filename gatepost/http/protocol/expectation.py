"""Whether a body is worth reading: the server asks before it reads one (RFC 9110, section 10.1.1).

It sends the head of the request through the application with `ASK` in the environment. The answer is 100, or the final
one. When the body has come, the request goes through the application again, with what `resumed` says in its
environment: then its units are spent already, and its id stays the same.
"""

from __future__ import annotations

from typing import Any
from wsgiref.types import WSGIEnvironment

from .answer_headers import carried

ENVIRON_KEY = "gatepost.head"  # its value is `ASKED`, or the headers that the answer about the head was to carry
ASKED = "asked"
ASK = {ENVIRON_KEY: ASKED}


def resumed(asked: WSGIEnvironment) -> dict[str, Any]:
    """What to add to the environment of the whole request, once its head (`asked`) was found good."""
    headers = carried(asked)
    return {ENVIRON_KEY: headers} | ({"HTTP_X_REQUEST_ID": headers["X-Request-ID"]} if headers else {})
