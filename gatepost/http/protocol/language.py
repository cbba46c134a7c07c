"""Languages that a caller prefers: `lang`, then `Accept-Language` (RFC 9110 section 12.5.4)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from flask import Request
from werkzeug.datastructures import LanguageAccept
from werkzeug.http import parse_accept_header

PARAMETER = "lang"

Wish = tuple[str, float]
"""A language range and its weight, from 0 (never) to 1."""

# RFC 5646 section 2.1: language, script, region, variants, extensions, private use.
_LANGUAGE = r"[A-Za-z]{2,3}(?:-[A-Za-z]{3}){0,3}"
_PRIVATE = r"[Xx](?:-[A-Za-z0-9]{1,8})+"
_MORE = (r"(?:-[A-Za-z]{4})?(?:-(?:[A-Za-z]{2}|[0-9]{3}))?(?:-(?:[A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))*"
         rf"(?:-[0-9A-WY-Za-wy-z](?:-[A-Za-z0-9]{{2,8}})+)*(?:-{_PRIVATE})?")
TAG = rf"{_LANGUAGE}{_MORE}|{_PRIVATE}"  # tags that can be stored; no language has a longer word, such as `English`
_TAG = re.compile(rf"(?:{_LANGUAGE}|[A-Za-z]{{4,8}}){_MORE}|{_PRIVATE}")
_LONGEST = 1000  # characters of Accept-Language: no reader knows more languages, and each takes time


def is_well_formed(tag: str) -> bool:
    """True if the text has the form of a language tag (RFC 5646 section 2.2.9)."""
    return _TAG.fullmatch(tag) is not None


def formatted(tag: str) -> str:
    """Returns the tag in the case that RFC 5646 section 2.1.1 recommends: `zh-Hant-TW`. Tags ignore case."""
    parts = tag.lower().split("-")
    for at, part in enumerate(parts):
        if len(part) == 1:  # the parts after it stay in lower case
            break
        if at and len(part) in (2, 4):
            parts[at] = part.upper() if len(part) == 2 else part.capitalize()
    return "-".join(parts)


def wishes(request: Request) -> list[Wish]:
    """Returns the languages that the caller prefers, the best first. Ignores invalid ones."""
    try:
        tags = request.args.getlist(PARAMETER)
    except UnicodeError:  # some servers let a query through that is not UTF-8
        tags = []
    header = request.headers.get("Accept-Language", "")
    accepted = parse_accept_header(header, LanguageAccept) if len(header) <= _LONGEST else ()
    return [*((tag, 1.0) for tag in tags if len(tags) == 1 and is_well_formed(tag)), *accepted]


def best(wishes: Iterable[Wish], available: Collection[str], default: str) -> str:
    """Returns the best of the `available` tags for the `wishes`, by lookup (RFC 4647 section 3.4).

    Each wish is shortened until a tag matches, `de-AT` to `de`, before the next one. Without a match the result is
    `default`, or any tag if that is not available. `available` must not be empty.
    """
    # Werkzeug's own best_match prefers an exact second wish to a shortened first one.
    tags = sorted(available, key=lambda tag: (-len(tag), tag))
    for wish, quality in (*wishes, (default, 1.0)):
        prefix = wish.lower().replace("_", "-") + "-"
        for tag in tags:
            if quality > 0 and prefix.startswith(tag.lower() + "-"):
                return tag
    return min(available)
