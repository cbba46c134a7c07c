"""A line of a CSV file that has the wrong form: what its columns look like, and so what is missing or out of place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from .suggestions import singular

NO_PATTERN = "`*` alone stands for any, as in article.*; write a line for each"
SPREADSHEET = "take them out of every line (a spreadsheet adds them)"
CONFLICT = "this is the mark of an unfinished merge; keep one of its two sides, and take the marks out"
_MARK = re.compile(r"(<{7}|={7}|>{7}|\|{7})( .*)?")
_SEPARATORS = {";": "semicolons", "\t": "tabulators", "|": "strokes"}
_WRONG_EFFECTS = {
    "allow": ("permit", "grant", "yes", "true", "on", "1"),
    "deny": ("forbid", "refuse", "reject", "block", "prohibit", "no", "false", "off", "0"),
}
_WRONG_ACTIONS = {
    "view": ("read", "list", "get", "see", "show"), "create": ("add", "new", "post", "insert"),
    "update": ("edit", "write", "modify", "change", "put", "patch"), "delete": ("remove", "destroy", "erase"),
    "*": ("all", "any", "everything"),
}
EVERYBODY = ("*", "all", "any", "anyone", "everyone", "everybody", "public", "anonymous", "visitor", "nobody")

Kinds = Mapping[str, Callable[[str], bool]]
"""What tells the columns of a line apart: the name of a column, and whether a word can stand there."""


def conflict(line: str) -> str:
    """A sentence about the mark of an unfinished merge; empty when the line is none."""
    return CONFLICT if _MARK.fullmatch(line) else ""


def unknown_beginning(line: str, known: Sequence[str]) -> str:
    """What to write where a line begins with none of the `known` words and a comma; empty when that is unclear."""
    if not line.strip(","):
        return f"this line holds commas alone; {SPREADSHEET}"
    for separator, name in _SEPARATORS.items():
        if re.match(rf"(?:{'|'.join(known)})\s*{re.escape(separator)}", line):
            return f"columns are divided by commas, not by {name}"
    first = line.partition(",")[0].split()
    if first and first[0] in known and len(first) > 1:
        return f"a comma is missing behind `{first[0]}`"
    if first and first[0].casefold() in known:
        return f"write a small `{first[0].casefold()}`"
    return ""


def wrong_number(columns: Sequence[str], expected: Sequence[str], kinds: Kinds) -> str:
    """What is missing or too much in a line whose number of columns is wrong; empty when that is unclear."""
    if any("{" in column for column in columns):
        return f"; {NO_PATTERN}"
    if len(columns) > len(expected):
        behind = columns[len(expected):]
        return f"; the commas behind it are too many: {SPREADSHEET}" if not any(behind) else ""
    if columns and not columns[-1]:
        return "; is the rest of it on the next line? One rule is one line"
    blank = next((name for name, column in zip(expected, columns, strict=False) if " " in column), "")
    if blank:
        return f"; a comma is missing in the column {blank}"
    found = [next((name for name in expected if kinds[name](column)), "") for column in columns]
    lacking = [name for name in expected if name not in found]
    if len(lacking) == len(expected) - len(columns):
        return f"; missing is: {', '.join(lacking)}"
    return ""


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


def permission_of(word: str, known: Callable[[str], bool]) -> str:
    """The permission or pattern that a word means whose action is called otherwise, or lacks; else an empty text."""
    if known(f"{word.casefold()}.*"):
        return f"{word.casefold()}.*"
    resource, _, action = word.casefold().rpartition(".")
    meant = next((name for name, words in _WRONG_ACTIONS.items() if action in words), "")
    if not resource:
        return meant if meant == "*" else ""
    names = (resource, singular(resource)) if meant else ()
    return next((one for name in names if known(one := f"{name}.{meant}")), "")
