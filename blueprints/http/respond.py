"""The last stage: what a handler returned, as bytes and headers."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType

import orjson
from flask import Response

from . import conditional
from .call import Call

NONE: Mapping[str, str] = MappingProxyType({})

def respond(call: Call) -> Response:
    """JSON-ready data becomes `application/json`, None becomes 204, a Response stays what it is."""
    result, reads = call.result, call.request.method in ("GET", "HEAD")
    if isinstance(result, Response):
        response = result
        response.headers.update(_headers(call, reads, response.headers))
    elif result is None:
        response = Response(status=204, headers=_headers(call, reads))
        del response.headers["Content-Type"]
    else:
        response = Response(orjson.dumps(result), call.status, _headers(call, reads), content_type="application/json")
    if reads:
        if response.status_code == 200 and "ETag" not in response.headers and not response.is_streamed:
            response.headers.add("ETag", f'"{fingerprint(response.get_data())}"')
        conditional.answer_conditionally(call, response)
    if call.services.settings.server_timing:
        response.headers["Server-Timing"] = ", ".join(
            f"{stage};dur={seconds * 1000:.3f}" for stage, seconds in call.timings.items())
    return response


def _headers(call: Call, reads: bool, given: Mapping[str, str] = NONE) -> dict[str, str]:
    """What the answer carries besides the headers that a handler's own Response has been `given`."""
    headers = dict(call.headers)
    if "Cache-Control" not in given:
        headers.setdefault("Cache-Control", "private, no-cache" if reads else "no-store")
    if reads:
        # What a caller sees depends on who asks: shared caches keep nothing, and a client asks whether it has changed.
        vary = headers.get("Vary") or given.get("Vary")
        headers["Vary"] = f"{vary}, Authorization" if vary else "Authorization"
    return headers


def fingerprint(body: bytes) -> str:
    """Sixteen hex digits that change whenever a representation does."""
    return sha256(body).hexdigest()[:16]
