"""Backups around steps that cannot be undone: before a migration, after a rotation of the keys."""

from __future__ import annotations

import shutil

from gatepost.features import CannotSave, Installation, Saved

from . import retention
from .encryption import CannotEncrypt
from .taking import CannotBackUp, free_place, note, take


def save(installation: Installation, step: str) -> Saved:
    """Makes a backup, and adds it to the table of backups, except before a migration, which may create the table.

    Raises CannotSave, `RowError`, OSError.
    """
    settings, database = installation
    if database.dialect == "postgres" and shutil.which("pg_dump") is None:
        raise CannotSave("pg_dump is not installed here")
    try:
        result = take(settings, database, free_place(settings.backups, step), probing=False)
    except (CannotBackUp, CannotEncrypt) as error:
        raise CannotSave(str(error)) from error
    if step != retention.BEFORE_MIGRATION:
        database.transact(lambda: note(result))
    return Saved(result.place, lambda: retention.remove_old(settings.backups))
