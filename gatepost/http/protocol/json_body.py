"""Strict JSON reader of all endpoints.

The standard library's `json` accepts duplicate keys, NaN, lone surrogates, and numbers of any length. Here each of them
is a 400, before a schema reads the body (RFC 8259, I-JSON RFC 7493).
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable
from functools import reduce
from typing import Any

from flask import Request

from .json_pointer import below
from .messages import Message
from .problems import Fault, Problem, unsupported_media_type

MAX_DEPTH = 64
MAX_DIGITS = 64  # characters of a number
INT64 = range(-(2**63), 2**63)
JSON = ("application/json",)
_CONTAINERS = (dict, list)
ANY = "*/*"  # in addition to the others: the endpoint checks the media type itself
MERGE_PATCH = ("application/merge-patch+json", "application/json")


def read_json(request: Request, *, accepts: tuple[str, ...] = JSON, required: bool = True) -> dict[str, Any]:
    """Returns the JSON object in the request's body; `{}` for an absent body that is not required.

    A byte order mark before it is ignored (RFC 8259 section 8.1): some editors and libraries write one.
    Raises `Problem`: `unsupported_media_type`, `body_too_large`, `malformed_json`, `invalid_body`,
    `invalid_field` (with the pointer of the offending string).
    """
    raw = request.get_data()
    if not raw and not required:
        return {}
    if request.mimetype not in accepts and ANY not in accepts:
        raise unsupported_media_type(accepts, "Accept-Patch" if request.method == "PATCH" else "Accept")
    refuse_coded(request)
    return parse_object(raw.removeprefix(BOM_UTF8))


def refuse_coded(request: Request) -> None:
    """Raises `Problem` (`unsupported_media_type`) for a body with a `Content-Encoding`: bodies are not decompressed.

    `identity` means no encoding (RFC 9110 section 12.5.3).
    """
    codings = request.environ.get("HTTP_CONTENT_ENCODING")
    names = [] if codings is None else [name.strip(" \t").lower() for name in codings.split(",")]
    if any(name not in ("", "identity") for name in names):
        fault = Fault("unsupported_media_type", "Send the body without Content-Encoding.", header="Content-Encoding")
        problem = Problem.of([fault], "unsupported_media_type")
        problem.headers["Accept-Encoding"] = "identity"
        raise problem


def parse_object(raw: bytes, *, line: int = 1) -> dict[str, Any]:
    """Returns one JSON object from bytes that begin in this line of the body. Raises `Problem`."""
    try:
        value = _DECODER.decode(raw.decode("utf-8"))
    except RecursionError:
        raise _too_deep() from None
    except UnicodeDecodeError:
        raise Problem("malformed_json", "The body is not UTF-8.") from None
    except json.JSONDecodeError as error:
        raise Problem("malformed_json", Message(
            "{what} at line {line}, column {column}.", what=Message(error.msg.removesuffix(" at")),
            line=line + error.lineno - 1, column=error.colno)) from None
    if not isinstance(value, dict):
        raise Problem("invalid_body", "The body must be a JSON object.")
    # The decoder refuses a raw NUL or surrogate, so only an escape can contain one. Few brackets cannot nest deeply.
    if b"\\u" in raw or raw.count(b"{") + raw.count(b"[") >= MAX_DEPTH:
        try:
            _check(value, 1)
        except _Unstorable as invalid:
            pointer = reduce(below, reversed(invalid.path), "")
            raise Problem.of([Fault("invalid_field", invalid.reason, pointer=pointer)], "invalid_body") from None
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        repeated = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
        raise Problem("malformed_json", Message("The key {key} appears twice in one object.", key=_quoted(repeated)))
    return result


def _constant(name: str) -> None:
    raise Problem("malformed_json", Message("{name} is not JSON.", name=name))


def _integer(digits: str) -> int:
    # Length first: int() of a long string costs quadratic time.
    if len(digits) > MAX_DIGITS:
        raise _too_long()
    if (number := int(digits)) not in INT64:
        raise Problem("malformed_json", "A number does not fit in 64 bits.")
    return number


def _number(text: str) -> float:
    if len(text) > MAX_DIGITS:
        raise _too_long()
    if (number := float(text)) in (float("inf"), float("-inf")):
        raise Problem("malformed_json", "A number is out of range.")
    return number


# `json.loads` would make a decoder for each body.
_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer,
                            parse_float=_number)


class _Unstorable(Exception):
    """Error of a text that no database can store. `path` has its place, the innermost name first."""

    def __init__(self, reason: Message) -> None:
        self.reason = reason
        self.path: list[str] = []


def _check(value: dict[str, Any] | list[Any], depth: int) -> None:
    """Checks the content of a value at this depth."""
    # The place is built on the way back, only for an invalid text, because it is most of the work.
    if depth >= MAX_DEPTH:
        raise _too_deep()
    pairs: Iterable[tuple[Any, Any]] = enumerate(value)
    if isinstance(value, dict):
        pairs = value.items()
        for name in value:
            if (reason := unstorable(name)) is not None:
                raise Problem("malformed_json", Message("A key is not usable: {reason}", reason=reason))
    for name, item in pairs:
        if isinstance(item, str):
            reason = unstorable(item)
            if reason is not None:
                error = _Unstorable(reason)
                error.path.append(str(name))
                raise error
        elif item and isinstance(item, _CONTAINERS):
            try:
                _check(item, depth + 1)
            except _Unstorable as error:
                error.path.append(str(name))
                raise


def unstorable(text: str) -> Message | None:
    """Returns the reason why no database can store this text (NUL or a lone surrogate), or None."""
    if "\0" in text:
        return Message("The character NUL is not allowed.")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return Message("A lone surrogate is not a character.")
    return None


def _too_long() -> Problem:
    return Problem("malformed_json", Message("A number has at most {most} characters.", most=MAX_DIGITS))


def _quoted(name: str) -> str:
    return json.dumps(name[:80])


def _too_deep() -> Problem:
    return Problem("malformed_json", Message("The body is nested more than {most} levels deep.", most=MAX_DEPTH))
