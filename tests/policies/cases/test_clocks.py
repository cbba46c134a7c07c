"""The clock of a case: every spelling of a moment means the same local time in its zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from policies import PolicyError, load
from policies.cases.case_file import failures, read_suite
from policies.cases.cases import Suite
from policies.syntax.vocabulary import date_time
from tests.policies.editing import add_line, shipped_copy
from tests.policies.shipped_vocabulary import VOCABULARY

BERLIN, KOLKATA, KIRITIMATI = map(ZoneInfo, ("Europe/Berlin", "Asia/Kolkata", "Pacific/Kiritimati"))
ZONES = (BERLIN, KOLKATA, KIRITIMATI, ZoneInfo("America/St_Johns"), ZoneInfo("Australia/Lord_Howe"), ZoneInfo("UTC"))
QUICK = {("Europe/Berlin", "2026-10-25"), ("Australia/Lord_Howe", "2026-04-05"), ("Pacific/Kiritimati", "2026-12-31")}
HEAD = "principals: {bob: {role: user}}\n"
CASE = "cases: [{name: a case, who: bob, what: stats, may: []}]\n"


def suite_of(clock: str, zone: ZoneInfo) -> Suite:
    return read_suite(f"clock: {clock}\n{HEAD}{CASE}", "tests.yaml", VOCABULARY, zone=zone)


def shown(suite: Suite) -> tuple[str, int, int, str]:
    env = suite.cases[0].environment
    return env.date, env.hour, env.weekday, env.now


def hours_of(night: str) -> list[datetime]:
    """Returns every half hour in UTC of a day and the nights around it."""
    start = datetime.fromisoformat(night).replace(tzinfo=UTC) - timedelta(hours=15)
    return [start + step * timedelta(minutes=30) for step in range(108)]


@pytest.mark.parametrize(("zone", "night"), [
    pytest.param(zone, night, id=f"{zone}-{night}", marks=() if (zone.key, night) in QUICK else pytest.mark.slow)
    for zone in ZONES for night in ("2026-03-29", "2026-10-25", "2026-04-05", "2026-10-04", "2026-12-31")])
def test_a_moment_is_what_the_clock_of_the_zone_shows_however_it_is_spelt(zone: ZoneInfo, night: str) -> None:
    wrong = []
    for moment in hours_of(night):
        here = moment.astimezone(zone)
        expected = (here.date().isoformat(), here.hour, here.isoweekday(), date_time(moment))
        spellings = [date_time(moment), here.isoformat(), moment.astimezone(KOLKATA).isoformat(),
                     moment.isoformat().replace("+00:00", "Z")]
        if here.replace(fold=0).utcoffset() == here.replace(fold=1).utcoffset():
            spellings.append(here.replace(tzinfo=None).isoformat())
        wrong += [(text, shown(suite_of(text, zone)), expected) for text in spellings
                  if shown(suite_of(text, zone)) != expected or suite_of(text, zone).warnings]
    assert wrong == []


CHANGES = [
    # Forward at 2 o'clock: the next hour does not exist.
    ("2026-03-29T01:59", ("2026-03-29", 1, 7, "2026-03-29T00:59:00.000000Z"), ""),
    ("2026-03-29T02:30", ("2026-03-29", 3, 7, "2026-03-29T01:30:00.000000Z"),
     "the clock leaves this time out in Europe/Berlin; write the offset, too, such as 2026-03-29T01:30:00.000000Z"),
    ("2026-03-29T03:00", ("2026-03-29", 3, 7, "2026-03-29T01:00:00.000000Z"), ""),
    ("2026-03-29T02:30:00+01:00", ("2026-03-29", 3, 7, "2026-03-29T01:30:00.000000Z"), ""),
    # Back at 3 o'clock: the previous hour comes twice.
    ("2026-10-25T01:59", ("2026-10-25", 1, 7, "2026-10-24T23:59:00.000000Z"), ""),
    ("2026-10-25T02:30", ("2026-10-25", 2, 7, "2026-10-25T00:30:00.000000Z"),
     "the clock shows this time twice in Europe/Berlin; write the offset, too, such as 2026-10-25T00:30:00.000000Z"),
    ("2026-10-25T02:30:00+01:00", ("2026-10-25", 2, 7, "2026-10-25T01:30:00.000000Z"), ""),
    ("2026-10-25T01:30:00Z", ("2026-10-25", 2, 7, "2026-10-25T01:30:00.000000Z"), ""),
    ("2026-10-25T03:00", ("2026-10-25", 3, 7, "2026-10-25T02:00:00.000000Z"), ""),
]


@pytest.mark.parametrize(("clock", "expected", "warning"), CHANGES, ids=[clock for clock, *_ in CHANGES])
def test_a_time_that_a_change_of_the_clock_leaves_out_or_repeats_is_a_warning(
    clock: str, expected: tuple[str, int, int, str], warning: str
) -> None:
    suite = suite_of(clock, BERLIN)
    assert shown(suite) == expected
    assert [one.message for one in suite.warnings] == ([warning] if warning else [])


@pytest.mark.parametrize("zone", ZONES, ids=str)
def test_without_a_clock_it_is_ten_on_a_wednesday_morning_in_the_zone(zone: ZoneInfo) -> None:
    suite = read_suite(HEAD + CASE, "tests.yaml", VOCABULARY, zone=zone)
    now = date_time(datetime(2026, 11, 18, 10, tzinfo=zone))
    assert shown(suite) == ("2026-11-18", 10, 3, now)


@pytest.mark.parametrize(("clock", "zone"), [("0001-01-01T00:00", "Asia/Kolkata"),
                                             ("9999-12-31T23:59", "Pacific/Pago_Pago")])
def test_a_time_before_the_first_year_or_after_the_last_is_an_error(clock: str, zone: str) -> None:
    with pytest.raises(PolicyError, match="clock must be a time"):
        suite_of(clock, ZoneInfo(zone))


def test_rules_by_the_hour_and_rules_by_the_time_pass_with_one_spelling(tmp_path: Path) -> None:
    """18:30 in Kolkata is 13:00 in UTC: office hours are over, and the sale, which ends at 13:30 UTC, is not."""
    directory = shipped_copy(tmp_path / "policies")
    model = directory / "model.conf"
    always = "    p.when == 'always' || \\\n"
    model.write_text(model.read_text().replace(
        always, f"{always}    p.when == 'the_sale' && r.env.now < '2026-11-18T13:30:00.000000Z' || \\\n"))
    add_line(directory / "admin.csv", "p, user, stats.view, office_hours, allow")
    add_line(directory / "admin.csv", "p, user, policy.view, the_sale, allow")
    policy = load(directory, VOCABULARY)
    cases = directory / "tests.yaml"
    for text in ("2026-11-18T13:00:00Z", "2026-11-18T18:30:00", "2026-11-18T18:30:00+05:30"):
        cases.write_text(f"clock: {text}\n{HEAD}cases: [{{name: n, who: bob, what: [stats, policy], "
                         "may: {policy: [policy.view], stats: []}}]\n")
        assert failures(policy, cases, KOLKATA) == []
        assert failures(policy, cases, BERLIN), "another moment, or another clock on the wall"
