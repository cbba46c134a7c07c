"""How texts of others are shown: so that no character in them changes what its reader sees."""

from __future__ import annotations

import re
import unicodedata

from markupsafe import Markup

_SHORT = 8
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d(?:\.\d+)?Z")
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def readable(text: object) -> str:
    """The text with its control and format characters visible, as `\\u202e`; a line break stays."""
    return "".join(one if one == "\n" or unicodedata.category(one) not in ("Cc", "Cf", "Co", "Cs")
                   else f"\\u{ord(one):04x}" for one in str(text))


def shortened(id: object) -> str:
    """An id by its last digits, `…1c6094e4`: those before are the time, and alike."""
    text = str(id)
    return f"…{text[-_SHORT:]}" if len(text) > _SHORT else text


def with_short_times(text: object) -> str:
    """A text whose times are told to the minute: `2026-11-18 22:00 UTC`."""
    return _TIME.sub(r"\1 \2 UTC", readable(text))


def with_short_ids(text: object) -> Markup:
    """A text with its ids shortened; the whole of each is its title."""
    shown, found = readable(text), Markup()
    end = 0
    for match in _ID.finditer(shown):
        found += Markup('{}<span title="{}">{}</span>').format(
            shown[end:match.start()], match.group(), shortened(match.group()))
        end = match.end()
    return found + shown[end:]
