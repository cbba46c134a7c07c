"""Times as people type them, in zones whose clocks are put forward and back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blueprints.console import times
from blueprints.console.money import Misread
from blueprints.console.times import Twice
from models.base import parse_time

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia",
         "America/St_Johns", "Africa/Casablanca")
BERLIN = ZoneInfo("Europe/Berlin")
zones = st.sampled_from([ZoneInfo(zone) for zone in ZONES])
moments = st.datetimes(datetime(1975, 1, 1), datetime(2090, 1, 1)).map(lambda moment: moment.replace(tzinfo=UTC))


def canonical(moment: datetime) -> str:
    return parse_time(moment.isoformat(timespec="microseconds"))


@given(moments, zones)
def test_what_a_form_shows_is_read_as_the_same_time(moment, zone):
    moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    text = times.written(canonical(moment), zone)
    offset = times.offset_of(moment.astimezone(zone))
    assert times.read(text, zone, offset) == canonical(moment)
    try:
        assert times.read(text, zone) == canonical(moment)
    except Twice as twice:
        assert offset in twice.offsets and len(set(twice.offsets)) == 2


@given(st.datetimes(datetime(1975, 1, 1), datetime(2090, 1, 1)), zones)
def test_each_clock_time_is_read_back_refused_or_asked_for(local, zone):
    text = local.isoformat(timespec="minutes")
    try:
        assert times.written(times.read(text, zone), zone) == text
    except Twice as twice:
        first, second = (times.read(text, zone, offset) for offset in twice.offsets)
        assert first < second and {times.written(one, zone) for one in (first, second)} == {text}
    except Misread as skipped:
        suggested = skipped.detail.values["example"]
        assert times.written(times.read(suggested, zone), zone) == suggested.replace(" ", "T")
        assert timedelta() < datetime.fromisoformat(suggested) - local.replace(second=0, microsecond=0) \
            <= timedelta(days=1)


@pytest.mark.parametrize(("text", "offset", "time"), [
    ("2026-11-18T23:00", "", "2026-11-18T22:00:00.000000Z"), ("2026-07-18 23:00", "", "2026-07-18T21:00:00.000000Z"),
    ("2026-10-25T02:30", "+02:00", "2026-10-25T00:30:00.000000Z"),
    ("2026-10-25T02:30", "+01:00", "2026-10-25T01:30:00.000000Z"),
    ("2026-10-25T03:00", "", "2026-10-25T02:00:00.000000Z"),
    ("2026-03-29T03:00", "", "2026-03-29T01:00:00.000000Z"),
    ("2026-11-18T23:00", "+09:00", "2026-11-18T22:00:00.000000Z"),
    ("2026-11-18T23:00:05Z", "", "2026-11-18T23:00:05.000000Z"),
    ("2026-11-18T23:00:05.5", "", "2026-11-18T22:00:05.500000Z")])
def test_a_time_in_berlin(text, offset, time):
    assert times.read(text, BERLIN, offset) == time


@pytest.mark.parametrize("text", [
    "2026-03-29T02:30", "2026-02-30T10:00", "0001-01-01T00:00", "2026-11-18", "23:00", "", "2026-11-18T24:61",
    "2026-11-18T23:00+1", "\N{ARABIC-INDIC DIGIT TWO}026-11-18T23:00", "2026-11-18T23:00 Europe/Berlin", "9" * 4000])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(Misread, match="Write"):
        times.read(text, BERLIN)


@pytest.mark.parametrize("text", ["", "soon", "0001-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.000000Z"])
def test_a_time_that_no_clock_shows_is_not_written(text):
    assert times.written(text, ZoneInfo("America/New_York" if text < "5" else "Asia/Kolkata")) == ""
