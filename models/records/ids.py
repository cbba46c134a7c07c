"""Ids of rows: UUIDs that sort by the time of their creation."""

from __future__ import annotations

import re
import time
from datetime import datetime
from hashlib import blake2b
from os import urandom

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.ASCII)
_LENGTH = 36  # characters


def new_id() -> str:
    """Returns a UUIDv7 (RFC 9562 §5.7) as lower-case text; rand_a is the fraction of the millisecond (§6.2)."""
    milliseconds, rest = divmod(time.time_ns(), 1_000_000)
    return _format(milliseconds, (rest << 12) // 1_000_000, int.from_bytes(urandom(8), "big"))


def last_id(at: str) -> str:
    """Returns the greatest id of a row created by the time `at` (canonical text)."""
    moment = datetime.fromisoformat(at)
    return _format(int(moment.timestamp()) * 1000 + moment.microsecond // 1000, 0xFFF, 2**64 - 1)


def id_within(seconds: int, *of: str) -> str:
    """Returns a UUIDv7 that depends only on `of` and the current span of that many seconds. Every process gets the
    same."""
    hashed = blake2b("\0".join(of).encode(), digest_size=10).digest()
    return _format(int(time.time()) // seconds * seconds * 1000, int.from_bytes(hashed[8:], "big") & 0xFFF,
                   int.from_bytes(hashed[:8], "big"))


def _format(milliseconds: int, fraction: int, rest: int) -> str:
    chance = rest & 0x3FFF_FFFF_FFFF_FFFF
    digits = f"{milliseconds << 80 | 0x7 << 76 | fraction << 64 | 0x2 << 62 | chance:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def is_id(text: str) -> bool:
    """True if `text` is a UUID in the form that we write (RFC 9562 §4: lower case on output)."""
    return _ID.fullmatch(text) is not None


def read_id(text: str) -> str | None:
    """Returns the UUID in the form that we write; None for a text that is none (RFC 9562 §4: any case on input)."""
    if is_id(text):
        return text
    # Compares the length first, because a text may be long. No letter beyond ASCII becomes one of a to f.
    lowered = text.lower() if len(text) == _LENGTH else ""
    return lowered if is_id(lowered) else None


def with_read_id(text: str) -> str:
    """Returns a text that is an id, or `user:<id>`, with the id as we write it; any other as it is."""
    person, id = ("user:", text[5:]) if text.startswith("user:") else ("", text)
    canonical = read_id(id)
    return text if canonical is None else person + canonical
