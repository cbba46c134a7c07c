"""Schema changes: numbered files, each directory with a history of its own, applied under a lock.

A file that says `ROLLING = True` lets code that does not have it go on serving beside it; the database keeps that.
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
_ROLLING = "rolling_migrations"  # the table of what older code may serve beside
_HISTORY = "migrations_"  # with which the name of a history's table begins
_NUMBERED = re.compile(r"[0-9]+(?=[_.])")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")

# What was applied is returned; peewee would log it, also where the database is a temporary one.
logging.getLogger("peewee.migrations").setLevel(logging.WARNING)


def pending(database: Database, directories: Mapping[str, Path] = SHIPPED) -> list[str]:
    """The migrations not yet applied, as `<name>/<migration>`, in the order in which they would be.

    `directories`: a short name for each (`gatepost`, a plugin's) and where its files are. Raises
    `Unavailable`.
    """
    with database.connected():
        return _pending(_runners(database, directories))


def written(directories: Mapping[str, Path] = SHIPPED) -> list[str]:
    """All migrations of these directories, as `<name>/<migration>`, in their order. Raises MigrationError."""
    return [f"{name}/{migration.name}" for name, directory in directories.items()
            for migration in Migration.load_directory(str(directory))]  # type: ignore[no-untyped-call]


def misnamed(directory: Path) -> str | None:
    """What is wrong with the names of the migrations in a directory, as a sentence: files that would not be run, or in
    no certain order."""
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
    """Those of these pending migrations beside which older code may go on serving. Raises MigrationError."""
    return frozenset(name for name in waiting if _is_rolling(_load(name, directories)))


def obstacle(database: Database, directories: Mapping[str, Path] = SHIPPED) -> str | None:
    """Why this code cannot use the database as it is, and what to do about it; None where it can.

    A history whose directory is not named, such as that of a plugin that is not installed, is no obstacle, nor are
    rolling migrations of newer code. One whose rows were moved elsewhere is not to be used. Raises `Unavailable`.
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
    """The names of the histories that the database has, also those of plugins that are not installed."""
    return frozenset(table.removeprefix(_HISTORY) for table in database.get_tables() if table.startswith(_HISTORY))


def missing(waiting: Sequence[str]) -> str:
    """The sentence about migrations that are pending, and what to do about them."""
    return f"{len(waiting)} {'migration is' if len(waiting) == 1 else 'migrations are'} missing. Run: gatepost migrate"


def upgrade(database: Database, directories: Mapping[str, Path] = SHIPPED, *,
            before: Callable[[], object] | None = None, sealer: Sealer | None = None,
            report: Callable[[int, int], object] | None = None) -> tuple[str, ...]:
    """Apply what is pending, each migration in a transaction of its own; what was applied (`gatepost/0001_accounts`).

    `sealer` proves what was sealed, where a migration changes that; without it such a migration fails. `report` is told
    how many rows of a table a long migration has done, and of how many.

    `before` is called first where the database holds something, for a backup. A second process that upgrades at the
    same time waits, and finds nothing left to do. Raises MigrationError for files that cannot be used, and where newer
    code has migrated the database, `Unavailable`, and whatever `before` or a migration raises.
    """
    database.create()
    with database.migrating():
        runners = _runners(database, directories)
        newer, waiting = _unknown(runners), _pending(runners)
        if strict := _strict(database, newer):
            raise MigrationError(_is_newer(strict))
        if not waiting:
            return ()
        # What this code would do was never tried after what newer code has done.
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
        # One history per directory: in a shared one, a plugin's 0001 would count as applied because ours is.
        runners[name] = _Runner(database, directory, name)
    return runners


class _Runner(Runner):
    """Applies the migrations of one directory; the database keeps which of them are rolling."""

    def __init__(self, database: Database, directory: Path, history: str) -> None:
        super().__init__(database, str(directory), table_name=f"{_HISTORY}{history}")  # type: ignore[no-untyped-call]
        self._history = history

    def migrations(self) -> list[Migration]:
        history = self._history

        class Noting(Migration):
            """Whose `up` notes it inside its transaction, where it is rolling."""

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
    """What a migration of a plugin raises says its file and line: its author knows that, not what called it. That the
    database cannot be used is no fault of a migration's."""
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
        said = str(error) if isinstance(error, MigrationError) else f"{type(error).__name__}: {error}"
        raise MigrationError(f"{path}{f':{lines[-1]}' if lines else ''}: {said.strip()}") from error


def _is_rolling(module: ModuleType) -> bool:
    said = getattr(module, "ROLLING", False)
    if not isinstance(said, bool):
        raise MigrationError(f"{module.__name__}: ROLLING is True or False, not {said!r}")
    return said


def _load(name: str, directories: Mapping[str, Path]) -> ModuleType:
    history, _, migration = name.partition("/")
    module: ModuleType = Migration(
        0, migration, str(directories[history] / f"{migration}.py"), None).load()  # type: ignore[no-untyped-call]
    return module


def _note(database: Database, history: str, migration: str) -> None:
    # Without the table, older code refuses the database, which is never wrong.
    if database.table_exists(_ROLLING):
        place = "?" if database.dialect == "sqlite" else "%s"
        database.execute_sql(f"INSERT INTO {_ROLLING} (history, migration) VALUES ({place}, {place}) "
                             "ON CONFLICT DO NOTHING", (history, migration))


def _strict(database: Database, unknown: Sequence[str]) -> list[str]:
    """Those of these migrations of newer code beside which this code may not serve."""
    if not unknown or not database.table_exists(_ROLLING):
        return list(unknown)
    kept = {f"{history}/{migration}" for history, migration in database.query(
        f"SELECT history, migration FROM {_ROLLING}")}
    return [name for name in unknown if name not in kept]


def _pending(runners: Mapping[str, Runner]) -> list[str]:
    return [f"{name}/{migration.name}" for name, runner in runners.items()
            for migration in runner.status()  # type: ignore[no-untyped-call]
            if migration.path is not None and not migration.applied]


def _unknown(runners: Mapping[str, Runner]) -> list[str]:
    """What was applied that this code does not have."""
    return [f"{name}/{migration.name}" for name, runner in runners.items()
            for migration in runner.status()  # type: ignore[no-untyped-call]
            if migration.path is None]


def _is_newer(unknown: Sequence[str]) -> str:
    return (f"The database was migrated by newer code, which has {unknown[-1]}. Install that version, or restore a "
            "backup of before: gatepost restore --replace FILE")
