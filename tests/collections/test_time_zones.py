"""One moment in the zone of the setting `time_zone`: the service, explain, AuthZEN and cases agree on it."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from gatepost.http.request import environment
from gatepost.rules.change import Changing
from policies import PolicyError
from tests.apps import Given, close, log_in, make_app, new_instance
from tests.databases import new_database
from tests.rule_files import edit
from tests.samples import sampled

CONDITIONS = ("    p.when == 'early' && r.env.hour < 3 && r.env.weekday == 7 && r.env.date != '2026-10-26' || \\\n"
              "    p.when == 'before_one' && r.env.now < '2026-10-25T01:00:00.000000Z' || \\\n")
LINES = {"admin.csv": "p, user, stats.view, early, allow\np, user, policy.view, before_one, allow"}
PATHS = {"stats.view": "/api/admin/stats", "policy.view": "/api/admin/policy/versions"}
CASES = """clock: {clock}
principals: {{bob: {{role: user}}}}
cases: [{{name: by the clock, who: bob, what: [stats, policy], may: {may}}}]
"""
NIGHTS = ("2026-03-28T22:00Z", "2026-10-24T22:00Z", "2026-10-25T19:00Z", "2026-10-24T09:30Z", "2026-10-24T18:00Z")


@pytest.fixture(params=sampled(("Europe/Berlin", "Asia/Kolkata", "Pacific/Kiritimati"), 3))
def served(request, tmp_path):
    """An app with its own time zone, and rules by time."""
    url = new_database("sqlite", request)
    folder = new_instance(tmp_path / "instance", url, "default")
    edit(folder / "policies", CONDITIONS, LINES)
    app = make_app(folder, url, time_zone=request.param)
    yield app
    close(app)


def moments() -> list[datetime]:
    starts = [datetime.fromisoformat(text) for text in NIGHTS]
    return [start + step * timedelta(hours=1) for start in starts for step in range(5)]


def spellings(moment: datetime, zone: ZoneInfo) -> list[str]:
    here = moment.astimezone(zone)
    alone = here.replace(fold=0).utcoffset() == here.replace(fold=1).utcoffset()
    return [moment.isoformat().replace("+00:00", "Z"), here.isoformat(),
            *([here.replace(tzinfo=None).isoformat()] if alone else [])]


def at(monkeypatch, moment: datetime) -> None:
    """Sets the time of requests to that moment."""
    class Frozen(datetime):
        @classmethod
        def now(cls, tz=None):
            return moment.astimezone(tz)

    monkeypatch.setattr(environment, "datetime", Frozen)


def test_every_spelling_of_a_moment_is_answered_as_a_request_at_that_moment(served, monkeypatch):
    given = Given(served, "default")
    admin, user = log_in(served, given.user("admin")), log_in(served, given.user())
    zone, wrong, seen = served.extensions["gatepost"].settings.zone, [], set()
    for moment in moments():
        at(monkeypatch, moment)
        may = {name: user.get(path).status_code == 200 for name, path in PATHS.items()}
        seen.add(tuple(may.values()))
        for text in spellings(moment, zone):
            for permission in PATHS:
                told = admin.get("/api/admin/policy/explain", query_string={
                    "as": user.id, "permission": permission, "at": text}).get_json()
                resource, _, action = permission.partition(".")
                decided = admin.post("/access/v1/evaluation", json={
                    "subject": {"type": "user", "id": user.id}, "action": {"name": action},
                    "resource": {"type": resource, "id": ""}, "context": {"time": text}}).get_json()["decision"]
                if (told["verdict"] == "allowed", decided) != (may[permission], may[permission]):
                    wrong.append((text, permission, told["circumstances"], decided, may[permission]))
            granted = [name for name in PATHS if may[name]]
            if (fault := fault_of_case(served, text, granted)) is not None:
                wrong.append((text, granted, fault))
    assert wrong == []
    assert [set(answers) for answers in zip(*seen, strict=True)] == [{True, False}] * 2, "each holds at times"


def fault_of_case(app, clock: str, granted: list[str]) -> str | None:
    """Returns the service's error for a case file that expects exactly these permissions at that time."""
    services = app.extensions["gatepost"]
    listed = ", ".join(f"{name.partition('.')[0]}: [{name}]" for name in granted)
    text = CASES.format(clock=clock, may=f"{{{listed}}}")
    changing = Changing.of(services.settings, services.registry, services.database, services.guest_tenant)
    try:
        changing.candidate({"tests.yaml": text.encode()})
    except PolicyError as error:
        return str(error)
    return None


def test_a_new_time_zone_of_a_running_service_is_that_of_its_cases(tmp_path, request):
    url = new_database("sqlite", request)
    folder = new_instance(tmp_path / "instance", url, "default")
    edit(folder / "policies", CONDITIONS, LINES)
    text = CASES.format(clock="2026-10-25T00:30:00Z", may="{stats: [stats.view], policy: [policy.view]}")
    (folder / "policies" / "tests.yaml").write_text(text)
    (folder / "settings.toml").write_text('time_zone = "Europe/Berlin"\n')
    app = make_app(folder, url)
    services = app.extensions["gatepost"]
    try:
        assert services.policy.trouble is None
        (folder / "settings.toml").write_text('time_zone = "Asia/Kolkata"\n')
        services.live.reload()
        assert "should: admin.csv" in (services.policy.reload().error or "")
    finally:
        close(app)
