"""Unpacking of a backup to a scratch folder, and comparison with its manifest."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from gatepost.http.auditing.writer import sealer
from gatepost.http.security.keys import Keys
from models.contents import Contents, contents
from models.engine.database import Database
from models.migrate import pending, upgrade
from models.tables import seals
from system.files import new_file

from .archive import DATABASE, BadArchive, Manifest, unpack
from .encryption import decrypt, is_encrypted

RUN = ("backup_command",)  # settings whose value is run as a command
_KINDS = {"sqlite": "SQLite", "postgres": "Postgres"}


@dataclass(frozen=True)
class Staged:
    """A backup that is unpacked to a scratch folder.

    folder    the folder with its keys, policies and settings file
    database  the database with its rows
    applied   the migrations that were applied to it
    commands  its settings that run a command, such as `backup_command = "…"`
    remarks   errors in its audit log at the time of the backup
    """

    folder: Path
    database: Database
    manifest: Manifest
    applied: tuple[str, ...]
    commands: tuple[str, ...]
    remarks: list[str] = field(default_factory=list)


@contextmanager
def staged(archive: Path, scratch: Path, live: Database, migrations: Mapping[str, Path],
           identity: Path | None = None) -> Iterator[Staged]:
    """Unpacks a backup to the empty folder `scratch` and to a scratch database, verifies and migrates it.

    Raises BadArchive if anything differs from the manifest; CannotEncrypt, `KeyFileError`, `RowError`, OSError,
    MigrationError.
    """
    manifest = unpacked(archive, scratch, identity)
    if manifest.dialect != live.dialect:
        raise BadArchive(f"The backup is one of {_KINDS[manifest.dialect]}, and database_url names "
                         f"{_KINDS[live.dialect]}. `gatepost move` takes an instance from SQLite to Postgres, "
                         "`gatepost export` and `import` take rows both ways.")
    keys = Keys.load(scratch / "secret.key")
    with live.scratch(str(scratch / DATABASE)) as database:
        _compare(database, manifest)
        waiting = pending(database, migrations)
        upgrade(database, migrations, sealer=sealer(keys, lenient=True))
        with database.connected():
            verdict = seals.verify(database, sealer(keys))
        yield Staged(scratch, database, manifest, tuple(waiting), _commands(scratch), verdict.findings)


def _commands(folder: Path) -> tuple[str, ...]:
    """Lists the settings in a backup that run a command.

    Returns none for an unreadable file, because no instance starts with it.
    """
    try:
        values = tomllib.loads((folder / "settings.toml").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError, RecursionError):  # no file, no TOML, no UTF-8, nested too deeply
        return ()
    return tuple(f"{name} = {values[name]!r}" for name in RUN if values.get(name))


def unpacked(archive: Path, scratch: Path, identity: Path | None, only: str | None = None) -> Manifest:
    """Unpacks an archive like `unpack`, decrypting it first if needed. Raises BadArchive, CannotEncrypt, OSError."""
    if not is_encrypted(archive):
        return unpack(archive, scratch, only)
    if identity is None:
        raise BadArchive(f"{archive} is encrypted: name the file of an identity that can read it by --identity.")
    plain = scratch / "archive.tar.gz"
    new_file(plain).close()
    decrypt(archive, plain, identity)
    try:
        return unpack(plain, scratch, only)
    finally:
        plain.unlink()


def _compare(database: Database, manifest: Manifest) -> None:
    """Raises BadArchive if the database is damaged or differs from the manifest."""
    if (damage := database.examine(float("inf"))) is not None:
        raise BadArchive(f"The database in the backup is damaged: {damage}")
    with database.connected():
        actual = contents(database)
        if database.dialect == "sqlite" and (dangling := database.query("PRAGMA foreign_key_check")):
            raise BadArchive(f"{len(dangling)} rows in the backup refer to rows that it does not hold.")
    expected = manifest.contents
    if actual != expected:
        raise BadArchive(f"The database in the backup does not hold what it says: {_difference(expected, actual)}.")


def _difference(expected: Contents, actual: Contents) -> str:
    for table in sorted(expected.rows.keys() | actual.rows.keys()):
        if expected.rows.get(table) != actual.rows.get(table):
            return f"{actual.rows.get(table, 'no')} rows of {table} instead of {expected.rows.get(table, 'none')}"
    return "other migrations, or another newest seal"
