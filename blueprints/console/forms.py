"""Forms of pages: each runs the API's own endpoint once, with its permissions, limits, audit events and retries.

The endpoint's schema turns typed values into JSON (`values`). Fields whose names begin with `_` are the form's own:
`_version` becomes `If-Match`, `_key` becomes `Idempotency-Key`, so that a double click does nothing twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import unquote_to_bytes

from flask import Request, Response, g
from marshmallow import Schema
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import HTTPException

from blueprints.console.frame import refused
from blueprints.console.values import Manner, Names, arranged, read
from gatepost import Call, Problem
from gatepost.collections.asking import sent_instead
from gatepost.http.credentials import console_sessions
from gatepost.http.pipeline.limiting import allow_body
from gatepost.http.protocol import expectation
from gatepost.http.protocol.json_pointer import below
from gatepost.http.protocol.messages import Message
from gatepost.http.protocol.problems import MOST_FAULTS, Fault, unsupported_media_type
from gatepost.http.request.endpoint import Endpoint
from gatepost.http.schemas.validation import load_body

FORM = "application/x-www-form-urlencoded"
MOST_FIELDS = 1000
_LONGEST_NAME = 500  # bytes as sent


def read_form(request: Request, known: Container[str], sent: MultiDict[str, str]) -> None:
    """Adds the fields of the request's form to `sent`, those of these names alone.

    Bytes that are not UTF-8 become U+FFFD.
    Raises `Problem`: `unsupported_media_type`, `invalid_body` for too many fields, `unknown_field` once the others are
    read: the page that refuses the form can then show them.
    """
    if request.mimetype not in ("", FORM):
        raise unsupported_media_type((FORM,), "Accept")
    raw = request.get_data()
    if raw.count(b"&") >= MOST_FIELDS:
        raise Problem("invalid_body", Message("A form has at most {most} fields.", most=MOST_FIELDS))
    unknown: dict[str, None] = {}
    for part in raw.split(b"&"):
        if part:
            raw_name, _, raw_value = part.partition(b"=")
            name = _text(raw_name[:_LONGEST_NAME])
            if name in known and len(raw_name) <= _LONGEST_NAME:
                sent.add(name, _text(raw_value))
            else:
                unknown[name[:80]] = None
    if unknown:
        faults = [Fault("unknown_field", "Unknown field.", pointer=below("", name)) for name in unknown]
        raise Problem.of(faults[:MOST_FAULTS], "invalid_body")


def _text(raw: bytes) -> str:
    return unquote_to_bytes(raw.replace(b"+", b" ")).decode(errors="replace")


_OF_THE_API = ("ETag", "Link", "Location")  # headers about what the API answers, which no page is
_HEADERS = {"_version": "HTTP_IF_MATCH", "_key": "HTTP_IDEMPOTENCY_KEY"}
_OF_FORMS = (*_HEADERS, "_next", "_tried", "_rebase")  # fields of forms that are not in a schema
_TYPED = "gatepost.typed"


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

    def read(request: Request) -> Request:
        return _as_json(request, endpoint)

    return replace(endpoint, **{
        "name": _named(path), "path": path, "method": "POST", "handler": handler,
        "translate": partial(_head, endpoint.method), "read_form": read,
        "refused": _with_what_was_typed(again, endpoint.body), "identify": console_sessions.identify,
        "produces": ("text/html",), "documented": False,
        "operation": "", "status": 200, "deferred": None, "variant": None, **declaration})


def asks_again(path: str, schema: Schema, handler: Callable[[Call], Response], **declaration: Any) -> Endpoint:
    """An endpoint that a form with the fields of `schema` is sent to only to be drawn again with what was `typed`, and
    that changes nothing: to look for something without script."""
    def read(request: Request) -> Request:
        _read(request, schema)
        return sent_instead(request, "POST", request.args.to_dict(flat=False))

    return Endpoint(**{"name": _named(path), "method": "POST", "path": path, "handler": handler, "documented": False,
                       "translate": partial(_head, "POST"), "read_form": read, "refused": refused,
                       "identify": console_sessions.identify, "produces": ("text/html",),
                       "summary": "Draw a form again.", **declaration})


def typed(call: Call) -> MultiDict[str, str]:
    """Returns the values typed into the form that sent `call`, to show them again."""
    kept: MultiDict[str, str] = call.request.environ.get(_TYPED, MultiDict())
    return kept


def _named(path: str) -> str:
    return "_".join((*re.findall(r"\w+", path.removeprefix("/console")), "sent"))


def _head(method: str, request: Request) -> Request:
    """The request by the method that the endpoint has over the API; its form is not read yet."""
    return type(request)({**request.environ, "REQUEST_METHOD": method})


def _with_what_was_typed(again: Callable[[Problem], Response], schema: Schema | None
                         ) -> Callable[[Problem], Response]:
    """Reads the form before its page is shown again, even if the call is refused before that.

    So nobody loses typed text when a login expires.
    """
    def answer(problem: Problem) -> Response:
        call: Call | None = g.get("call")
        if call is not None and _is_paid(call, problem):
            allow_body(call)
            with suppress(Problem, HTTPException):
                _read(call.request, schema)
        return again(problem)

    return answer


def _is_paid(call: Call, problem: Problem) -> bool:
    """True if the form has come unread, and the address was charged for its announced length."""
    request = call.request
    return (_TYPED not in request.environ and request.content_length is not None
            and request.environ.get(expectation.ENVIRON_KEY) != expectation.ASKED
            and (hasattr(call, "access") or problem.code not in ("rate_limited", "overloaded")))


def _read(request: Request, schema: Schema | None) -> MultiDict[str, str]:
    """The fields of a form. They stand in the environment, too, as far as they are read when the form is refused."""
    sent: MultiDict[str, str] = MultiDict()
    request.environ[_TYPED] = sent
    read_form(request, Names(schema, _OF_FORMS), sent)
    return sent


def _as_json(request: Request, endpoint: Endpoint) -> Request:
    # Without its empty rows, so that the places of faults are those of the rows that are drawn again.
    sent = request.environ[_TYPED] = arranged(_read(request, endpoint.body), without_empty=True)
    headers = {header: sent[name] for name, header in _HEADERS.items() if sent.get(name)}
    if "HTTP_IF_MATCH" in headers:
        headers["HTTP_IF_MATCH"] = f'"{headers["HTTP_IF_MATCH"]}"'.replace('""', '"')
    body = None if endpoint.body is None else _body(endpoint, endpoint.body, sent)
    return sent_instead(request, endpoint.method, request.args.to_dict(flat=False), body, endpoint.accepts[0], headers)


def _body(endpoint: Endpoint, schema: Schema, sent: MultiDict[str, str]) -> dict[str, Any]:
    """Returns the JSON of a form. Raises `Problem` with the values that have no meaning, and the schema's faults."""
    body, faults = read(schema, sent, Manner.of(g.call), partial=endpoint.partial)
    if not faults:
        return body
    places = {fault.pointer for fault in faults}
    try:
        load_body(schema, body, partial=endpoint.partial, fixed=endpoint.fixed, kept=endpoint.kept)
    except Problem as problem:
        faults += [fault for fault in problem.faults if fault.pointer not in places]
    raise Problem.of(faults[:MOST_FAULTS], "invalid_body")
