"""Restore of only the key file from a backup, for an instance whose key file is lost, damaged or another one's."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from gatepost.http.security import known_keys
from gatepost.http.security.keys import KeyFileError, Keys
from gatepost.instance import journal
from models.engine.database import Database
from models.scratch import scratch
from settings import Settings
from system.files import fresh_file

from .archive import KEYS, BadArchive
from .restoring import LOCK_WAIT, CannotRestore, free_name
from .staging import unpacked


def restore_keys(settings: Settings, database: Database, archive: Path, identity: Path | None = None) -> Path | None:
    """Restores the key file of a backup if the instance lacks the right one. Rows and rules are not changed.

    Returns the folder to which a wrong or damaged key file was moved; None if there was none. Running servers reload
    it. Raises CannotRestore, UnderWay, BadArchive, CannotEncrypt, KeyFileError, `RowError`, OSError; then nothing has
    changed.
    """
    instance, file = settings.instance, settings.secret_file
    if not instance.is_dir():
        raise CannotRestore(f"There is no instance in {instance}: gatepost restore {archive}")
    with journal.alone(instance, LOCK_WAIT), scratch(instance) as folder:
        if _has_right_keys(settings, database):
            raise CannotRestore(f"{file} holds the keys of the database. Nothing was changed.")
        manifest = unpacked(archive, folder, identity, only=KEYS)
        if KEYS not in manifest.parts:
            raise BadArchive("The backup holds no keys: they were lost when it was made. Take an older one.")
        _refuse_others(database, Keys.load(folder / KEYS))
        return _put(folder / KEYS, file, instance / free_name(instance))


def _has_right_keys(settings: Settings, database: Database) -> bool:
    try:
        return known_keys.fits(database, Keys.load(settings.secret_file))
    except KeyFileError:
        return False


def _refuse_others(database: Database, keys: Keys) -> None:
    """Raises CannotRestore for keys of another instance, and for keys from before the last rotation."""
    if known_keys.fits(database, keys):
        return
    if known_keys.is_older(database, keys):
        raise CannotRestore("The keys in the backup are older than those of the database: they were rotated since. "
                            "Take a backup made after that, such as the newest after-rotation-….tar.gz.")
    raise CannotRestore("The keys in the backup are not those of this database. It is a backup of another instance, or "
                        f"one made before the last gatepost keys rotate. {known_keys.NEW_KEYS}")


def _put(fresh: Path, file: Path, aside: Path) -> Path | None:
    """Moves a key file into place, owned by its folder's owner. Returns the folder of the replaced file, or None."""
    moved = None
    with fresh_file(file, owner=file.parent) as new:
        new.file.write(fresh.read_bytes())
        new.sync()
        if file.exists() or file.is_symlink():
            aside.mkdir(mode=0o700)
            moved = aside
            with suppress(FileNotFoundError):
                file.rename(aside / file.name)
        new.replace()
    return moved
