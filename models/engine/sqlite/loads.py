"""What a connection sees while a load is open: of the rows that it has stored so far, nothing.

A load stores many rows in transactions of their own, each row with its number in the column `load`; one last
transaction closes it. The table `loads` (`models.tables.load`) names the open ones. While there are any, each
connection has a temporary view of the name of each table that they fill, which leaves their rows out; SQLite looks
there first, whoever wrote the SELECT. Without an open load there is no view, and a statement costs what it always did.

A view must fit the snapshot that a statement reads. So each read is followed by a look at the version of the file, as
of that very snapshot; where it is not the one at which `loads` was read last, that is read again, and if it has
changed, so are the views, and the statement is run once more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import apsw
import orjson

# The load whose transactions this thread makes now: they see its rows. 0: one that is being opened.
_own: ContextVar[int | None] = ContextVar("gatepost_load", default=None)

_WRITES = re.compile(r'\s*((?:INSERT|REPLACE)(?: OR \w+)? INTO|UPDATE(?: OR \w+)?|DELETE FROM)\s+"?(\w+)"?(?=[\s(])',
                     re.IGNORECASE)
_READS = re.compile(r"\s*(?:SELECT|WITH|VALUES)\b", re.IGNORECASE)
_LOADS = "SELECT number, state, tables FROM main.loads ORDER BY number"
_VIEW = """
CREATE TEMP VIEW "{0}" AS SELECT rowid AS rowid, * FROM main."{0}"
WHERE "load" IS NULL OR "load" NOT IN (SELECT number FROM temp.hidden_loads)
"""


@contextmanager
def of_load(number: int) -> Iterator[None]:
    """The transactions that this thread begins are those of the load `number`."""
    before = _own.set(number)
    try:
        yield
    finally:
        _own.reset(before)


def reads(sql: str) -> bool:
    """Whether a statement only reads, and may be run again."""
    return _READS.match(sql) is not None


class LoadsHidden(apsw.Connection):
    """A connection that hides what open loads have stored.

    known    the version of the file at which `loads` was read last
    shadowed tables that have a view now: what changes them must name the schema (`aimed`)
    heedless sees every row: for migrations, which change tables and not views
    """

    def __init__(self, path: str, **options: Any) -> None:
        super().__init__(path, **options)
        self.known = -1
        self.shadowed: frozenset[str] = frozenset()
        self.heedless = False
        self._loads: list[Any] = []
        self._sees: int | None = None

    def stale(self) -> bool:
        """Whether `loads` is not as the views were made for: `follow`, and run the statement again.

        To be asked where `data_version()` is not `known`. In a transaction it is always as it was at its beginning.
        """
        if self.heedless or not self.getautocommit():
            return False
        if self._read() != self._loads:
            return True
        self.known = self.data_version()
        return False

    def follow(self) -> None:
        """Make the views fit the loads that are open now. No statement of this connection may be running."""
        loads = [] if self.heedless else self._read()
        version = self.data_version()
        opened = [(number, orjson.loads(tables)) for number, state, tables in loads if state == "open"]
        wanted = frozenset(name for _, tables in opened for name in tables)
        # What was interrupted half way is begun anew.
        self.known = -1
        there = {name for name, in self.execute("SELECT name FROM temp.sqlite_schema WHERE type = 'view'")}
        for name in there - wanted:
            self.execute(f'DROP VIEW temp."{name}"')
        if opened:
            self.execute("CREATE TEMP TABLE IF NOT EXISTS hidden_loads (number INTEGER PRIMARY KEY)")
        for name in wanted - there:
            self.execute(_VIEW.format(name))
        self.shadowed, self._loads = wanted, loads
        self._hide()
        self.forget()
        self.known = version

    def begin(self, lock: str) -> None:
        """Begin a transaction that writes; it sees the rows of its own load and of no other open one."""
        if self._sees != (own := _own.get()):
            self._sees = own
            self._hide()
        while True:
            self.execute(f"BEGIN {lock}")
            if self.data_version() == self.known or self.heedless:
                return
            if self._read() == self._loads:
                self.known = self.data_version()
                return
            # Views made within the transaction would go with it, if it is undone.
            self.execute("ROLLBACK")
            self.follow()

    def commit(self) -> None:
        self.execute("COMMIT")
        # No other connection can have opened or closed a load since `begin`.
        self.known = self.data_version() if self._sees is None else -1

    def aimed(self, sql: str) -> str:
        """A statement so that it changes the table, not the view of its name."""
        found = _WRITES.match(sql)
        if found is None or found[2] not in self.shadowed:
            return sql
        return f'{found[1]} "main"."{found[2]}"{sql[found.end():]}'

    def forget(self) -> None:
        """Forget what was remembered of earlier reads."""

    def _hide(self) -> None:
        if self.shadowed:
            hidden = [(number,) for number, state, _ in self._loads if state == "open" and number != self._sees]
            self.execute("DELETE FROM temp.hidden_loads")
            self.executemany("INSERT INTO temp.hidden_loads VALUES (?)", hidden)

    def _read(self) -> list[Any]:
        try:
            return self.execute(_LOADS).fetchall()
        except apsw.SQLError:
            if self.execute("SELECT 1 FROM main.sqlite_schema WHERE name = 'loads'").get is None:
                return []  # before the migrations
            raise
