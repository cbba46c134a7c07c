"""Hides the rows of open loads from all connections but their own.

A load stores many rows in several transactions, each row with the load's number in the column `load`; one last
transaction closes it. The table `loads` (`models.tables.load`) lists the open ones. While there are any, each
connection has a temporary view for each table that they fill. The view has the table's name and leaves out the rows of
the loads. SQLite resolves the name to the view first, for every SELECT. Without an open load there is no view, and a
statement costs nothing extra.

A view must fit the snapshot that a statement reads. So after each read, the connection checks the version of the file
in that snapshot. If it has changed since `loads` was last read, `loads` is read again. If that has changed too, the
views are made again and the statement is repeated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import apsw
import orjson

# The load whose transactions this thread makes now: they see its rows. 0: a load that is being opened.
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
    """Makes the transactions that this thread begins in the block belong to the load `number`."""
    token = _own.set(number)
    try:
        yield
    finally:
        _own.reset(token)


def reads(sql: str) -> bool:
    """True if a statement only reads, and may be repeated."""
    return _READS.match(sql) is not None


class LoadsHidden(apsw.Connection):
    """Connection that hides the rows of open loads.

    known    version of the file when `loads` was last read
    shadowed tables that have a view now: statements that change them must name the schema (`aimed`)
    heedless True to see every row: for migrations, which change tables and not views
    """

    def __init__(self, path: str, **options: Any) -> None:
        super().__init__(path, **options)
        self.known_version = -1
        self.shadowed: frozenset[str] = frozenset()
        self.heedless = False
        self._loads: list[Any] = []
        self._sees: int | None = None

    def stale(self) -> bool:
        """True if `loads` has changed since the views were made. Then call `follow` and repeat the statement.

        Call it when `data_version()` differs from `known`. In a transaction it is always False.
        """
        if self.heedless or not self.getautocommit():
            return False
        if self._read() != self._loads:
            return True
        self.known_version = self.data_version()
        return False

    def follow(self) -> None:
        """Makes the views fit the open loads. No statement of this connection may be running."""
        loads = [] if self.heedless else self._read()
        version = self.data_version()
        opened = [(number, orjson.loads(tables)) for number, state, tables in loads if state == "open"]
        tables_with_loads = frozenset(name for _, tables in opened for name in tables)
        # If this is interrupted, the next call starts from the beginning.
        self.known_version = -1
        existing = {name for name, in self.execute("SELECT name FROM temp.sqlite_schema WHERE type = 'view'")}
        for name in existing - tables_with_loads:
            self.execute(f'DROP VIEW temp."{name}"')
        if opened:
            self.execute("CREATE TEMP TABLE IF NOT EXISTS hidden_loads (number INTEGER PRIMARY KEY)")
        for name in tables_with_loads - existing:
            self.execute(_VIEW.format(name))
        self.shadowed, self._loads = tables_with_loads, loads
        self._hide()
        self.forget()
        self.known_version = version

    def begin(self, lock: str) -> None:
        """Begins a transaction that writes. It sees the rows of its own load, and of no other open load."""
        if self._sees != (own := _own.get()):
            self._sees = own
            self._hide()
        while True:
            self.execute(f"BEGIN {lock}")
            if self.data_version() == self.known_version or self.heedless:
                return
            if self._read() == self._loads:
                self.known_version = self.data_version()
                return
            # Views made inside the transaction would disappear with a rollback.
            self.execute("ROLLBACK")
            self.follow()

    def commit(self) -> None:
        self.execute("COMMIT")
        # No other connection can have opened or closed a load since `begin`.
        self.known_version = self.data_version() if self._sees is None else -1

    def aimed(self, sql: str) -> str:
        """Returns the statement with the schema before the table's name, so that it changes the table and not its view.
        """
        match = _WRITES.match(sql)
        if match is None or match[2] not in self.shadowed:
            return sql
        return f'{match[1]} "main"."{match[2]}"{sql[match.end():]}'

    def forget(self) -> None:
        """Forgets the results of earlier reads."""

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
