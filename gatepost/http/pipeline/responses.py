"""Last stage: turns the result of the handler into bytes and headers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

import orjson
from flask import Response
from werkzeug.datastructures import Headers

from ..protocol.entity_tags import body_hash
from ..protocol.preferences import preferences
from ..request.call import Call
from . import conditional

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

NONE: Mapping[str, str] = MappingProxyType({})
VARIES = "Authorization, Accept-Encoding"  # of every read, also of an answer that is too short to be compressed
_OF_A_BODY = frozenset(("content-type", "content-length", "content-language", "content-encoding"))


class JsonResponse(Response):
    """Response with complete bytes and headers, which need no further work to be sent."""

    default_mimetype = None

    def get_wsgi_headers(self, environ: WSGIEnvironment) -> Headers:
        return self.headers

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] == "HEAD":
            return super().__call__(environ, start_response)
        start_response(self.status, self.headers.to_wsgi_list())
        return cast(Iterable[bytes], self.response)


def respond(call: Call) -> Response:
    """Returns the response: `application/json` for data, 204 for None, a Response unchanged."""
    reads, result = call.request.method in ("GET", "HEAD"), call.write.result
    response = _with_headers(call, result, reads) if isinstance(result, Response) else _json(call, reads)
    if call.services.settings.server_timing and call.timings is not None:
        response.headers["Server-Timing"] = ", ".join(
            f"{stage};dur={seconds * 1000:.3f}" for stage, seconds in call.timings.items())
    return response


def as_preferred(call: Call) -> Response:
    """Returns the answer of the call in the form of `Prefer: return=`, if the endpoint takes it (RFC 7240 section 4.2).

    `minimal` has no body; `representation` is the object, which is the default. The whole answer is already stored for
    the `Idempotency-Key`, so a repetition may prefer the other form. No `Vary`: no cache stores answers of writes.
    """
    response = call.write.response
    assert response is not None
    if "HTTP_PREFER" not in call.request.environ or not call.endpoint.minimal or not 200 <= response.status_code < 300:
        return response
    wish = preferences(call.request.environ["HTTP_PREFER"]).get("return", "").strip().lower()
    if wish == "minimal":
        return _without_body(response)
    if wish == "representation":
        # An answer that was too large to be stored says that it is the minimal form.
        response.headers.setdefault("Preference-Applied", "return=representation")
    return response


def _without_body(response: Response) -> Response:
    """Removes the body. 204 replaces 200; other statuses, such as 201 with its `Location`, stay."""
    response.close()
    headers = Headers([(name, value) for name, value in response.headers if name.lower() not in _OF_A_BODY])
    headers["Preference-Applied"] = "return=minimal"
    if response.status_code == 200:
        return JsonResponse(status=204, headers=headers)
    headers["Content-Length"] = "0"
    return JsonResponse(status=response.status_code, headers=headers)


def _json(call: Call, reads: bool) -> Response:
    headers = _headers(call, reads)
    if call.write.result is None:
        return JsonResponse(status=204, headers=_unchecked(headers))
    body = orjson.dumps(call.write.result)
    if reads and call.status == 200:
        tag = headers.get("ETag") or headers.setdefault("ETag", f'"{body_hash(body)}"')
        if conditional.is_known(call, tag):
            return JsonResponse(status=304, headers=_unchecked(headers))
    headers["Content-Type"], headers["Content-Length"] = "application/json", str(len(body))
    return JsonResponse([body], call.status, _unchecked(headers))


def _unchecked(headers: Mapping[str, str]) -> Headers:
    """Returns the headers of a response without Werkzeug's checks.

    Werkzeug checks each for several values and line breaks, which takes as long as a query. Servers refuse line breaks.
    """
    copy = Headers()
    copy._list = list(headers.items())
    return copy


def _with_headers(call: Call, response: Response, reads: bool) -> Response:
    """Adds the headers that every answer of an endpoint has to a handler's own Response."""
    response.headers.update(_headers(call, reads, response.headers))
    if not reads or response.status_code != 200:
        return response
    if "ETag" not in response.headers and not response.is_streamed:
        response.headers.add("ETag", f'"{body_hash(response.get_data())}"')
    tag = response.headers.get("ETag")
    if tag is not None and conditional.is_known(call, tag):
        response.status_code = 304
        response.set_data(b"")
        for header in ("Content-Type", "Content-Length"):
            response.headers.pop(header, None)
    return response


def _headers(call: Call, reads: bool, own: Mapping[str, str] | Headers = NONE) -> dict[str, str]:
    """Returns the headers of the answer, apart from those that a handler's own Response already has (`given`)."""
    headers = dict(call.headers)
    if "Cache-Control" not in own:
        headers.setdefault("Cache-Control", "private, no-cache" if reads else "no-store")
    if reads:
        # The answer depends on the caller: shared caches store nothing, and a client revalidates with its ETag.
        vary = headers.get("Vary") or own.get("Vary")
        headers["Vary"] = f"{vary}, {VARIES}" if vary else VARIES
    return headers
