"""Migrations of the schema: numbered files, applied under a lock. Each directory has its own history.

A file with `ROLLING = True` lets older code serve beside it. The database remembers that.
"""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from playhouse.migrations import Migration, MigrationError, Runner

from models.engine.database import Database
from models.engine.errors import Moved, TimedOut, Unavailable
from models.engine.sealer import Sealer

SHIPPED: Mapping[str, Path] = {"gatepost": Path(__file__).parent / "migrations"}
_ROLLING = "rolling_migrations"  # table of migrations that older code may serve beside
_HISTORY = "migrations_"  # start of the name of a history's table
_NUMBERED = re.compile(r"[0-9]+(?=[_.])")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")

# The caller gets the applied migrations. peewee would also log them, even for temporary databases.
logging.getLogger("peewee.migrations").setLevel(logging.WARNING)


def pending(database: Database, directories: Mapping[str, Path] = SHIPPED) -> list[str]:
    """Returns the migrations not yet applied, as `<name>/<migration>`, in order.

    `directories`: short names (`gatepost`, a plugin's) and the directories of their files. Raises `Unavailable`.
    """
    with database.connected():
        return _pending(_runners(database, directories))


def written(directories: Mapping[str, Path] = SHIPPED) -> list[str]:
    """Returns all migrations of these directories, as `<name>/<migration>`, in order. Raises MigrationError."""
    return [f"{name}/{migration.name}" for name, directory in directories.items()
            for migration in Migration.load_directory(str(directory))]  # type: ignore[no-untyped-call]


def misnamed(directory: Path) -> str | None:
    """Returns a sentence about migrations in a directory that would not run, or run in no fixed order, because of their
    names."""
    numbers: dict[int, Path] = {}
    for file in sorted(directory.glob("*.py")):
        if file.name.startswith("_"):
            continue
        if (number := _NUMBERED.match(file.name)) is None:
            return f"{file}: no number, so that nothing would run it; a migration is called like 0002_{file.name}"
        other = numbers.setdefault(int(number.group()), file)
        if other is not file:
            return (f"{file}: {other.name} has the same number; give the one that was not released yet the next number "
                    "that is free")
    return None


def rolling(waiting: Sequence[str], directories: Mapping[str, Path] = SHIPPED) -> frozenset[str]:
    """Returns those of these pending migrations that allow older code to serve beside them. Raises MigrationError."""
    return frozenset(name for name in waiting if _is_rolling(_load(name, directories)))


def obstacle(database: Database, directories: Mapping[str, Path] = SHIPPED) -> str | None:
    """Returns why this code cannot use the database in its present state, and what to do; None if it can.

    A database whose rows were moved elsewhere cannot be used. Histories of other directories, such as those of plugins
    that are not installed, are no obstacle. Neither are rolling migrations of newer code. Raises `Unavailable`.
    """
    with database.connected():
        if (place := database.moved()) is not None:
            return str(Moved(place))
        runners = _runners(database, directories)
        newer, waiting = _unknown(runners), _pending(runners)
        if strict := _strict(database, newer):
            return _is_newer(strict)
        if not waiting:
            return None
        return _is_newer(newer) if newer else missing(waiting)


def histories(database: Database) -> frozenset[str]:
    """Returns the names of all histories in the database, also those of plugins that are not installed."""
    return frozenset(table.removeprefix(_HISTORY) for table in database.get_tables() if table.startswith(_HISTORY))


def missing(waiting: Sequence[str]) -> str:
    """Returns a sentence about pending migrations, and what to do about them."""
    return f"{len(waiting)} {'migration is' if len(waiting) == 1 else 'migrations are'} missing. Run: gatepost migrate"


def upgrade(database: Database, directories: Mapping[str, Path] = SHIPPED, *,
            before: Callable[[], object] | None = None, sealer: Sealer | None = None,
            report: Callable[[int, int], object] | None = None) -> tuple[str, ...]:
    """Applies pending migrations, each in its own transaction. Returns the applied ones (`gatepost/0001_accounts`).

    before  called first if the database has tables, for a backup
    sealer  verifies seals that a migration changes; without it such a migration fails
    report  called by a long migration with the number of rows done, and of all rows

    A second process that upgrades at the same time waits, and then has nothing to do. Raises MigrationError for
    unusable files, and if newer code has migrated the database, `Unavailable`, and whatever `before` or a migration
    raises.
    """
    database.create()
    with database.migrating():
        runners = _runners(database, directories)
        newer, waiting = _unknown(runners), _pending(runners)
        if strict := _strict(database, newer):
            raise MigrationError(_is_newer(strict))
        if not waiting:
            return ()
        # This code was never tested after the migrations of newer code.
        if newer:
            raise MigrationError(_is_newer(newer))
        if before is not None and database.get_tables():
            before()
        database.sealer, database.report = sealer, report
        try:
            applied = [f"{name}/{migration}" for name, runner in runners.items()
                       for migration in runner.up()]  # type: ignore[no-untyped-call]
        finally:
            database.sealer = database.report = None
    database.analyze()
    return tuple(applied)


