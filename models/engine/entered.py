"""Database that the running thread or task has entered, and the context manager that enters one."""

from __future__ import annotations

from contextvars import ContextVar
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

from models.engine.errors import Damaged, RowError, Unavailable


class Enterable(Protocol):
    """Methods of a database that entering needs."""

    def is_closed(self) -> bool:
        """True if this thread holds no connection of the database."""

    def connect(self) -> bool: ...

    def close(self) -> bool: ...

    def translate(self, error: BaseException) -> RowError | None: ...

    def note(self, damage: Damaged) -> None: ...


D = TypeVar("D", bound=Enterable)
entered_database: ContextVar[Any] = ContextVar("gatepost_database", default=None)


class Entering(Generic[D]):
    """Context manager of `with database.connected():`. It is a class because every request enters it.

    connects  True to hold a connection, too, unless this thread holds one already
    """

    __slots__ = ("connects", "database", "opened", "previous")

    def __init__(self, database: D, *, connects: bool = True) -> None:
        self.database = database
        self.connects = connects

    def __enter__(self) -> D:
        database = self.database
        self.opened = self.connects and database.is_closed()
        if self.opened:
            try:
                database.connect()
            except RowError:
                raise
            except Exception as error:
                raise (database.translate(error) or Unavailable(str(error))) from error
        self.previous = entered_database.get()
        entered_database.set(database)
        return database

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        # A streamed answer may be closed in another context than the one that opened it, so this is no Token.
        entered_database.set(self.previous)
        if self.opened:
            self.database.close()
        if error is not None:
            # Rows are read lazily, and peewee does not execute COMMIT: both may fail after `_execute_cursor`.
            problem = self.database.translate(error)
            if isinstance(raised := problem or error, Damaged):
                self.database.note(raised)
            if problem is not None:
                raise problem from error
