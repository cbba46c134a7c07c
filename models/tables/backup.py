"""Which backups were made, where they were put, and which of them were proved by a restore."""

from __future__ import annotations

from typing import Any, NamedTuple

import peewee as pw

from models.records.columns import IdField, TimeField
from models.records.ids import new_id
from models.records.rows import expire
from models.records.table import Table
from models.records.times import DAY, now

KEPT = 400 * DAY  # seconds for which is remembered that a backup was made


class Backup(Table):
    """A backup, or one that failed.

    place      the file
    digest     SHA-256 of the file in hexadecimal digits; null where it failed
    seconds    that it took
    error      why it failed, or was not sent elsewhere
    proved_at  when it was last restored in a scratch place and found whole
    """

    id = IdField(primary_key=True)
    made_at = TimeField()
    place = pw.TextField()
    digest = pw.TextField(null=True)
    bytes = pw.BigIntegerField()
    seconds = pw.DoubleField()
    error = pw.TextField(null=True)
    proved_at = TimeField(null=True)

    class Meta:
        table_name = "backups"


class BackupAges(NamedTuple):
    """When the newest whole backup was made, when a restore was last proved, and why the newest attempt failed, if it
    did; null where there is none."""

    made_at: str | None
    proved_at: str | None
    error: str | None


def note_backup(place: str, digest: str | None, size: int, seconds: float, error: str | None) -> None:
    """Write down a backup that was just made, or failed, inside a transaction."""
    # Across tenants: a backup holds them all.
    Backup.insert(id=new_id(), made_at=now(), place=place, digest=digest, bytes=size, seconds=seconds,
                  error=error).execute()


def note_proof(digest: str) -> bool:
    """Write down that the backup with that digest was restored and found whole, inside a transaction; whether it is
    known."""
    # Across tenants, as above.
    return bool(Backup.update({Backup.proved_at: now()}).where(Backup.digest == digest).execute())


def ages() -> BackupAges:
    """Of the backups that are known."""
    # Across tenants, as above.
    whole = Backup.digest.is_null(False)
    made: Any = Backup.select(pw.fn.MAX(Backup.made_at), pw.fn.MAX(Backup.proved_at)).where(whole)
    newest = Backup.select(Backup.error).order_by(Backup.made_at.desc(), Backup.id.desc()).first()
    made_at, proved_at = made.tuples().first()
    return BackupAges(made_at, proved_at, None if newest is None else newest.error)


def purge(before: str, most: int) -> int:
    """Forget up to `most` backups that were made before that time; how many."""
    return expire(Backup.made_at, before, most)