def _runners(database: Database, directories: Mapping[str, Path]) -> dict[str, Runner]:
    runners: dict[str, Runner] = {}
    for name, directory in directories.items():
        if not _NAME.fullmatch(name):
            raise MigrationError(f"{name!r} cannot name a history of migrations: a-z, 0-9 and _ only")
        if not directory.is_dir():
            raise MigrationError(f"{directory}: no such directory of migrations")
        # One history for each directory: in a shared one, a plugin's 0001 would count as applied because ours is.
        runners[name] = _Runner(database, directory, name)
    return runners


class _Runner(Runner):
    """Applies the migrations of one directory. The database remembers which of them are rolling."""

    def __init__(self, database: Database, directory: Path, history: str) -> None:
        super().__init__(database, str(directory), table_name=f"{_HISTORY}{history}")  # type: ignore[no-untyped-call]
        self._history = history

    def migrations(self) -> list[Migration]:
        history = self._history

        class Noting(Migration):
            """A migration that notes in its own transaction that it is rolling."""

            __slots__ = ()

            def load(self) -> ModuleType:
                with _named(history, self.path):
                    module: ModuleType = super().load()  # type: ignore[no-untyped-call]
                rolls = _is_rolling(module)
                if (up := getattr(module, "up", None)) is not None:
                    def noted(migrator: Any, database: Database) -> None:
                        with _named(history, self.path):
                            up(migrator, database)
                        if rolls:
                            _note(database, history, self.name)

                    module.up = noted  # type: ignore[attr-defined]
                return module

        return [Noting(*each) for each in super().migrations()]  # type: ignore[no-untyped-call]


@contextmanager
def _named(history: str, path: str) -> Iterator[None]:
    """Adds file and line to errors of a plugin's migration, for its author. Errors of the database pass unchanged."""
    try:
        yield
    except (Unavailable, TimedOut):
        raise
    except Exception as error:
        if history in SHIPPED:
            raise
        lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == path]
        if isinstance(error, SyntaxError):
            lines = [error.lineno or 1]
        message = str(error) if isinstance(error, MigrationError) else f"{type(error).__name__}: {error}"
        raise MigrationError(f"{path}{f':{lines[-1]}' if lines else ''}: {message.strip()}") from error


def _is_rolling(module: ModuleType) -> bool:
    value = getattr(module, "ROLLING", False)
    if not isinstance(value, bool):
        raise MigrationError(f"{module.__name__}: ROLLING is True or False, not {value!r}")
    return value


def _load(name: str, directories: Mapping[str, Path]) -> ModuleType:
    history, _, migration = name.partition("/")
    module: ModuleType = Migration(
        0, migration, str(directories[history] / f"{migration}.py"), None).load()  # type: ignore[no-untyped-call]
    return module


def _note(database: Database, history: str, migration: str) -> None:
    # Without the table, older code refuses the database, which is always safe.
    if database.table_exists(_ROLLING):
        place = "?" if database.dialect == "sqlite" else "%s"
        database.execute_sql(f"INSERT INTO {_ROLLING} (history, migration) VALUES ({place}, {place}) "
                             "ON CONFLICT DO NOTHING", (history, migration))


def _strict(database: Database, unknown: Sequence[str]) -> list[str]:
    """Returns those of these migrations of newer code that forbid this code to serve beside them."""
    if not unknown or not database.table_exists(_ROLLING):
        return list(unknown)
    rolling_names = {f"{history}/{migration}" for history, migration in database.query(
        f"SELECT history, migration FROM {_ROLLING}")}
    return [name for name in unknown if name not in rolling_names]


def _pending(runners: Mapping[str, Runner]) -> list[str]:
    return [f"{name}/{migration.name}" for name, runner in runners.items()
            for migration in runner.status()  # type: ignore[no-untyped-call]
            if migration.path is not None and not migration.applied]


def _unknown(runners: Mapping[str, Runner]) -> list[str]:
    """Returns the applied migrations that this code does not have."""
    return [f"{name}/{migration.name}" for name, runner in runners.items()
            for migration in runner.status()  # type: ignore[no-untyped-call]
            if migration.path is None]


def _is_newer(unknown: Sequence[str]) -> str:
    return (f"The database was migrated by newer code, which has {unknown[-1]}. Install that version, or restore a "
            "backup of before: gatepost restore --replace FILE")
