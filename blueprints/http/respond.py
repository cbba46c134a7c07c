"""The last stage: what a handler returned, as bytes and headers."""

from __future__ import annotations

from hashlib import sha256

import orjson
from flask import Response

from . import conditional
from .call import Call


def respond(call: Call) -> Response:
    """JSON-ready data becomes `application/json`, None becomes 204, a Response stays what it is."""
    result = call.result
    if isinstance(result, Response):
        response = result
    elif result is None:
        response = Response(status=204)
        del response.headers["Content-Type"]
    else:
        response = Response(orjson.dumps(result), call.status, mimetype="application/json")
    response.headers.update(call.headers)
    if call.request.method in ("GET", "HEAD"):
        _keep_private(response)
        conditional.answer_conditionally(call, response)
    else:
        response.headers.setdefault("Cache-Control", "no-store")
    if call.services.settings.server_timing:
        response.headers["Server-Timing"] = ", ".join(
            f"{stage};dur={seconds * 1000:.3f}" for stage, seconds in call.timings.items())
    return response


def _keep_private(response: Response) -> None:
    # What a caller sees depends on who asks: shared caches keep nothing, and a client asks whether it has changed.
    response.headers.setdefault("Cache-Control", "private, no-cache")
    response.vary.add("Authorization")
    if response.status_code == 200 and "ETag" not in response.headers and not response.is_streamed:
        response.headers["ETag"] = f'"{fingerprint(response.get_data())}"'


def fingerprint(body: bytes) -> str:
    """Sixteen hex digits that change whenever a representation does."""
    return sha256(body).hexdigest()[:16]
