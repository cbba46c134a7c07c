"""Invisible characters in a name or an address, which let two different names look the same.

These are the default-ignorable code points of Unicode (DerivedCoreProperties.txt, including the marks of text
direction), the Braille blank, and spaces that look like the ordinary one. They are allowed where a script or an emoji
needs them: joiners after letters of scripts such as Arabic and after a virama (RFC 5892, appendix A.1 and A.2,
simplified), joiners and variation selectors in emoji, and ideographic variations after an ideograph.
"""

from __future__ import annotations

import re
import unicodedata

UNSEEN = re.compile(
    "[\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]")
_JOINERS = "\u200c\u200d"
_IDEOGRAPH = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_VIRAMA = 9  # canonical combining class


def is_visible(text: str) -> bool:
    """True if a reader sees every character of `text`."""
    return text.isascii() or all(_belongs(text, match.start()) for match in UNSEEN.finditer(text))


def _belongs(text: str, place: int) -> bool:
    """True if the character at `place` shapes the character before it, and so is not hidden."""
    character, before, after = text[place], text[place - 1:place], text[place + 1:place + 2]
    if not before:
        return False
    if character in _JOINERS and (unicodedata.combining(before) == _VIRAMA or _joins(before, after)):
        return True
    if character == "\u200d":
        return _pictures(before) and _pictures(after)
    if "\ufe0e" <= character <= "\ufe0f":
        return _pictures(before) or (character == "\ufe0f" and after == "\u20e3")
    return character >= "\U000e0100" and _IDEOGRAPH.match(before) is not None


def _joins(before: str, after: str) -> bool:
    """True if both are letters of a script whose letters join, such as Arabic."""
    letters = filter(None, (before, after))
    return all(unicodedata.bidirectional(letter) == "AL" for letter in letters) and bool(after)


def _pictures(character: str) -> bool:
    return character == "\ufe0f" or unicodedata.category(character or " ") in ("So", "Sk")
