"""In which language a caller would rather read: `Accept-Language` (RFC 9110 section 12.5.4)."""

from __future__ import annotations

from collections.abc import Collection

from werkzeug.datastructures import LanguageAccept


def best(wishes: LanguageAccept, available: Collection[str], default: str) -> str:
    """The one of `available` (tags; not empty) that suits `wishes` best, by lookup (RFC 4647 section 3.4).

    Each wish is shortened until something fits, `de-AT` to `de`, before the next is tried; where none fits it is
    `default`, or if that is not there either, any.
    """
    # Werkzeug's own best_match prefers an exact second wish to a shortened first.
    tags = {tag.lower(): tag for tag in sorted(available, reverse=True)}
    for wish, quality in wishes:
        parts = wish.lower().replace("_", "-").split("-")
        while parts and quality > 0:
            if (found := tags.get("-".join(parts))) is not None:
                return found
            parts.pop()
    return tags.get(default.lower()) or min(available)
