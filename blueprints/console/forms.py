"""A form of a page is one run of the API's own endpoint: judged, limited, recorded and repeated as over the API.

What was typed becomes JSON by the endpoint's schema. Fields whose names begin with `_` are the form's own: `_version`
becomes `If-Match`, `_key` becomes `Idempotency-Key`, so that a double click does nothing twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from flask import Request, Response
from marshmallow import Schema, fields
from werkzeug.datastructures import MultiDict

from gatepost import Call, Problem

from ..http.credentials import console_sessions
from ..http.protocol import expectation
from ..http.protocol.problems import unsupported_media_type
from ..http.request.endpoint import Endpoint
from ..http.resources.asking import sent_instead
from .frame import refused

FORM = "application/x-www-form-urlencoded"
_OF_THE_API = ("ETag", "Link", "Location")  # headers about what the API answers, which no page is
_HEADERS = {"_version": "HTTP_IF_MATCH", "_key": "HTTP_IDEMPOTENCY_KEY"}


def form(endpoint: Endpoint, path: str, then: Callable[[Call, Any], Response],
         again: Callable[[Problem], Response] = refused, **declaration: Any) -> Endpoint:
    """The endpoint of the API as one that a form is sent to, at `path`.

    then   what is answered when it is done, from its result: mostly `see_other`
    again  what is answered when it is refused: `drawn_again` with the page of the form
    """
    def handler(call: Call) -> Response:
        result = endpoint.handler(call)
        for name in _OF_THE_API:
            call.headers.pop(name, None)
        return then(call, result)

    def translate(request: Request) -> Request:
        return _as_json(request, endpoint)

    return replace(endpoint, **{
        "name": _named(path), "path": path, "method": "POST", "handler": handler, "translate": translate,
        "refused": again, "identify": console_sessions.identify, "produces": ("text/html",), "documented": False,
        "operation": "", "status": 200, "deferred": None, "variant": None, **declaration})


def asks_again(path: str, handler: Callable[[Call], Response], **declaration: Any) -> Endpoint:
    """An endpoint that a form is sent to only to be drawn again with what was `typed`, and that changes nothing: to
    look for something without script."""
    def translate(request: Request) -> Request:
        if _has_no_body_yet(request):
            return sent_instead(request, "POST")
        sent = _sent_form(request)
        made = sent_instead(request, "POST", request.args.to_dict(flat=False))
        made.environ["gatepost.typed"] = sent
        return made

    return Endpoint(**{"name": _named(path), "method": "POST", "path": path, "handler": handler, "documented": False,
                       "translate": translate, "refused": refused, "identify": console_sessions.identify,
                       "produces": ("text/html",), "summary": "Draw a form again.", **declaration})


def typed(call: Call) -> MultiDict[str, str]:
    """What was typed into the form whose run `call` is: to draw it again."""
    kept: MultiDict[str, str] = call.request.environ.get("gatepost.typed", MultiDict())
    return kept


def _named(path: str) -> str:
    return "_".join((*re.findall(r"\w+", path.removeprefix("/console")), "sent"))


def _has_no_body_yet(request: Request) -> bool:
    return bool(request.environ.get(expectation.ENVIRON_KEY) == expectation.ASKED)


def _sent_form(request: Request) -> MultiDict[str, str]:
    if request.mimetype not in ("", FORM):
        raise unsupported_media_type((FORM,), "Accept")
    request.max_form_memory_size = request.max_content_length
    return request.form


def _as_json(request: Request, endpoint: Endpoint) -> Request:
    if _has_no_body_yet(request):
        return sent_instead(request, endpoint.method)
    sent = _sent_form(request)
    headers = {header: sent[name] for name, header in _HEADERS.items() if sent.get(name)}
    if "HTTP_IF_MATCH" in headers:
        headers["HTTP_IF_MATCH"] = f'"{headers["HTTP_IF_MATCH"]}"'.replace('""', '"')
    body = None if endpoint.body is None else values(endpoint.body, sent, partial=endpoint.partial)
    made = sent_instead(request, endpoint.method, request.args.to_dict(flat=False), body, endpoint.accepts[0], headers)
    made.environ["gatepost.typed"] = sent
    return made


def values(schema: Schema, sent: MultiDict[str, str], *, partial: bool = False) -> Mapping[str, Any]:
    """The JSON object that a form's fields mean to the schema. What cannot be read stays text: the schema says why.

    A list is one text with commas, or one field for each entry. What is left empty is left out, but for a change of
    what may be emptied, and for what must be there.
    """
    found: dict[str, Any] = {}
    known = {field.data_key or name: field for name, field in schema.fields.items()}
    for name in sent:
        if name.startswith("_"):
            continue
        field, texts = known.get(name), [text.replace("\r\n", "\n") for text in sent.getlist(name)]
        if isinstance(field, fields.List) and isinstance(field.inner, fields.String):
            parts = [part.strip() for part in (texts if len(texts) > 1 else texts[0].split(","))]
            found[name] = [part for part in parts if part]
        elif texts[-1] != "" or field is None:
            found[name] = _value(field, texts[-1])
        elif partial and field.load_only:
            continue  # a password stays where none is typed
        elif partial and field.allow_none:
            found[name] = None
        elif partial or field.required:
            found[name] = ""
    return found


def _value(field: fields.Field[Any] | None, text: str) -> Any:
    match field:
        case fields.Boolean() if text in ("true", "false"):
            return text == "true"
        case fields.Integer() if len(text) <= 20 and text.removeprefix("-").isdecimal() and text.isascii():
            return int(text)
        case fields.List() | fields.Nested() | fields.Dict():
            with suppress(ValueError, RecursionError):
                return json.loads(text)
    return text
