"""`GET /api/admin/activity` and `/sizes`: load and size of the service, for readers of the policy."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from models.base import later, now
from models.tables.activity import ANSWERED, FAILED, LIMITED, REFUSED, note_requests
from models.tables.audit import newest_time

EMPTY = {"requests": 0, "refusals": 0, "limited": 0, "errors": 0, "median_milliseconds": None, "p95_milliseconds": None}


def minutes_ago(number):
    return later(-60 * number, f"{now()[:16]}:00.000000Z")


def minutes(caller, query=""):
    """Returns the minutes of the answer by their starts."""
    answer = caller.get(f"/api/admin/activity{query}")
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return {minute.pop("start"): minute for minute in answer.json["minutes"]}


@pytest.fixture
def counted(given):
    """`counted(30, …)` counts requests 30 minutes ago. Returns that minute."""
    def count(ago, numbers):
        minute = minutes_ago(ago)
        given.database.transact(lambda: note_requests({(minute, *key): times for key, times in numbers.items()}))
        return minute

    return count


def test_each_minute_tells_how_many_requests_came_to_what_and_how_long_they_took(as_role, counted):
    minute = counted(500, {(ANSWERED, 1000): 90, (REFUSED, 500): 5, (FAILED, 10_000_000): 5})
    assert minutes(as_role("developer"), "?minutes=600")[minute] == {
        "requests": 100, "refusals": 5, "limited": 0, "errors": 5, "median_milliseconds": 0.75,
        "p95_milliseconds": 1.0}


def test_a_flood_that_a_limit_refuses_does_not_hide_how_long_others_take(as_role, counted):
    minute = counted(510, {(LIMITED, 500): 9000, (ANSWERED, 2500): 10})
    found = minutes(as_role("developer"), "?minutes=600")[minute]
    assert (found["requests"], found["limited"]) == (9010, 9000)
    assert found["median_milliseconds"] == 1.75
    minute = counted(511, {(LIMITED, 500): 7})
    assert minutes(as_role("developer"), "?minutes=600")[minute] == {**EMPTY, "requests": 7, "limited": 7}


def test_the_last_hour_is_told_minute_by_minute_and_those_without_a_request_are_zeros(as_role, counted):
    ask = as_role("developer")
    before, minute = minutes_ago(0), counted(20, {(ANSWERED, 500): 1})
    found = minutes(ask)
    assert len(found) == 60 and list(found) == sorted(found)
    assert before <= max(found) <= minutes_ago(0), "the last one is running"
    assert found[minute]["requests"] == 1
    assert found[later(-60, minute)] == EMPTY
    assert all(later(60, start) in found for start in list(found)[:-1])


def test_a_day_is_told_and_no_more(as_role, counted):
    counted(1500, {(ANSWERED, 500): 1})
    first = counted(1430, {(ANSWERED, 500): 1})
    found = minutes(as_role("developer"), "?minutes=1440")
    assert len(found) == 1440 and found[first]["requests"] == 1
    assert len(minutes(as_role("developer"), "?minutes=1")) == 1
    for wrong in ("0", "1441", "-5", "1.5", "x", "", "9" * 30):
        answer = as_role("developer").get(f"/api/admin/activity?minutes={wrong}")
        assert (answer.status_code, answer.json["code"]) == (400, "invalid_parameter"), wrong


def test_requests_that_were_just_answered_are_told_once_they_are_stored(app, as_role):
    caller = as_role("developer")
    before = sum(minute["requests"] for minute in minutes(caller, "?minutes=1440").values())
    for _ in range(5):
        assert as_role("guest").get("/api/articles").status_code == 200
    app.extensions["gatepost"].stop()
    after = sum(minute["requests"] for minute in minutes(caller, "?minutes=1440").values())
    assert after >= before + 5


@pytest.mark.parametrize("path", ["/api/admin/activity", "/api/admin/sizes"])
def test_they_are_told_to_those_whom_health_tells_its_details(as_role, path):
    for role in ("guest", "user", "support", "editor", "moderator", "manager", "developer", "owner", "admin"):
        status = as_role(role).get(path).status_code
        assert (status == 200) is ("findings" in as_role(role).get("/api/health").json), role
        assert status in ((200,) if role in ("developer", "owner", "admin") else (401, 403)), role


@pytest.mark.both_databases
def test_sizes_say_what_is_large_and_what_room_is_left(app, as_role, given, monkeypatch):
    settings = app.extensions["gatepost"].settings
    settings.backups.mkdir(exist_ok=True)
    (settings.backups / "one.tar.gz").write_bytes(b"x" * 1000)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=5 << 30))
    found = as_role("developer").get("/api/admin/sizes").json
    assert found["database_bytes"] > 100_000
    assert found["backups_bytes"] == 1000 and found["disk_free_bytes"] == 5 << 30
    on_a_server = given.database.dialect == "postgres"
    assert (found["log_bytes"] is None) is (found["files_bytes"] is None) is on_a_server
    tables = {table["name"]: table for table in found["tables"]}
    assert {"articles", "audit", "activity"} <= tables.keys()
    assert all((table["bytes"] is not None) is on_a_server for table in tables.values())
    app.extensions["gatepost"].audit_writer.flush()
    with given.database.connected():
        assert found["audit_since"] is None or found["audit_since"] <= newest_time()


def test_what_cannot_be_told_of_a_disk_is_null(as_role, monkeypatch):
    def broken(*_given):
        raise OSError("the disk is gone")

    monkeypatch.setattr("shutil.disk_usage", broken)
    monkeypatch.setattr("gatepost.health.checks.kept_backups", broken)
    found = as_role("developer").get("/api/admin/sizes").json
    assert (found["backups_bytes"], found["disk_free_bytes"]) == (None, None)


def test_an_administrator_of_another_tenant_is_told_of_no_rows_of_others(as_role):
    stranger = as_role("admin", tenant="other")
    found = stranger.get("/api/admin/sizes").json
    assert "tables" not in found and found["database_bytes"] > 0
    assert "tables" in as_role("admin").get("/api/admin/sizes").json
    assert stranger.get("/api/admin/activity").status_code == 200
