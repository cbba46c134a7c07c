"""The times at which the schedule makes a backup, and the health check of scheduled backups."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

import pytest

from blueprints.backups.checks import check
from blueprints.backups.schedule import Schedule
from gatepost.features import Installation
from models.base import new_id
from models.engine.connect import open_database
from models.engine.database import Database
from models.records.times import later
from models.tables import backup
from models.tables.backup import Backup
from models.tables.tenant import Tenant
from settings import LiveSettings, Settings
from tests.databases import new_database

DAILY = 24
HOUR = 3600


@pytest.fixture
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    """An old instance."""
    made = open_database(new_database("sqlite", request), pool_size=2, synchronous="normal")
    with made.connected():
        Tenant.add("old")
        Tenant.update({Tenant.created_at: later(-400 * HOUR)}).execute()
        yield made
    made.close_all()


def known(hours_ago: float, *, made: bool = True, error: str | None = None, scheduled: bool = True) -> None:
    Backup.insert(id=new_id(), made_at=later(-hours_ago * HOUR), place="x" if made else "", bytes=1, seconds=1,
                  digest=new_id() if made else None, error=error, scheduled=scheduled).execute()


def backup_state(database: Database, hours: int) -> str:
    return str(check(Installation(cast(Settings, SimpleNamespace(backup_hours=hours)), database)).state)


WHOLE, NOT_COPIED, NOT_MADE, BY_HAND = {}, {"error": "backup_command ended with 1"}, \
    {"made": False, "error": "no backup was made: no room"}, {"scheduled": False}
BROKEN_OFF: dict[str, object] = {"made": False}

# hours since each backup, the oldest first; True if one is due; the status of health
CASES: dict[str, tuple[list[tuple[float, dict[str, object]]], bool, str]] = {
    "none was made": ([], True, "degraded"),
    "one of today": ([(5, WHOLE)], False, "ok"),
    "one of yesterday": ([(25, WHOLE)], True, "ok"),
    "one of two days ago": ([(49, WHOLE)], True, "degraded"),
    "one that was not copied, just now": ([(26, WHOLE), (0.5, NOT_COPIED)], False, "degraded"),
    "one that was not copied, an hour ago": ([(26, WHOLE), (1.1, NOT_COPIED)], True, "degraded"),
    "one that was not made, an hour ago": ([(26, WHOLE), (1.1, NOT_MADE)], True, "degraded"),
    "one that failed, and one by hand since": ([(26, WHOLE), (1.1, NOT_COPIED), (0.2, BY_HAND)], True, "degraded"),
    "one by hand of today, the last of the schedule of yesterday": ([(25, WHOLE), (1, BY_HAND)], True, "ok"),
    "one by hand alone": ([(1, BY_HAND)], True, "degraded"),
    "one that failed, and one that went well": ([(3, NOT_COPIED), (1, WHOLE)], False, "ok"),
    "one under way": ([(26, WHOLE), (0.2, BROKEN_OFF)], False, "ok"),
    "the first one under way": ([(0.2, BROKEN_OFF)], False, "ok"),
    "one under way after one that failed": ([(26, WHOLE), (1.5, NOT_COPIED), (0.2, BROKEN_OFF)], False, "degraded"),
    "one that was broken off": ([(26, WHOLE), (7, BROKEN_OFF)], True, "degraded"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_schedule_and_health_look_at_its_own_backups(database: Database, case: str) -> None:
    backups, due, state = CASES[case]
    for hours_ago, options in backups:
        known(hours_ago, **options)  # type: ignore[arg-type]
    assert (backup.is_due(DAILY), str(backup_state(database, DAILY))) == (due, state)


def test_an_instance_of_this_hour_has_no_backup_yet_and_is_in_order(database: Database) -> None:
    Tenant.update({Tenant.created_at: later(-600)}).execute()
    assert backup_state(database, DAILY) == "ok"


def test_without_a_schedule_an_old_failure_of_it_says_nothing(database: Database) -> None:
    known(100, **NOT_COPIED)  # type: ignore[arg-type]
    assert backup_state(database, 0) == "ok"


@pytest.mark.parametrize(("code", "options", "told"), [
    ("", NOT_COPIED, "backup_command ended with 1"), ("import sys; sys.exit(3)", WHOLE, "its process ended with 3")])
def test_the_log_of_the_service_says_what_went_wrong(
        database: Database, caplog: pytest.LogCaptureFixture, code: str, options: dict[str, object], told: str) -> None:
    known(0.1, **options)  # type: ignore[arg-type]
    schedule = Schedule(LiveSettings.__new__(LiveSettings), database)
    schedule._process = subprocess.Popen([sys.executable, "-c", code])
    schedule._process.wait()
    with caplog.at_level(logging.ERROR):
        assert not schedule._runs()
    assert [told in record.getMessage() for record in caplog.records] == [True]
