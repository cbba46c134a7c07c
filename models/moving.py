"""Moves all rows of an instance from SQLite to an empty Postgres database, all of them or none.

One transaction of Postgres stores the rows, while this process has the turn to write to SQLite. SQLite is closed for
writes (`models.engine.sqlite.moved`) just before that transaction is committed. So no write ever goes to a database
that is not used any more. If the process is killed between the two, SQLite is closed and Postgres is empty: a second
move completes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models.contents import Contents, contents
from models.engine.database import Database
from models.engine.errors import Damaged, InvalidReference, Moved, NotTaken, RowError
from models.engine.postgres import filling
from models.engine.sealer import Sealer
from models.engine.sqlite import moved
from models.engine.words import mark, vector
from models.migrate import SHIPPED, histories, upgrade
from models.tables import seals
from models.tables.audit import Seal
from models.tables.load import open_loads, undo_left
from models.tables.restored import end_after_move

if TYPE_CHECKING:
    from models.engine.postgres.database import PostgresDatabase

STAYS: Mapping[str, str] = {
    "backups": "they are of SQLite, and cannot be restored into Postgres",
    "nodes": "processes that serve the old database",
    "files of exports": "they are in a file of their own, and can be asked for again",
}
"""What does not move, and why: tables, but for the last."""
OF_THE_SCHEMA = ("loads", "rolling_migrations")  # and the histories of migrations: each database has its own
_HISTORY = "migrations_"
_HIDDEN = "load"  # a column that only SQLite has (`ddl.loadable`)
NAMED = 20  # rows that a message lists
STEP = 10_000  # rows between two reports of progress
Progress = Callable[[int, int], None]


class CannotMove(Exception):
    """Nothing was moved; the text is a sentence."""


@dataclass(frozen=True)
class Done:
    """Result of a move.

    place     host, port and name of the new database
    rows      table → number of rows
    seals     number of seals of the audit log, which are the same in both
    sessions  number of ended sessions
    jobs      number of unfinished jobs that failed
    left      tables of plugins that are not installed, which stayed behind
    """

    place: str
    rows: Mapping[str, int]
    seals: int
    sessions: int
    jobs: int
    left: tuple[str, ...]


def prepare(source: Database, target: PostgresDatabase, migrations: Mapping[str, Path] = SHIPPED) -> None:
    """Applies all migrations to the empty database `target`.

    Raises CannotMove if it holds an instance or another program's tables, or if `source` was moved to another place,
    MigrationError, `RowError`.
    """
    with source.connected():
        place = source.moved()
    with target.connected():
        try:
            _refuse_filled(target)
        except CannotMove as error:
            raise CannotMove(str(error) if place is None else str(Moved(place))) from error
        # An earlier move to the same place may have stopped just before its end.
        if place not in (None, target.place):
            raise CannotMove(str(Moved(str(place))))
        if not target.query("SELECT pg_catalog.getdatabaseencoding() = 'UTF8'")[0][0]:
            raise CannotMove("The target does not store text as UTF-8. Make a database with the encoding UTF8.")
    upgrade(target, migrations)
    undo_left(source)


def move(source: Database, target: PostgresDatabase, sealer: Sealer, *, leave_unknown: bool = False,
         finish: Callable[[], None] = lambda: None, progress: Progress = lambda done, whole: None) -> Done:
    """Moves all rows to a database that `prepare` has made, and closes `source` for writers.

    leave_unknown  leave tables of plugins that are not installed behind
    finish         called in the last transaction of `target`, to record what was done

    Writers of `source` wait meanwhile, and are refused after that; readers go on. Raises CannotMove, `RowError`; then
    nothing was moved, and `source` accepts writes.
    """
    try:
        with source.migrating(), target.migrating(), target.atomic():
            target.execute_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
            # SQLite's transaction ends first: it is closed before the other database accepts writes.
            with source.atomic():
                done = _copied(source, target, sealer, leave_unknown, progress)
                finish()
                moved.close(source, target.place)
    except BaseException:
        _reopen(source, target)
        raise
    with suppress(RowError):  # the rows are there; the server updates its statistics later by itself
        target.analyze()
    return done


def reopen(source: Database) -> None:
    """Makes a database that was moved accept writes again. Raises `RowError`."""
    with source.migrating(), source.atomic():
        moved.reopen(source)


def _reopen(source: Database, target: Database) -> None:
    """Makes the source accept writes again, if the target is known to be empty."""
    with suppress(CannotMove, RowError):
        with source.connected():
            if source.moved() is None:
                return
        # A commit may still be running after its connection was lost. It holds this lock until its end.
        with target.migrating():
            _refuse_filled(target)
        reopen(source)


def _refuse_filled(target: Database) -> None:
    tables = filling.columns(target)
    if not tables:
        return
    if f"{_HISTORY}gatepost" not in tables:
        raise CannotMove(f"The target holds tables of another program, such as {min(tables)}. Name an empty database.")
    if "tenants" in tables and _has_rows(target, "tenants"):
        raise CannotMove("The target holds an instance already. Name an empty database.")


def _copied(source: Database, target: PostgresDatabase, sealer: Sealer, leave_unknown: bool,
            progress: Progress) -> Done:
    if open_loads(source):
        raise CannotMove("An import is under way. Wait until it has ended, or stop Gatepost.")
    source_contents = contents(source)
    tables, unknown = _tables(source, target, source_contents, leave_unknown)
    _refuse_nul(source, tables)
    whole, number = sum(source_contents.rows[name] for name in tables), 0
    try:
        with filling.bare(target):
            # No other process can add rows now.
            _refuse_filled(target)
            for name, columns in tables.items():
                if _has_rows(target, name):  # rows of a migration
                    target.execute_sql(f'DELETE FROM "{name}"')
                _copy(source, target, name, columns, lambda done: progress(done, whole), number)
                number += source_contents.rows[name]
    except InvalidReference as error:
        raise CannotMove(f"A row refers to another that is not there. {error}") from error
    sealed = _compare(source, target, source_contents, tables, sealer)
    sessions, jobs = end_after_move()
    return Done(target.place, {name: source_contents.rows[name] for name in tables}, sealed, sessions, jobs, unknown)


def _copy(source: Database, target: PostgresDatabase, name: str, columns: Sequence[str],
          report: Callable[[int], None], before: int) -> None:
    """Copies one table. Calls `report` with the number of copied rows, including the `before` ones of other tables."""
    rows = _Rows(source, name, columns)
    searched = [column for column, in source.query("SELECT name FROM pragma_table_info(?, 'main')", [f"{name}_search"])]
    try:
        if searched:
            target.fill(name, (*columns, "search"), _with_words(_counted(rows, report, before), columns, searched))
        else:
            target.fill(name, columns, _counted(rows, report, before))
    except NotTaken as error:
        raise CannotMove(f"Postgres does not take {rows.named(error.number)}: {error}") from error


def _tables(source: Database, target: Database, there: Contents,
            leave_unknown: bool) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Returns the tables to copy with their columns, and those that only plugins know which are not installed."""
    existing, tables, unknown = filling.columns(target), dict[str, tuple[str, ...]](), []
    for history in sorted(histories(target)):
        if there.migrations.get(history) != _applied(target, history):
            raise CannotMove(f"The two databases do not have the same migrations of {history}.")
    for name, number in there.rows.items():
        if name in STAYS or name in OF_THE_SCHEMA or name.startswith(_HISTORY):
            continue
        if name not in existing:
            if number:
                unknown.append(name)
            continue
        columns = [column for column, in source.query("SELECT name FROM pragma_table_info(?, 'main')", [name])]
        for column in columns:
            if column not in existing[name] and column != _HIDDEN:
                raise CannotMove(f"Postgres has no column {column} of {name}. Install the plugin that has made it.")
        tables[name] = tuple(column for column in columns if existing[name].get(column) is False)
    if unknown and not leave_unknown:
        raise CannotMove(f"No plugin that is installed knows these tables: {', '.join(unknown)}. Install theirs; or, "
                         "to leave their rows behind, add --leave-unknown.")
    return tables, tuple(unknown)


