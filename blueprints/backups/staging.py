"""A backup put into a scratch place, and compared with what it says of itself."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from gatepost.http.auditing.trail import sealer
from gatepost.http.security.keys import Keys
from models.contents import Contents, contents
from models.engine.database import Database
from models.migrate import pending, upgrade
from models.tables import seals
from system.files import new_file

from .archive import DATABASE, BadArchive, Manifest, unpack
from .encryption import decrypt, is_encrypted

RUN = ("backup_command",)  # the settings whose value is run
_KINDS = {"sqlite": "SQLite", "postgres": "Postgres"}


@dataclass(frozen=True)
class Staged:
    """A backup in a scratch place.

    folder    holds its keys, policies and settings file
    database  holds its rows
    applied   the migrations that were applied to them there
    commands  the settings in it that make an instance run a command, such as `backup_command = "…"`
    remarks   what is wrong with its audit trail, as it was when the backup was taken
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
    """Unpack a backup into the empty folder `scratch`, and its rows into a database beside `live`; compare them with
    the manifest, and migrate them.

    Raises BadArchive where anything is not as it was written, CannotEncrypt, `KeyFileError`, `RowError`, OSError,
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
        before = pending(database, migrations)
        upgrade(database, migrations, sealer=sealer(keys, lenient=True))
        with database.connected():
            verdict = seals.verify(database, sealer(keys))
        yield Staged(scratch, database, manifest, tuple(before), _commands(scratch), verdict.findings)


def _commands(folder: Path) -> tuple[str, ...]:
    """Returns the settings of the backup that run a command; none of a file that cannot be read, since no instance
    starts with it."""
    try:
        said = tomllib.loads((folder / "settings.toml").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError, RecursionError):  # not there, no TOML, no UTF-8, nested too deeply
        return ()
    return tuple(f"{name} = {said[name]!r}" for name in RUN if said.get(name))


def unpacked(archive: Path, scratch: Path, identity: Path | None, only: str | None = None) -> Manifest:
    """Unpack an archive as `unpack` does, also an encrypted one. Raises BadArchive, CannotEncrypt, OSError."""
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
    """Raises BadArchive."""
    if (damage := database.examine(float("inf"))) is not None:
        raise BadArchive(f"The database in the backup is damaged: {damage}")
    with database.connected():
        held = contents(database)
        if database.dialect == "sqlite" and (dangling := database.query("PRAGMA foreign_key_check")):
            raise BadArchive(f"{len(dangling)} rows in the backup refer to rows that it does not hold.")
    said = manifest.contents
    if held != said:
        raise BadArchive(f"The database in the backup does not hold what it says: {_difference(said, held)}.")


def _difference(said: Contents, held: Contents) -> str:
    for table in sorted(said.rows.keys() | held.rows.keys()):
        if said.rows.get(table) != held.rows.get(table):
            return f"{held.rows.get(table, 'no')} rows of {table} instead of {said.rows.get(table, 'none')}"
    return "other migrations, or another newest seal"
