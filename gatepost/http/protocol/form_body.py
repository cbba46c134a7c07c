"""The reader of forms as browsers send them (`application/x-www-form-urlencoded`): bounded, and strict about names."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import unquote_to_bytes

from flask import Request
from werkzeug.datastructures import MultiDict

from .json_pointer import below
from .messages import Message
from .problems import MOST_FAULTS, Fault, Problem, unsupported_media_type

FORM = "application/x-www-form-urlencoded"
MOST_FIELDS = 1000
_LONGEST_NAME = 500  # bytes as sent


def read_form(request: Request, known: Collection[str], sent: MultiDict[str, str]) -> None:
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
