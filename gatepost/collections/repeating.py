"""Repeats erasures of users in a restored database whose backup is older than the erasures.

The erasures come from the database that the restore replaces, and from a list that `gatepost user erasures` wrote, one
JSON object a line: `{"user_id", "begun_at", "heir_id"}`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from models.base import now, read_id
from models.engine.database import Database
from models.records.times import parse_time
from models.tables import erasure
from models.tables.erasure import Erasure
from models.tables.user import User

from .erasing import Collections, clean_up, erase_rows


class BadList(Exception):
    """Error of a file that is not a list of erasures. The message is a sentence."""


def written(erasures: Iterable[Erasure]) -> Iterator[bytes]:
    """Yields the lines of a list of erasures."""
    for row in erasures:
        yield json.dumps({"user_id": row.user_id, "begun_at": row.begun_at, "heir_id": row.heir_id}).encode() + b"\n"


def read(place: Path) -> list[Erasure]:
    """Reads the erasures in a list. Raises BadList, OSError."""
    erasures = []
    with open(place, "rb") as file:
        for number, line in enumerate(file, 1):
            try:
                entry = json.loads(line)
                begun_at = parse_time(entry["begun_at"])
                id, heir_id = (None if text is None else read_id(text) for text in (entry["user_id"], entry["heir_id"]))
                if id is None or (heir_id is None) != (entry["heir_id"] is None):
                    raise ValueError("not an id")
            except (ValueError, KeyError, TypeError, RecursionError):
                raise BadList(f"{place}:{number} is no line of `gatepost user erasures`.") from None
            erasures.append(Erasure(user_id=id, begun_at=begun_at, heir_id=heir_id))
    return erasures


def repeat(database: Database, collections: Collections, erasures: Iterable[Erasure]) -> int:
    """Erases the users of these erasures in a restored database that nobody uses yet.

    Returns the number of users whom it erased. Records every erasure, also of users whom the database does not have.
    Raises the errors of `erase_rows` and `clean_up`.
    """
    ordered = sorted({entry.user_id: entry for entry in erasures}.values(),
                     key=lambda entry: (entry.begun_at, entry.user_id))
    if not ordered:
        return 0
    database.transact(lambda: erasure.note(ordered))
    erased = 0
    for entry in ordered:
        with database.connected():
            person = User.by_id(entry.user_id)
            heir = None if entry.heir_id is None else User.by_id(entry.heir_id)
        if person is None or person.erased_at is not None:
            database.transact(partial(erasure.end, entry.user_id, now()))
            continue
        if heir is not None and (heir.tenant_id != person.tenant_id or heir.erased_at is not None):
            heir = None
        erase_rows(database, person, collections, heir, reason="repeated in a backup of before")
        erased += 1
    if erased:
        clean_up(database, collections)
    return erased
