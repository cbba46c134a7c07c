"""The parameter that holds a cursor: the one part of a query string that differs from page to page of a list.

It is taken out before anything is looked up by the query string, so that what was read from the rest is found again.
"""

from __future__ import annotations

import re

from marshmallow import fields

CURSORS = ("cursor", "after", "before")
_PLAIN = re.compile(rb"(?:\A|&)(cursor|after|before)=([\w.-]+)(?![^&])")
_ANOTHER = re.compile(rb"(?:\A|&)(?:(?:cursor|after|before)(?![^=&])|[^=&]*%)")  # or a name that may be one, escaped


class CursorParameter(fields.String):
    """The parameter that holds a cursor: any text is taken as it is; `security/cursors` judges it.

    So what the rest of a query string means does not depend on it.
    """


def split(query: bytes) -> tuple[bytes, str | None, str]:
    """The query string without its cursor, the parameter that held the cursor, and the cursor.

    All of it, None and nothing where that is not plain: without a cursor, with two of them, or with an escape in the
    cursor or in any name. Nothing is refused here.
    """
    found = _PLAIN.search(query)
    if found is None:
        return query, None, ""
    rest = query[:found.start()] + query[found.end():]
    if _ANOTHER.search(rest) is not None:
        return query, None, ""
    return rest, found[1].decode(), found[2].decode()
