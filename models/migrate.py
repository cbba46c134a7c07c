"""Schema changes: numbered files, each directory with a history of its own, applied under a lock."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from playhouse.migrations import MigrationError, Runner

from models.engine.database import Database
from models.engine.sealer import Sealer

SHIPPED: Mapping[str, Path] = {"gatepost": Path(__file__).parent / "migrations"}
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


def obstacle(database: Database, directories: Mapping[str, Path] = SHIPPED) -> str | None:
    """Why this code cannot use the database as it is, and what to do about it; None where it can.

    A history whose directory is not named, such as that of a plugin that is not installed, is no obstacle. Raises
    `Unavailable`.
    """
    with database.connected():
        runners = _runners(database, directories)
        if newer := _unknown(runners):
            return _is_newer(newer)
        return missing(waiting) if (waiting := _pending(runners)) else None


def missing(waiting: Sequence[str]) -> str:
    """The sentence about migrations that are pending, and what to do about them."""
    return f"{len(waiting)} {'migration is' if len(waiting) == 1 else 'migrations are'} missing. Run: gatepost migrate"


def upgrade(database: Database, directories: Mapping[str, Path] = SHIPPED, *,
            before: Callable[[], object] | None = None, sealer: Sealer | None = None) -> tuple[str, ...]:
    """Apply what is pending, each migration in a transaction of its own; what was applied (`gatepost/0001_accounts`).

    `sealer` proves what was sealed, where a migration changes that; without it such a migration fails.

    `before` is called first where the database holds something, for a backup. A second process that upgrades at the
    same time waits, and finds nothing left to do. Raises MigrationError for files that cannot be used, and where newer
    code has migrated the database, `Unavailable`, and whatever `before` or a migration raises.
    """
    database.create()
    with database.migrating():
        runners = _runners(database, directories)
        if newer := _unknown(runners):
            raise MigrationError(_is_newer(newer))
        waiting = _pending(runners)
        if not waiting:
            return ()
        if before is not None and database.get_tables():
            before()
        database.sealer = sealer
        try:
            applied = [f"{name}/{migration}" for name, runner in runners.items()
                       for migration in runner.up()]  # type: ignore[no-untyped-call]
        finally:
            database.sealer = None
    database.analyze()
    return tuple(applied)


def _runners(database: Database, directories: Mapping[str, Path]) -> dict[str, Runner]:
    runners = {}
    for name, directory in directories.items():
        if not _NAME.fullmatch(name):
            raise MigrationError(f"{name!r} cannot name a history of migrations: a-z, 0-9 and _ only")
        if not directory.is_dir():
            raise MigrationError(f"{directory}: no such directory of migrations")
        # One history per directory: in a shared one, a plugin's 0001 would count as applied because ours is.
        runners[name] = Runner(  # type: ignore[no-untyped-call]
            database, str(directory), table_name=f"migrations_{name}")
    return runners


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
