"""A line of a CSV file that has the wrong form: what its columns look like, and so what is missing or out of place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

NO_PATTERN = "`*` alone stands for any, as in article.*; write a rule for each"
SPREADSHEET = "take them out of every line (a spreadsheet adds them)"
CONFLICT = "this is the mark of an unfinished merge; keep one of its two sides, and take the marks out"
_MARK = re.compile(r"(<{7}|={7}|>{7}|\|{7})( .*)?")
COMMENT = "a comment begins with #"
_MARKS = (";", "//", "--")  # of comments elsewhere
_QUOTES = ('"', "'")
_BEHIND = re.compile(r";|//")
_SEPARATORS = {";": "semicolons", "\t": "tabulators", "|": "strokes"}
_WRONG_EFFECTS = {
    "allow": ("permit", "grant", "yes", "true", "on", "1"),
    "deny": ("forbid", "refuse", "reject", "block", "prohibit", "no", "false", "off", "0"),
}
EVERYBODY = ("*", "all", "any", "anyone", "everyone", "everybody", "public", "anonymous", "visitor", "nobody")

Kinds = Mapping[str, Callable[[str], bool]]
"""What tells the columns of a line apart: the name of a column, and whether a word can stand there."""


def conflict(line: str) -> str:
    """A sentence about the mark of an unfinished merge; empty when the line is none."""
    return CONFLICT if _MARK.fullmatch(line) else ""


def wrong_marks(line: str, expected: Sequence[str] | None) -> str:
    """A sentence about a comment or a quote that Casbin would take for part of a rule; empty when there is none.

    expected  the columns of such a line; None where its first word is unknown
    """
    if line.startswith(_MARKS):
        return COMMENT
    if not line.startswith(_QUOTES):
        whole, *behind = _BEHIND.split(line, maxsplit=1)
        if "#" in line or (behind and expected is not None and whole.count(",") >= len(_needed(expected))):
            return "write comments on lines of their own"
    if any(quote in line for quote in _QUOTES):
        return "quotes become part of the value; leave them out"
    return ""


def unknown_beginning(line: str, known: Mapping[str, Sequence[str]]) -> str:
    """Returns what to write where a line does not begin with a `known` word and a comma; empty when that is unclear.

    known  word → the columns of such a line
    """
    if not line.strip(","):
        return f"this line holds commas alone; {SPREADSHEET}"
    for separator, name in _SEPARATORS.items():
        if re.match(rf"(?:{'|'.join(known)})\s*{re.escape(separator)}", line):
            return f"columns are divided by commas, not by {name}"
    words, first = line.split(), line.partition(",")[0].split()
    if first and first[0] in known:
        if "," not in line and len(words) - 1 in (len(known[words[0]]), len(_needed(known[words[0]]))):
            return "columns are divided by commas"
        if "," in line and len(first) == 2:
            return f"a comma is missing behind `{first[0]}`"
    elif first and first[0].casefold() in known:
        return f"write a small `{first[0].casefold()}`"
    return COMMENT if "," not in line else ""


def wrong_number(columns: Sequence[str], expected: Sequence[str], kinds: Kinds) -> str:
    """Describes what is missing or too much in a line with a wrong number of columns; empty if that is unclear."""
    if any("{" in column for column in columns):
        return f"; {NO_PATTERN}"
    if len(columns) > len(expected):
        behind = columns[len(expected):]
        return f"; the commas behind it are too many: {SPREADSHEET}" if not any(behind) else ""
    if columns and not columns[-1]:
        return "; is the rest of it on the next line? One rule is one line"
    pieces = sum(len(column.split()) for column in columns)
    blank = next((name for name, column in zip(expected, columns, strict=False) if " " in column
                  and (pieces == len(expected) or _are_words(column.split(), kinds))), "")
    if blank:
        return f"; a comma is missing in the column {blank}"
    found = [next((name for name in expected if kinds[name](column)), "") for column in columns]
    lacking = [name for name in expected if name not in found]
    if len(lacking) == len(expected) - len(columns):
        return f"; missing is: {', '.join(lacking)}"
    return ""


def _are_words(words: Sequence[str], kinds: Kinds) -> bool:
    return all(any(is_one(word) for is_one in kinds.values()) for word in words)


def _needed(columns: Sequence[str]) -> list[str]:
    """The columns that a line must have."""
    return [name for name in columns if not name.endswith("…")]


def in_order(columns: Sequence[str], expected: Sequence[str], kinds: Kinds) -> list[str] | None:
    """The columns in the order that is meant, when each can stand in exactly one place and that is another order."""
    places = [[name for name in expected if kinds[name](column)] for column in columns]
    if any(len(place) != 1 for place in places):
        return None
    ordered = {place[0]: column for place, column in zip(places, columns, strict=True)}
    if len(ordered) != len(expected) or list(ordered) == list(expected):
        return None
    return [ordered[name] for name in expected]


def effect_of(word: str) -> str:
    """The effect that another word means, or an empty text."""
    return next((effect for effect, words in _WRONG_EFFECTS.items() if word.casefold() in words), "")
