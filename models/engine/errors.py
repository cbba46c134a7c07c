"""Errors of rows, alike on both databases."""

from __future__ import annotations

from collections.abc import Iterable


class RowError(Exception):
    """Base of all errors that this package raises on purpose."""


class Unavailable(RowError):
    """The database cannot serve now: no free connection, server or file missing, another writer too slow."""


class Damaged(Unavailable):
    """Damage in stored data: pages that contradict each other, text that is not UTF-8."""

    def __init__(self, damage: str) -> None:
        super().__init__(f"the database is damaged: {damage}; restore a backup")


class ForeignLog(Unavailable):
    """A SQLite file lies beside the write-ahead log of another file. `name`: of the file."""

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
    """The operation needs the database alone, and others use it."""


class Moved(Unavailable):
    """The rows of this SQLite database were moved to another database. `place`: host, port and name of that one."""

    BEGINNING = "this instance was moved to "

    def __init__(self, place: str) -> None:
        super().__init__(f"{self.BEGINNING}{place}, and takes no writes here any more: name that database in "
                         "database_url; or, to stay here without what was written there, gatepost move --undo")
        self.place = place


class Overloaded(Unavailable):
    """The limit of threads that wait for the database is reached. `retry_after`: seconds, at least 1."""

    def __init__(self, retry_after: int) -> None:
        super().__init__("as many as may wait for the database are waiting already")
        self.retry_after = retry_after


class Contended(Unavailable):
    """A conflict with another transaction (SQLSTATE 40001, 40P01). A retry of the same work may succeed."""


class TimedOut(RowError):
    """A statement ran longer than the statement timeout."""


class AlreadyExists(RowError):
    """A violation of a unique constraint. `columns` names its columns, without `tenant_id`."""

    def __init__(self, columns: tuple[str, ...] = ()) -> None:
        super().__init__(", ".join(columns))
        self.columns = columns


class StillReferenced(RowError):
    """The row cannot be deleted: other rows refer to it."""


class InvalidReference(RowError):
    """The row refers to another one that does not exist, or belongs to another tenant."""


class Erased(RowError):
    """A user who is erased, or is being erased. Nothing more is stored in that user's name."""


class Outdated(RowError):
    """The row was changed or deleted since it was read."""


class InvalidState(RowError):
    """The stored data does not allow this. The message says why, and is shown to the client.

    `fields` are the values that stand in the way, as paths into the row: `items/0`.
    """

    def __init__(self, message: str, fields: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.fields = tuple(fields)


class OutOfStock(InvalidState):
    """Less is in stock than was ordered."""


class InvalidValue(RowError):
    """A value that cannot be stored: beyond 64 bits, a lone surrogate, a wrong type, a negative stock."""


class NotTaken(InvalidValue):
    """One of many rows cannot be stored. `number`: of that row, from 1; None if the database does not say."""

    def __init__(self, message: str, number: int | None) -> None:
        super().__init__(message)
        self.number = number
