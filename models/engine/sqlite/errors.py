"""Translation of SQLite's errors into `RowError`."""

from __future__ import annotations

import re

import apsw

from models.engine.errors import (
    AlreadyExists,
    Busy,
    Damaged,
    InvalidReference,
    InvalidValue,
    Moved,
    NoRoom,
    RowError,
    StillReferenced,
    TimedOut,
    Unavailable,
)

_GONE = (apsw.LockedError, apsw.CantOpenError, apsw.IOError, apsw.FullError, apsw.ReadOnlyError, apsw.ProtocolError,
         apsw.NoMemError, apsw.ConnectionClosedError)
_ABSENT = re.compile("no such |no column named |^error in ")
_COLUMN = re.compile(r"[\w]+\.([\w]+)")


def meaning(error: BaseException, sql: str) -> RowError | None:
    """Translates a driver error of the statement `sql`. Returns None for a bug, which must stay visible."""
    if isinstance(error, OverflowError | UnicodeEncodeError | apsw.TooBigError):
        return InvalidValue(str(error))
    # A UnicodeDecodeError outside of a statement may come from a client's input.
    if isinstance(error, apsw.CorruptError | apsw.NotADBError) or (isinstance(error, UnicodeDecodeError) and sql):
        return Damaged(str(error))
    if not isinstance(error, apsw.Error):
        return None
    if isinstance(error, apsw.InterruptError):
        return TimedOut("the statement took too long")
    if isinstance(error, apsw.BusyError):
        return busy()
    if isinstance(error, apsw.ConstraintError):
        return _broken_constraint(error, sql)
    if isinstance(error, apsw.FullError):
        return NoRoom("the disk of the database is full")
    if isinstance(error, apsw.IOError):
        return Unavailable(f"the disk of the database does not work: {error}")
    # A savepoint disappeared with its transaction, or tables and columns with a part of the schema.
    if isinstance(error, _GONE) or (isinstance(error, apsw.SQLError) and _ABSENT.search(str(error))):
        return Unavailable(str(error))
    return None


def busy() -> Busy:
    """Returns the error of a writer that did not get its turn in time."""
    return Busy("other writers kept the database busy")


def _broken_constraint(error: apsw.ConstraintError, sql: str) -> RowError | None:
    kind, text = getattr(error, "extendedresult", 0), str(error)
    if kind in (apsw.SQLITE_CONSTRAINT_UNIQUE, apsw.SQLITE_CONSTRAINT_PRIMARYKEY):
        return AlreadyExists(tuple(name for name in _COLUMN.findall(text) if name != "tenant_id"))
    # An inner trigger carries out ON DELETE RESTRICT, so the code differs and only the text is reliable.
    if kind == apsw.SQLITE_CONSTRAINT_FOREIGNKEY or "FOREIGN KEY" in text:
        return StillReferenced() if sql.startswith("DELETE") else InvalidReference()
    if kind == apsw.SQLITE_CONSTRAINT_TRIGGER and (place := text.partition(Moved.BEGINNING)[2]):
        return Moved(place)
    if kind in (apsw.SQLITE_CONSTRAINT_CHECK, apsw.SQLITE_CONSTRAINT_DATATYPE):
        return InvalidValue(text)
    return None
