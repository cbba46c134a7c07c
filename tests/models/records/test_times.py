"""Ids and times: one form each, whose text order is the order of time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.base import is_id, later, new_id, now, parse_time

some = settings(max_examples=100)


def test_ids_are_uuid_version_7_in_order_of_their_making() -> None:
    before = datetime.now(UTC)
    ids = [new_id() for _ in range(1000)]
    assert all(is_id(one) and one[14] == "7" and one[19] in "89ab" for one in ids)
    assert len(set(ids)) == 1000
    assert ids[0][:13] <= ids[-1][:13]
    moment = datetime.fromtimestamp(int(ids[0].replace("-", "")[:12], 16) / 1000, UTC)
    assert abs(moment - before) < timedelta(minutes=1)


@pytest.mark.parametrize("text", [
    "", "x", "01A1FD56-D129-737A-BE38-376ECE188767", "01a1fd56d129737abe38376ece188767",
    "{01a1fd56-d129-737a-be38-376ece188767}", "01a1fd56-d129-737a-be38-376ece188767\n",
    "٠1a1fd56-d129-737a-be38-376ece188767", str(2**70),
])
def test_what_is_not_a_canonical_id_is_no_id(text: str) -> None:
    assert not is_id(text)


@given(st.datetimes(min_value=datetime(1, 1, 2)), st.text("0123456789", max_size=12))
def test_a_bound_between_two_microseconds_is_the_one_before_or_the_next(moment: datetime, finer: str) -> None:
    text = f"{moment.isoformat(timespec='microseconds')}{finer}Z"
    before, after = parse_time(text), parse_time(text, up=True)
    assert before == f"{moment.isoformat(timespec='microseconds')}Z"
    if not finer.strip("0") or moment == datetime.max:
        assert after == before
    else:
        assert after == f"{(moment + timedelta(microseconds=1)).isoformat(timespec='microseconds')}Z"


@pytest.mark.parametrize(("text", "canonical"), [
    ("2026-11-21T08:39:30Z", "2026-11-21T08:39:30.000000Z"),
    ("2026-11-21t08:39:30.1z", "2026-11-21T08:39:30.100000Z"),
    ("2026-11-21T08:39:30.123456789Z", "2026-11-21T08:39:30.123456Z"),
    ("2026-11-21T00:39:30+01:30", "2026-11-20T23:09:30.000000Z"),
    ("2026-11-21T08:39:30-00:00", "2026-11-21T08:39:30.000000Z"),
])
def test_a_time_with_any_offset_is_written_in_utc(text: str, canonical: str) -> None:
    assert parse_time(text) == canonical


@pytest.mark.parametrize("text", [
    "", "now", "2026-11-21", "2026-11-21T08:39:30", "20261121T083930Z", "2026-11-21 08:39:30Z",
    "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-11-21T24:00:00Z", "2026-11-21T23:59:60Z",
    "2026-11-21T08:39:30,5Z", "2026-W47-6T08:39:30Z", "0001-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59-00:01",
    "2026-11-21T08:39:30Z\n", "２026-11-21T08:39:30Z", "2026-11-21T08:39:30+25:00",
])
def test_what_is_not_an_rfc_3339_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_time(text)


@some
@given(st.datetimes(timezones=st.timezones()), st.datetimes(timezones=st.just(timezone(timedelta(hours=5)))))
def test_order_of_text_is_order_of_time(first: datetime, second: datetime) -> None:
    try:
        texts = [parse_time(moment.isoformat()) for moment in (first, second)]
    except ValueError:
        return  # outside the supported years, or an offset with seconds
    assert (texts[0] < texts[1]) == (first < second)


@some
@given(st.text())
def test_any_text_is_a_time_or_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        parse_time(text)


def test_now_is_canonical_and_later_is_later() -> None:
    time = now()
    assert parse_time(time) == time
    assert later(90, "2026-11-21T08:39:30.123456Z") == "2026-11-21T08:41:00.123456Z"
    assert later(-1, "2026-01-01T00:00:00.000001Z") == "2025-12-31T23:59:59.000001Z"


@pytest.mark.parametrize(("nanoseconds", "text"), [
    (1_795_250_370_000_000_000, "2026-11-21T08:39:30.000000Z"),
    (1_795_250_370_000_001_999, "2026-11-21T08:39:30.000001Z"),
    (1_795_250_370_999_999_999, "2026-11-21T08:39:30.999999Z"),
    (1_795_250_371_000_000_000, "2026-11-21T08:39:31.000000Z"),
])
def test_now_is_written_like_any_other_time(nanoseconds: int, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.records.times.time.time_ns", lambda: nanoseconds)
    assert now() == parse_time(text) == text
