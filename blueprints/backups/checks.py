"""Checks of backups, for health, `gatepost doctor` and Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from gatepost.features import Installation, Number
from gatepost.health.check_result import CheckResult, State
from models.base import now
from models.engine.database import Database
from models.records.times import elapsed
from models.tables.backup import BackupAges, ages
from models.tables.tenant import Tenant
from settings import Settings

from . import retention

PERIODS = 2  # periods of the schedule until a backup is overdue
HOUR = 3600.0  # seconds
HOW_TO = "gatepost backup, or the setting backup_hours"


def check(installation: Installation) -> CheckResult:
    """Checks that scheduled backups (setting `backup_hours`) succeed and are not overdue. Raises `RowError`."""
    return _result(*installation)[0]


def thorough(installation: Installation) -> CheckResult:
    """Does the same, and includes the error of a failed backup. Raises `RowError`."""
    settings = installation.settings
    result, times = _result(*installation)
    if settings.backup_hours and times.error is not None:
        return CheckResult(result.state, f"the newest one of the schedule went wrong: {times.error}")
    # A backup before a migration has no row, because the migration may create the table.
    if times.made_at is None and (file := retention.newest(settings.backups)) is not None:
        return CheckResult(result.state, f"there is {file.name}, and none by {HOW_TO}")
    return result


def numbers(installation: Installation) -> Iterator[Number]:
    """Yields the ages of the newest backups in seconds, and 1 if a scheduled one failed. Raises `RowError`."""
    with installation.database.connected():
        times = ages()
    for name, about, at in (
            ("gatepost_backup_age_seconds", "Age of the newest backup; absent where there is none.", times.made_at),
            ("gatepost_backup_scheduled_age_seconds", "Age of the newest backup of the schedule that was made, proved "
             "and copied as the settings say; absent where there is none.", times.kept_at),
            ("gatepost_backup_proved_age_seconds", "Time since a restore was last proved; absent where none was.",
             times.proved_at)):
        if at is not None:
            yield Number(name, about, max(0.0, elapsed(at, now())))
    yield Number("gatepost_backup_failed", "1 where the newest backup of the schedule went wrong.",
                 int(bool(installation.settings.backup_hours) and times.error is not None))


def _result(settings: Settings, database: Database) -> tuple[CheckResult, BackupAges]:
    with database.connected():
        times, since = ages(), Tenant.oldest()
    return _finding(times, settings.backup_hours, since), times


def _finding(times: BackupAges, hours: int, since: str | None) -> CheckResult:
    if hours and times.error is not None:
        return CheckResult(State.DEGRADED, "the newest one of the schedule went wrong: gatepost doctor says why")
    if hours and times.kept_at is None:
        if times.under_way or (since is not None and 0 <= elapsed(since, now()) < HOUR):
            return CheckResult(State.OK, "the first one of the schedule is being made")
        return CheckResult(State.DEGRADED, "none of the schedule was made yet: the log of the service says why")
    if times.made_at is None:
        return CheckResult(State.OK, f"none was made yet: {HOW_TO}")
    proved = "none was proved" if times.proved_at is None else f"a restore was proved {_ago(times.proved_at)}"
    text = f"the newest was made {_ago(times.made_at)}, {proved}"
    if hours and times.kept_at is not None and elapsed(times.kept_at, now()) > PERIODS * hours * HOUR:
        return CheckResult(
            State.DEGRADED,
            f"{text}, the newest of the schedule {_ago(times.kept_at)}; one is due each "
            f"{hours} hours")
    return CheckResult(State.OK, text if times.proved_at else f"{text}: gatepost restore --verify FILE")


def _ago(time: str) -> str:
    hours = max(0.0, elapsed(time, now())) / HOUR
    return f"{hours / 24:.0f} days ago" if hours >= 48 else f"{hours:.0f} hours ago"
