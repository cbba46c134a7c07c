"""What can go wrong with rows, in the same words on both databases."""

from __future__ import annotations

from collections.abc import Iterable


class RowError(Exception):
    """Base of everything that this package raises on purpose."""


class Unavailable(RowError):
    """The database cannot serve now: pool exhausted, server or file gone, another writer too slow."""


class Damaged(Unavailable):
    """What is stored is not what was written: pages that contradict each other, text that is not UTF-8."""

    def __init__(self, found: str) -> None:
        super().__init__(f"the database is damaged: {found}; restore a backup")


class ForeignLog(Unavailable):
    """A database file (SQLite) beside the write-ahead log of another. `name`: of the file."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} is not the file that {name}-wal belongs to, and nothing was changed: stop Gatepost, then put the "
            f"old file back, or move {name}-wal and {name}-shm away to use {name} as it is, without what is in that "
            "log; the next time, `gatepost restore FILE --replace`")


class NoRoom(Unavailable):
    """The disk of the database is full."""


class LostLog(Unavailable):
    """The write-ahead log of a SQLite file, or the index of that log, was deleted or replaced while it was open."""


class Busy(Unavailable):
    """Other writers kept the database (SQLite) longer than a writer waits."""


class InUse(Unavailable):
    """Others use the database, and what was asked for needs it alone."""


class Moved(Unavailable):
    """A SQLite database whose rows were moved to another one. `place`: host, port and name of that one."""

    BEGINNING = "this instance was moved to "

    def __init__(self, place: str) -> None:
        super().__init__(f"{self.BEGINNING}{place}, and takes no writes here any more: name that database in "
                         "database_url; or, to stay here without what was written there, gatepost move --undo")
        self.place = place


class Overloaded(Unavailable):
    """As many threads as may wait for the database are waiting already. `retry_after`: seconds, at least 1."""

    def __init__(self, retry_after: int) -> None:
        super().__init__("as many as may wait for the database are waiting already")
        self.retry_after = retry_after


class Contended(Unavailable):
    """Another transaction got in the way (SQLSTATE 40001, 40P01); the same work may succeed when repeated."""


class TimedOut(RowError):
    """A statement ran longer than the statement timeout."""


class AlreadyExists(RowError):
    """A unique clash. `columns` names what must be unique, without `tenant_id`."""

    def __init__(self, columns: tuple[str, ...] = ()) -> None:
        super().__init__(", ".join(columns))
        self.columns = columns


class StillReferenced(RowError):
    """The row cannot go: others refer to it."""


class InvalidReference(RowError):
    """The row names another that is not there (or belongs to another tenant)."""


class Erased(RowError):
    """Nothing is stored in the name of a person who is erased, or is being erased."""


class Outdated(RowError):
    """The row was changed or deleted since it was read."""


class InvalidState(RowError):
    """What is stored does not allow this; the message says why, to the client.

    `fields` are the values that stand in the way, as paths into the row: `items/0`.
    """

    def __init__(self, message: str, fields: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.fields = tuple(fields)


class OutOfStock(InvalidState):
    """There is less in stock than was asked for."""


class InvalidValue(RowError):
    """A value that cannot be stored: beyond 64 bit, a lone surrogate, of another type, a negative stock."""


class NotTaken(InvalidValue):
    """One of many rows cannot be stored. `number`: which of them, from 1; None where that is not known."""

    def __init__(self, message: str, number: int | None) -> None:
        super().__init__(message)
        self.number = number