def _applied(database: Database, history: str) -> list[str]:
    """Returns the applied migrations of one history, in order."""
    return [str(name) for name, in database.query(f'SELECT name FROM "{_HISTORY}{history}" ORDER BY name')]


def _refuse_nul(source: Database, tables: Mapping[str, Sequence[str]]) -> None:
    """Raises CannotMove with the rows that contain NUL in a text, which Postgres refuses."""
    names: list[str] = []
    for name, columns in tables.items():
        holds = " OR ".join(f"(typeof(\"{column}\") = 'text' AND instr(\"{column}\", char(0)))" for column in columns)
        names += [f"{name} {key}" for key, in source.query(
            f'SELECT "{_key(columns)}" FROM main."{name}" WHERE {holds} LIMIT {NAMED + 1 - len(names)}')]
        if len(names) > NAMED:
            break
    if names:
        more = "\nand others" if len(names) > NAMED else ""
        raise CannotMove("Postgres stores no text with the character NUL (U+0000). Change these rows first:\n"
                         + "\n".join(names[:NAMED]) + more)


class _Rows:
    """Rows of a SQLite table, read one by one."""

    def __init__(self, source: Database, name: str, columns: Sequence[str]) -> None:
        self._source, self._name, self._columns = source, name, columns
        self._reading = f'SELECT {", ".join(map(_quoted, columns))} FROM main."{name}"'

    def __iter__(self) -> Iterator[Sequence[Any]]:
        try:
            yield from self._source.execute_sql(self._reading)
        except UnicodeDecodeError as error:
            raise Damaged(f"{self._name}: {error}") from error

    def named(self, number: int | None) -> str:
        """Describes a row by its position in this order."""
        if number is None:
            return f"a row of {self._name}"
        row, = self._source.query(f"{self._reading} LIMIT 1 OFFSET {number - 1}")
        key = _key(self._columns)
        return f"the row of {self._name} whose {key} is {row[self._columns.index(key)]}"


