"""Characters that policy files cannot hold: what they are called, and what to type instead."""

from __future__ import annotations

import unicodedata

from .suggestions import LOOKALIKES

_OWN = "ßẞæÆœŒøØłŁđĐðÐþÞ"
QUOTES = "‘’‚‛“”„‟′″«»‹›´"


def odd(text: str, *, marks: bool = False) -> str:
    """Suggests what to do about the first character that is invisible or not plain ASCII; empty if there is none.

    A tabulator counts as a blank. With `marks`, letters such as ö and ß are plain too.
    """
    if text.isascii() and text.replace("\t", " ").isprintable():
        return ""
    for letter in text:
        if letter != "\t" and not (letter.isascii() and letter.isprintable()) and not (marks and _is_latin(letter)):
            return f"{_name(letter)} is not allowed here; {_advice(letter)}"
    return ""


def unseen(text: str) -> str:
    """The same of a remark, which may hold any character that can be seen, and any blank."""
    if text.isprintable():
        return ""
    for letter in text:
        if not letter.isprintable() and letter != "\t" and unicodedata.category(letter) != "Zs":
            return f"{_name(letter)} is not allowed here; {_advice(letter)}"
    return ""


def _is_latin(letter: str) -> bool:
    """True for a letter of the Latin alphabet with a mark, as one character, and for those that look like no other."""
    if unicodedata.normalize("NFC", letter) != letter:
        return False
    return letter in _OWN or (letter.isalpha() and unicodedata.normalize("NFD", letter)[0].isascii())


def _name(letter: str) -> str:
    name = unicodedata.name(letter, "")
    number = f"U+{ord(letter):04X}"
    if letter == "\r":
        return f"a carriage return ({number})"
    return f"the character {name} ({number})" if name else f"a control character ({number})"


def _advice(letter: str) -> str:
    category = unicodedata.category(letter)
    if latin := LOOKALIKES.get(ord(letter)):
        return f"type the Latin letter {latin}"
    if category == "Zs":
        return "type a plain blank"
    if category == "Pd" or letter == "\u2212":
        return "type a plain - or _"
    if letter == "\r":
        return "end the line with a line feed instead (LF, or CR and LF)"
    if category == "Mn":
        return "type the letter and its mark as one character"
    if letter in QUOTES:
        return "type plain words in a CSV file, and plain quotes ' in model.conf"
    if not letter.isprintable():
        return "take it out"
    return "write plain ASCII letters"
