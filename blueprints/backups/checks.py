"""Checks that backups are made: for health, `gatepost doctor` and Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from gatepost.features import Installation, Number
from gatepost.health.finding import Found, State
from models.base import now
from models.engine.database import Database
from models.records.times import elapsed
from models.tables.backup import BackupAges, ages
from models.tables.tenant import Tenant
from settings import Settings

from . import retention

PERIODS = 2  # of the schedule, after which a backup is overdue
HOUR = 3600.0  # seconds
HOW_TO = "gatepost backup, or the setting backup_hours"


def check(installation: Installation) -> Found:
    """Whether the backups of the schedule are made; the setting `backup_hours` says how often. Raises `RowError`."""
    return _asked(*installation)[0]


def thorough(installation: Installation) -> Found:
    """The same, and why one has failed. Raises `RowError`."""
    settings = installation.settings
    found, known = _asked(*installation)
    if settings.backup_hours and known.error is not None:
        return Found(found.state, f"the newest one of the schedule went wrong: {known.error}")
    # One before a migration is not written down: the table may be what the migration makes.
    if known.made_at is None and (file := retention.newest(settings.backups)) is not None:
        return Found(found.state, f"there is {file.name}, and none by {HOW_TO}")
    return found


def numbers(installation: Installation) -> Iterator[Number]:
    """Ages of the newest backups, and whether one of the schedule went wrong. Raises `RowError`."""
    with installation.database.connected():
        known = ages()
    for name, about, at in (
            ("gatepost_backup_age_seconds", "Age of the newest backup; absent where there is none.", known.made_at),
            ("gatepost_backup_scheduled_age_seconds", "Age of the newest backup of the schedule that was made, proved "
             "and copied as the settings say; absent where there is none.", known.kept_at),
            ("gatepost_backup_proved_age_seconds", "Time since a restore was last proved; absent where none was.",
             known.proved_at)):
        if at is not None:
            yield Number(name, about, max(0.0, elapsed(at, now())))
    yield Number("gatepost_backup_failed", "1 where the newest backup of the schedule went wrong.",
                 int(bool(installation.settings.backup_hours) and known.error is not None))


def _asked(settings: Settings, database: Database) -> tuple[Found, BackupAges]:
    with database.connected():
        found, since = ages(), Tenant.oldest()
    return _judged(found, settings.backup_hours, since), found


def _judged(found: BackupAges, hours: int, since: str | None) -> Found:
    if hours and found.error is not None:
        return Found(State.DEGRADED, "the newest one of the schedule went wrong: gatepost doctor says why")
    if hours and found.kept_at is None:
        if found.under_way or (since is not None and 0 <= elapsed(since, now()) < HOUR):
            return Found(State.OK, "the first one of the schedule is being made")
        return Found(State.DEGRADED, "none of the schedule was made yet: the log of the service says why")
    if found.made_at is None:
        return Found(State.OK, f"none was made yet: {HOW_TO}")
    proved = "none was proved" if found.proved_at is None else f"a restore was proved {_ago(found.proved_at)}"
    said = f"the newest was made {_ago(found.made_at)}, {proved}"
    if hours and found.kept_at is not None and elapsed(found.kept_at, now()) > PERIODS * hours * HOUR:
        return Found(State.DEGRADED, f"{said}, the newest of the schedule {_ago(found.kept_at)}; one is due each "
                                     f"{hours} hours")
    return Found(State.OK, said if found.proved_at else f"{said}: gatepost restore --verify FILE")


def _ago(time: str) -> str:
    hours = max(0.0, elapsed(time, now())) / HOUR
    return f"{hours / 24:.0f} days ago" if hours >= 48 else f"{hours:.0f} hours ago"