def _counted(rows: _Rows, report: Callable[[int], None], before: int) -> Iterator[Sequence[Any]]:
    for number, row in enumerate(rows, before):
        if number % STEP == 0:
            report(number)
        yield row


def _with_words(rows: Iterator[Sequence[Any]], columns: Sequence[str],
                searched: Sequence[str]) -> Iterator[Sequence[Any]]:
    """Adds the words of the searched columns to each row. SQLite has them in an index beside the table."""
    tenant, texts = columns.index("tenant_id"), [columns.index(column) for column in searched]
    for row in rows:
        yield (*row, vector([row[place] for place in texts], mark(row[tenant])))


def _compare(source: Database, target: Database, source_contents: Contents, tables: Mapping[str, Sequence[str]],
             sealer: Sealer) -> int:
    """Compares both databases and returns the number of seals. Raises CannotMove for any difference."""
    target_contents = contents(target)
    for name in tables:
        if target_contents.rows[name] != source_contents.rows[name]:
            raise CannotMove(f"Postgres has {target_contents.rows[name]} rows of {name} instead of "
                             f"{source_contents.rows[name]}.")
    sealed = _seals(target)
    if sealed != _seals(source):
        raise CannotMove("The seals of the audit log are not the same in Postgres.")
    verdict = seals.verify(target, sealer)
    # Damage that the source has too is no fault of the move.
    if verdict.findings and verdict != _verdict(source, sealer):
        raise CannotMove(f"The audit log is not the same in Postgres: {verdict.findings[0]}")
    return len(sealed)


def _verdict(source: Database, sealer: Sealer) -> seals.Verdict:
    with source.connected():
        return seals.verify(source, sealer)


def _seals(database: Database) -> list[tuple[Any, ...]]:
    names = ", ".join(_quoted(field.column_name) for field in Seal._meta.sorted_fields)
    return database.query(f"SELECT {names} FROM audit_seals ORDER BY seq")


def _has_rows(database: Database, table: str) -> bool:
    return bool(database.query(f'SELECT EXISTS (SELECT 1 FROM "{table}")')[0][0])


def _key(columns: Sequence[str]) -> str:
    """Returns the column that identifies a row in a message."""
    return "id" if "id" in columns else columns[0]


def _quoted(name: str) -> str:
    return f'"{name}"'
