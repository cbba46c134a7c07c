"""Seven daily backups stay, four weekly ones and twelve monthly ones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from blueprints.backups.retention import remove_old

NEWEST = datetime(2026, 11, 23, 2, tzinfo=UTC)


def name(made, kind="gatepost"):
    return f"{kind}-{made:%Y%m%dT%H%M%SZ}.tar.gz"


def left(folder):
    return sorted(file.name for file in folder.iterdir())


def test_two_years_of_daily_backups_become_those_that_are_worth_their_space(tmp_path):
    for day in range(730):
        (tmp_path / name(NEWEST - timedelta(days=day))).touch()
    gone = remove_old(tmp_path)
    days = [NEWEST - timedelta(days=day) for day in range(7)]
    weeks = [NEWEST, *(NEWEST - timedelta(days=1 + 7 * week) for week in range(3))]  # each Sunday ends one
    months = [NEWEST, *(datetime(2026, month, 1, 2, tzinfo=UTC) - timedelta(days=1) for month in range(2, 12)),
              datetime(2025, 12, 31, 2, tzinfo=UTC)]
    assert left(tmp_path) == sorted({name(each) for each in (*days, *weeks, *months)})
    assert len(gone) == 730 - len(left(tmp_path))


def test_the_newest_of_a_day_stays(tmp_path):
    for hour in range(24):
        (tmp_path / name(NEWEST.replace(hour=hour))).touch()
    remove_old(tmp_path)
    assert left(tmp_path) == [name(NEWEST.replace(hour=23))]


def test_backups_that_are_made_once_a_year_stay_for_twelve_years(tmp_path):
    for year in range(2000, 2020):
        (tmp_path / name(NEWEST.replace(year=year))).touch()
    remove_old(tmp_path)
    assert left(tmp_path) == [name(NEWEST.replace(year=year)) for year in range(2008, 2020)]


@pytest.mark.parametrize("kind", ["before-migration", "before-restore", "after-rotation"])
def test_five_of_those_before_a_change_stay(tmp_path, kind):
    for day in range(8):
        (tmp_path / f"{name(NEWEST - timedelta(days=day), kind)}{'.age' if day % 2 else ''}").touch()
    remove_old(tmp_path)
    assert [file.partition(".")[0] for file in left(tmp_path)] == [
        name(NEWEST - timedelta(days=day), kind).partition(".")[0] for day in reversed(range(5))]


def test_nothing_else_in_the_folder_is_touched(tmp_path):
    others = ["mine.tar.gz", "gatepost-20200101T000000Z.tar.gz.bak", "gatepost-2020.tar.gz", "before-migration-x.db"]
    for other in others:
        (tmp_path / other).touch()
    (tmp_path / name(NEWEST.replace(year=2001))).mkdir()
    for day in range(3):
        (tmp_path / name(NEWEST.replace(year=2001) + timedelta(hours=1 + day))).touch()
    remove_old(tmp_path)
    assert left(tmp_path) == sorted([*others, name(NEWEST.replace(year=2001)),
                                     name(NEWEST.replace(year=2001) + timedelta(hours=3))])


def test_a_folder_that_is_not_there_holds_nothing(tmp_path):
    assert remove_old(tmp_path / "absent") == []
