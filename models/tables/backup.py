"""Backups: when and where each was made, and which of them were verified by a restore."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import peewee as pw

from models.engine.database import Database, current
from models.records.columns import IdField, TimeField
from models.records.ids import new_id
from models.records.rows import expire
from models.records.table import Table
from models.records.times import DAY, elapsed, now

KEPT = 400 * DAY  # seconds for which the record of a backup is kept
HOUR = 3600.0  # seconds
LONGEST = 6 * HOUR  # longest time of a backup in seconds


class Backup(Table):
    """A backup of the schedule or of a command: under way, made, or failed.

    place      its file; empty until it is made
    digest     SHA-256 of the file in hexadecimal digits; null until it is made
    seconds    duration
    error      why it failed, or was not verified, or was not copied elsewhere
    proved_at  time of the last successful restore in a scratch place
    scheduled  True if the schedule has made it
    """

    id = IdField(primary_key=True)
    made_at = TimeField()
    place = pw.TextField(default="")
    digest = pw.TextField(null=True)
    bytes = pw.BigIntegerField(default=0)
    seconds = pw.DoubleField(default=0.0)
    error = pw.TextField(null=True)
    proved_at = TimeField(null=True)
    scheduled = pw.BooleanField(default=False)

    class Meta:
        table_name = "backups"

    @property
    def is_whole(self) -> bool:
        """True if it was made and, where the settings require that, verified and copied elsewhere."""
        return self.digest is not None and self.error is None

    @property
    def is_under_way(self) -> bool:
        return self.digest is None and self.error is None and elapsed(self.made_at, now()) < LONGEST


class BackupAges(NamedTuple):
    """Summary of the known backups; null where there is none.

    made_at    time of the newest
    proved_at  time of the last successful verification
    error      what went wrong with the newest scheduled one that has ended
    kept_at    time of the newest scheduled one without any error
    under_way  True while a scheduled one is being made
    """

    made_at: str | None
    proved_at: str | None
    error: str | None
    kept_at: str | None
    under_way: bool


def is_due(hours: int) -> bool:
    """True if the newest scheduled backup is that old, or failed more than an hour ago."""
    newest = _newest_scheduled()
    if newest is None:
        return True
    wait = hours * HOUR if newest.is_whole else HOUR
    return not 0 <= elapsed(newest.made_at, now()) < wait


def begin(hours: int | None = None) -> str | None:
    """Records that a backup begins, and returns its id. Needs a transaction. `hours`: it is a scheduled one; then
    returns None if none is due."""
    if hours is not None:
        _lock()
        if not is_due(hours):
            return None
    row = Backup(id=new_id(), made_at=now(), scheduled=hours is not None)
    row.save(force_insert=True)
    return str(row.id)


def note_made(id: str, place: str, digest: str, size: int, seconds: float) -> None:
    """Records that a backup was made. Needs a transaction."""
    # Across tenants: a backup contains all of them.
    Backup.update({Backup.place: place, Backup.digest: digest, Backup.bytes: size, Backup.seconds: seconds}).where(
        Backup.id == id).execute()


def note_error(id: str, error: str) -> None:
    """Records what went wrong with a backup. Needs a transaction."""
    # Across tenants, as above.
    Backup.update({Backup.error: error}).where(Backup.id == id).execute()


def note_proof(digest: str) -> bool:
    """Records that the backup with that digest was restored successfully. Returns False for an unknown one. Needs a
    transaction."""
    # Across tenants, as above.
    return bool(Backup.update({Backup.proved_at: now()}).where(Backup.digest == digest).execute())


def known(database: Database) -> list[dict[str, Any]]:
    """Returns every row, with the columns that the table has: the database may wait for migrations. Raises `RowError`.
    """
    with database.connected():
        if not database.table_exists(Backup._meta.table_name):
            return []
        columns = {column.name for column in database.get_columns(Backup._meta.table_name)}
        # Across tenants, as above.
        fields = [field for field in Backup._meta.sorted_fields if field.column_name in columns]
        rows: Any = Backup.select(*fields).dicts()
        return list(rows)


def remember(rows: Iterable[Mapping[str, Any]]) -> None:
    """Stores rows of `known` in a database, in place of its own ones. Needs a transaction."""
    # Across tenants, as above.
    for row in rows:
        Backup.delete().where(Backup.id == row["id"]).execute()
        Backup.insert(row).execute()


def remember_file(place: str, digest: str, size: int, made_at: str) -> None:
    """Records that a file is a backup of that time, unless it is known. Needs a transaction."""
    # Across tenants, as above.
    if not Backup.select().where(Backup.digest == digest).exists():
        Backup(id=new_id(), made_at=made_at, place=place, digest=digest, bytes=size).save(force_insert=True)


def ages() -> BackupAges:
    """Returns a summary of the known backups."""
    # Across tenants, as above.
    is_backup = Backup.digest.is_null(False)
    times: Any = Backup.select(pw.fn.MAX(Backup.made_at), pw.fn.MAX(Backup.proved_at)).where(is_backup)
    made_at, proved_at = times.tuples().first()
    successful: Any = Backup.select(pw.fn.MAX(Backup.made_at)).where(
        Backup.scheduled, is_backup, Backup.error.is_null())
    newest = _newest_scheduled()
    under_way = newest is not None and newest.is_under_way
    if under_way:
        newest = _newest_scheduled(before=newest)
    error = None
    if newest is not None and not newest.is_whole:
        error = newest.error or "it was broken off"
    return BackupAges(made_at, proved_at, error, successful.scalar(), under_way)


def begin_requested() -> Backup | None:
    """Records that a requested backup begins, and returns its row; None while any backup is under way. Needs a
    transaction."""
    _lock()
    # Across tenants, as above.
    rows = Backup.select().where(Backup.digest.is_null(), Backup.error.is_null())
    if any(row.is_under_way for row in rows):
        return None
    return Backup.get_by_id(begin())


def _lock() -> None:
    """Lets the second of two processes that check at once see the row of the first."""
    if current.dialect == "postgres":
        current.execute_sql("LOCK TABLE backups IN EXCLUSIVE MODE")


def newest(most: int) -> list[Backup]:
    """Returns the newest backups that were begun, the newest first."""
    # Across tenants, as above.
    return list(Backup.select().order_by(Backup.made_at.desc(), Backup.id.desc()).limit(most))


def lose(id: str, error: str) -> None:
    """Records why a backup was never made, unless it was, or has an error already. Needs a transaction."""
    # Across tenants, as above.
    Backup.update({Backup.error: error}).where(
        Backup.id == id, Backup.digest.is_null(), Backup.error.is_null()).execute()


def purge(before: str, most: int) -> int:
    """Deletes up to `most` records of backups that were made before that time. Returns their number."""
    return expire(Backup.made_at, before, most)


def _newest_scheduled(before: Backup | None = None) -> Backup | None:
    # Across tenants, as above.
    query = Backup.select().where(Backup.scheduled)
    if before is not None:
        query = query.where(Backup.id != before.id, Backup.made_at <= before.made_at)
    return query.order_by(Backup.made_at.desc(), Backup.id.desc()).first()
