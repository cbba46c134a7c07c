"""How many rows of one collection a user may own: a person's share of the disk.

Counted in memory, so that a create asks the database nothing: how many rows an owner has is looked up at most once a
minute, and once more before anything is refused. Several processes together may go beyond by what they make within a
minute. Callers with `<resource>.manage` are not counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any

from models.statistics import owned

from .counters import MINUTE
from .errors import Fault, Problem
from .messages import Message

if TYPE_CHECKING:
    from .call import Call
    from .collection import Collection

KNOWN = 10_000  # counts that are remembered


@dataclass
class _Count:
    rows: int
    until: float


class Ownership:
    """The counts of one app. `most`: rows that a user may own where a collection says nothing else; 0: any number."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._counts: dict[tuple[str, str], _Count] = {}

    def take(self, call: Call, collection: Collection, row: Any, settle: Callable[[], None] | None = None) -> None:
        """Count a row for its owner before it is stored; in its transaction.

        `settle` stores rows that were counted and still wait: it is called before the database is asked.
        Raises `Problem` (`conflict`) when the row is one too many.
        """
        owner = row.__data__.get("owner_id")
        most = self._most if collection.most_owned is None else collection.most_owned
        if owner is None or not most:
            return
        key, moment = (collection.name, owner), monotonic()
        count = self._counts.get(key)
        if count is not None and count.until > moment and count.rows < most:
            count.rows += 1
            return
        if call.access.allows(collection.manage, row.__data__):
            return
        if settle is not None:
            settle()
        rows = owned(collection.model, call.tenant_id, owner, most)
        if len(self._counts) >= KNOWN:
            self._counts.clear()
        self._counts[key] = _Count(rows + 1, moment + MINUTE)
        if rows >= most:
            detail = Message("You own {number} of these, and may own no more.", number=most)
            raise Problem.of([Fault("conflict", detail, pointer="/owner_id", meta={"max": most})], "conflict")
