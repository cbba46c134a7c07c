"""`Prefer` (RFC 7240): optional wishes of a client."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.request import parse_http_list

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_QUOTED = r'"(?:[^"\\]|\\.)*"'
# Parameters of a preference follow a semicolon: those of no preference are known here.
_PREFERENCE = re.compile(rf"({_TOKEN})[ \t]*(?:=[ \t]*({_TOKEN}|{_QUOTED})?)?[ \t]*(?:;.*)?", re.DOTALL)


def preferences(header: str | None) -> Mapping[str, str]:
    """Returns lower-case name → value, which may be empty. Ignores invalid parts.

    Of several preferences with the same name the first counts (RFC 7240 section 2).
    """
    result: dict[str, str] = {}
    for part in parse_http_list(header or ""):
        if (match := _PREFERENCE.fullmatch(part.strip())) is not None:
            value = match[2] or ""
            result.setdefault(match[1].lower(), value[1:-1] if value.startswith('"') else value)
    return result
