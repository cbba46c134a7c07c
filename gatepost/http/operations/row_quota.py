"""Row quota: the number of rows of one collection that a user may own.

Rows are counted in memory, so that a create needs no query. The number is read from the database at most once a minute,
and again before a refusal. A full quota is remembered for `FULL` seconds, and for the rest of an import, because
counting a hundred thousand entries of an index keeps other writers waiting. Several processes together may exceed the
quota by the rows of one minute. Callers with `<resource>.manage` have no quota.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from models.tables.reports import owned

from ..protocol.messages import Message
from ..protocol.problems import Fault, Problem
from .counters import MINUTE

if TYPE_CHECKING:
    from models.base import Record

KNOWN = 10_000  # counts that are remembered
FULL = 1.0  # seconds for which a full quota is remembered


@dataclass
class _Count:
    rows: int
    until: float
    full_until: float = 0.0


class Counted(Protocol):
    """Interface of a collection. `most_owned` is the quota of its table for users who may not `manage` rows."""

    name: ClassVar[str]
    model: ClassVar[type[Record]]
    most_owned: ClassVar[int | None]

    @property
    def manage(self) -> str: ...


class Importing(Protocol):
    """Interface of an import. `full` are the owners whose quota is full; `store_waiting` stores counted rows."""

    full: set[str]

    def store_waiting(self) -> None: ...


class RowQuota:
    """Counts of one app. `most`: default quota of a collection; 0: no quota."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._counts: dict[tuple[str, str], _Count] = {}

    def take(self, collection: Counted, row: Any, allows: Callable[[str, Mapping[str, Any]], bool],
             intake: Importing | None = None) -> None:
        """Counts a row for its owner, in the transaction that stores it.

        allows  True if the caller has a permission on a row
        intake  the import that the row is part of

        Raises `Problem` (`conflict`) if the row exceeds the quota.
        """
        owner = row.__data__.get("owner_id")
        most = self.most if collection.most_owned is None else collection.most_owned
        if owner is None or not most:
            return
        key, moment = (collection.name, owner), monotonic()
        count = self._counts.get(key)
        if count is not None and count.until > moment and count.rows < most:
            count.rows += 1
            return
        if allows(collection.manage, row.__data__):
            return
        is_full = owner in intake.full if intake is not None else count is not None and count.full_until > moment
        if not is_full:
            if intake is not None:
                intake.store_waiting()
            rows = owned(collection.model, row.tenant_id, owner, most)
            if len(self._counts) >= KNOWN:
                self._counts.clear()
            count = self._counts[key] = _Count(rows + 1, moment + MINUTE)
            if rows < most:
                return
            if intake is not None:
                # Noted for this import only: its stored rows may be undone.
                intake.full.add(owner)
            else:
                # From now on, because counting may have taken longer than `FULL`.
                count.full_until = monotonic() + FULL
        raise _too_many(most)

    def refusal(self, collection: Counted, row: Any,
                allows: Callable[[str, Mapping[str, Any]], bool]) -> tuple[int, Problem | None]:
        """Returns the quota of a new row's owner (0: none), and the refusal if the row exceeds it. Counts nothing."""
        owner = row.__data__.get("owner_id")
        most = self.most if collection.most_owned is None else collection.most_owned
        if owner is None or not most or allows(collection.manage, row.__data__):
            return 0, None
        return most, _too_many(most) if owned(collection.model, row.tenant_id, owner, most) >= most else None

    def forget_all(self) -> None:
        """Drops every count, after rows were replaced without counting."""
        self._counts.clear()

    def forget(self, collection: Counted, owner: str | None) -> None:
        """Drops the owner's count, because a row is being deleted."""
        if owner is not None:
            self._counts.pop((collection.name, owner), None)


def _too_many(most: int) -> Problem:
    detail = Message("You own {number} of these, which is the limit.", number=most)
    return Problem.of([Fault("conflict", detail, pointer="/owner_id", meta={"max": most})], "conflict")
