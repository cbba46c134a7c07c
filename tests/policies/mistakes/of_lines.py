"""CSV lines of a wrong form, and changes that editors and spreadsheets make to a file."""

from __future__ import annotations

from .mistake import Mistake, add, as_bytes, change, cut, error

F = "orders.csv"
GUEST = "p, guest, order.view, always, allow"
_LINES = {
    "columns": {
        "the effect forgotten": ("p, user, order.view, own", "missing is: effect"),
        "the condition forgotten": ("p, user, order.view, allow", "missing is: when"),
        "who forgotten": ("p, order.view, own, allow", "missing is: who"),
        "condition and effect swapped": ("p, user, order.view, allow, own", "write p, user, order.view, own, allow"),
        "who and permission swapped": ("p, order.view, user, own, allow", "write p, user, order.view, own, allow"),
        "scope and permission swapped": ("p2, order.view, read:orders", "write p2, read:orders, order.view"),
        "a column too much": ("p, user, order.view, own, allow, 2026", "takes 4 columns"),
        "a comma at the end": ("p, user, order.view, own, allow,", "the commas behind it are too many"),
        "two lines in one": ("p, user, order.view, own, allow p, user, order.update, own, allow", "takes 4 columns"),
        "a line break inside": ("p, user, order.view,\n   own, allow", "is the rest of it on the next line?"),
        "a scope begins with p": ("p, read:orders, order.view", "a line with these begins with p2"),
        "a rule begins with p2": ("p2, user, order.view, own, allow", "a line with these begins with p"),
        "a rule begins with g": ("g, user, order.view, own, allow", "a line with these begins with p"),
        "a scope without a permission": ("p2, read:orders", "missing is: permission"),
    },
    "separators": {
        "a blank for the first comma": ("p user, order.view, own, allow", "a comma is missing behind `p`"),
        "a blank for another comma": ("p, user order.view, own, allow", "a comma is missing in the column who"),
        "semicolons": ("p; user; order.view; own; allow", "not by semicolons"),
        "tabulators": ("p\tuser\torder.view\town\tallow", "not by tabulators"),
        "strokes": ("p | user | order.view | own | allow", "not by strokes"),
        "a point for a comma": ("p, user. order.view, own, allow", "a comma is missing in the column who"),
        "no separators": ("p", "takes 4 columns"),
    },
    "beginning": {
        "a capital P": ("P, user, order.view, own, deny", "write a small `p`"),
        "the word deny": ("deny, user, order.view, own", "a line begins with p, p2 or g"),
        "the word policy": ("policy, user, order.view, own, deny", "a line begins with p, p2 or g"),
        "nothing": (", user, order.view, own, deny", "a line begins with p, p2 or g"),
        "a dash of a list": ("- p, user, order.view, own, deny", "a line begins with p, p2 or g"),
        "two strokes of a comment": ("// who sees orders", "a comment begins with #"),
        "a forgotten # of a comment": ("who sees orders", "a comment begins with #"),
        "p3": ("p3, user, order.view, own, deny", "a line begins with p, p2 or g"),
    },
    "comments and quotes": {
        "a comment behind a line": ("p, user, order.view, own, deny # for now", "comments on lines of their own"),
        "quotes around every column": ('"p","user","order.view","own","deny"', "leave them out"),
        "quotes around the line": ('"p, user, order.view, own, deny"', "leave them out"),
        "quotes around a column": ("p, user, 'order.view', own, deny", "leave them out"),
        "typographic quotes": ("p, user, “order.view”, own, deny", "LEFT DOUBLE QUOTATION MARK (U+201C)"),
    },
    "characters": {
        "a no-break space": ("p, user,\u00a0order.view, own, deny", "type a plain blank"),
        "a narrow no-break space": ("p, user, order.view,\u202fown, deny", "type a plain blank"),
        "a zero width space": ("p, user, order.view\u200b, own, deny", "ZERO WIDTH SPACE (U+200B) is not allowed"),
        "a soft hyphen": ("p, user, order.view_\u00adprivate, own, deny", "take it out"),
        "a Cyrillic letter": ("p, user, оrder.view, own, deny", "type the Latin letter o"),
        "a Greek letter": ("p, user, οrder.view, own, deny", "type the Latin letter o"),
        "a dash of typography": ("p, user, order.view, own–draft, deny", "type a plain - or _"),
        "a full-width comma": ("p, user， order.view, own, deny", "FULLWIDTH COMMA"),
        "an umlaut": ("p, käufer, order.view, own, deny", "write plain ASCII letters"),
        "a vertical tabulator": ("p, user, order.view,\x0bown, deny", "a control character (U+000B)"),
        "a text that runs backwards": ("p, user, order.view\u202e, own, deny", "take it out"),
        "a control character in a remark": ("# remark\u2028p, user, order.view, own, deny", "take it out"),
    },
    "merge": {
        "the mark of one side": (f"<<<<<<< HEAD\n{GUEST}", "unfinished merge"),
        "the mark between": ("=======", "unfinished merge"),
        "the mark of the other side": (">>>>>>> trial", "unfinished merge"),
        "the mark of the origin": ("||||||| 1a2b3c", "unfinished merge"),
    },
}


def _spreadsheet(content: bytes) -> bytes:
    """Saves like a spreadsheet: the same number of commas on every line, and quotes around cells with a comma."""
    rows = [f'"{row}",,,,' if row.startswith("#") and "," in row else row + "," * (4 - row.count(","))
            for row in content.decode().splitlines()]
    return "\r\n".join([*rows, ""]).encode()


MISTAKES = [
    *(Mistake(class_, name, add(F, line), True, error(phrase))
      for class_, rows in _LINES.items() for name, (line, phrase) in rows.items()),
    Mistake("last line", "taken out", cut(F, "# end"), True, error("was the file cut short?", at="p2, manage:orders")),
    Mistake("last line", "with the commas of a spreadsheet", change(F, "# end", "# end,,,,"), True,
            error("there are commas or quotes beside it")),
    Mistake("last line", "in quotes", change(F, "# end", '"# end"'), True, error("commas or quotes beside it")),
    Mistake("last line", "with a capital", change(F, "# end", "# End"), True, error("spelt like that")),
    Mistake("last line", "without its blank", change(F, "# end", "#end"), True, error("spelt like that")),
    Mistake("last line", "a line below it", change(F, "# end\n", f"# end\n{GUEST}\n"), True,
            error("is allowed on the last line only", at="# end")),
    Mistake("last line", "in the middle as well", add(F, "# end", GUEST), True,
            error("is allowed on the last line only", at="# end")),
    Mistake("last line", "cut short in the middle of a line",
            as_bytes(F, lambda content: content[:content.index(b"p, support, order.refund") + 20]), True,
            error("was the file cut short?")),
    Mistake("spreadsheet", "saved as CSV with all columns", as_bytes(F, _spreadsheet), True,
            error("the commas behind it are too many", at="p2, read:orders,   order.view,,")),
]
