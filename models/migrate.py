"""Schema changes: numbered files, each directory with a history of its own, applied under a lock."""

from __future__ import annotations

import logging
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from playhouse.migrations import MigrationError, Runner

from models.engine.database import Database
from models.engine.sealer import Sealer
from models.records.times import now

SHIPPED: Mapping[str, Path] = {"gatepost": Path(__file__).parent / "migrations"}
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")
BACKUPS = 5  # copies that are kept
_COPY = re.compile(r"before-migration-\d{8}T\d{12}Z\.(db|dump)")

# What was applied is returned; peewee would log it, also where the database is a temporary one.
logging.getLogger("peewee.migrations").setLevel(logging.WARNING)


@dataclass(frozen=True)
class Upgrade:
    """The migrations that `upgrade` applied (`gatepost/0001_accounts`), the backup it wrote first, and the older ones
    that it removed when all was done."""

    applied: tuple[str, ...]
    backup: Path | None
    removed: tuple[Path, ...] = ()


def pending(database: Database, directories: Mapping[str, Path] = SHIPPED) -> list[str]:
    """The migrations not yet applied, as `<name>/<migration>`, in the order in which they would be.

    `directories`: a short name for each (`gatepost`, a plugin's) and where its files are. Raises
    `Unavailable`.
    """
    with database.connected():
        return _pending(_runners(database, directories))


def missing(waiting: Sequence[str]) -> str:
    """The sentence about migrations that are pending, and what to do about them."""
    return f"{len(waiting)} {'migration is' if len(waiting) == 1 else 'migrations are'} missing. Run: gatepost migrate"


def upgrade(database: Database, directories: Mapping[str, Path] = SHIPPED, *,
            backup: Path | None = None, sealer: Sealer | None = None) -> Upgrade:
    """Apply what is pending, each migration in a transaction of its own.

    `sealer` proves what was sealed, where a migration changes that; without it such a migration fails.

    A database that holds something is first copied into the directory `backup` (None: no copy), where the newest
    `BACKUPS` copies made here are kept. A second process that upgrades at the same time waits, and finds nothing
    left to do. Raises MigrationError for files that cannot be used, `Unavailable`, and whatever a migration raises.
    """
    database.create()
    with database.migrating():
        runners = _runners(database, directories)
        waiting = _pending(runners)
        if not waiting:
            return Upgrade((), None)
        copy = _back_up(database, backup) if backup is not None and database.get_tables() else None
        database.sealer = sealer
        try:
            applied = [f"{name}/{migration}" for name, runner in runners.items()
                       for migration in runner.up()]  # type: ignore[no-untyped-call]
        finally:
            database.sealer = None
    database.analyze()
    return Upgrade(tuple(applied), copy, () if copy is None else _remove_old(copy.parent))


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


def _back_up(database: Database, directory: Path) -> Path | None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    moment = re.sub(r"[^0-9TZ]", "", now())
    if database.dialect == "sqlite":
        copy = directory / f"before-migration-{moment}.db"
        database.backup(str(copy))
        return copy
    # A server's own backups are its operator's; where pg_dump is at hand we take one all the same.
    if shutil.which("pg_dump") is None:
        return None
    copy = directory / f"before-migration-{moment}.dump"
    database.backup(str(copy))
    return copy


def _remove_old(directory: Path) -> tuple[Path, ...]:
    """Remove all but the newest copies; of other files in the directory none."""
    copies = sorted(file for file in directory.iterdir() if _COPY.fullmatch(file.name) and file.is_file())
    old = tuple(copies[:-BACKUPS])
    for file in old:
        file.unlink()
    return old
