"""A backup that is requested over HTTP: who may request it, one at a time, and its state until it is made."""

from __future__ import annotations

import subprocess
import sys

import pytest

from blueprints.backups import schedule
from models.tables.audit import Audit
from models.tables.backup import Backup
from tests.http.console.pages import Seen, visit
from tests.running import Instance, wait_until

PATH = "/api/admin/backups"


class Started(list):
    """The options of the started processes. Each ends at once with the status `end`."""

    end = 0


@pytest.fixture
def processes(app, monkeypatch):
    started = Started()

    def start(settings, *options):
        started.append(options)
        return subprocess.Popen([sys.executable, "-c", f"raise SystemExit({started.end})"])

    monkeypatch.setattr(schedule, "_process", start)
    yield started
    if requested(app)._running is not None:
        requested(app)._running[1].wait()
        requested(app)._running = None
    with app.extensions["gatepost"].database.connected():
        Backup.delete().execute()


def requested(app):
    return app.extensions["gatepost"].feature("backups")


def test_an_administrator_requests_a_backup_and_sees_its_state(app, as_role, processes, given):
    admin = as_role("admin")
    answer = admin.post(PATH)
    assert answer.status_code == 202 and answer.get_json()["state"] == "running"
    id = answer.get_json()["id"]
    assert processes == [("--requested", id)]
    assert [one["state"] for one in admin.get(PATH).get_json()["items"]] == ["running"]
    with given.database.connected():
        assert Audit.select().where(Audit.resource == "backup", Audit.action == "create").count() == 1
    again = admin.post(PATH)
    assert (again.status_code, again.get_json()["code"], len(processes)) == (409, "conflict", 1)


def test_a_repeated_request_starts_one_backup(as_role, processes):
    key = {"Idempotency-Key": "a-backup"}
    first, second = (as_role("admin").post(PATH, headers=key) for _ in range(2))
    assert first.get_json() == second.get_json() and len(processes) == 1


def test_a_process_that_fails_leaves_a_failed_backup_and_frees_the_way(app, as_role, processes):
    admin = as_role("admin")
    processes.end = 1
    assert admin.post(PATH).status_code == 202
    requested(app)._running[1].wait()
    requested(app).look()
    assert [one["state"] for one in admin.get(PATH).get_json()["items"]] == ["failed"]
    assert admin.post(PATH).status_code == 202


def test_a_process_that_cannot_start_leaves_a_failed_backup(app, as_role, processes, monkeypatch):
    def refuse(settings, *options):
        raise OSError("no room")

    monkeypatch.setattr(schedule, "_process", refuse)
    assert as_role("admin").post(PATH).status_code == 202
    assert as_role("admin").get(PATH).get_json()["items"][0]["state"] == "failed"


@pytest.mark.parametrize("role", ["guest", "user", "editor", "owner", "developer"])
def test_no_other_role_may_request_one(role, as_role, processes):
    assert as_role(role).post(PATH).status_code in (401, 403)
    assert processes == []


def test_callers_of_another_tenant_neither_see_nor_make_backups(as_role, processes):
    foreign = as_role("admin", tenant="other")
    assert foreign.get(PATH).status_code == foreign.post(PATH).status_code == 403
    assert processes == []


def test_the_console_has_a_button_that_works_without_script(app, processes):
    admin = visit(app, "admin")
    form = admin.page("/console/running").form("/console/running/backups")
    answers = [admin.post(form.action, form.fields) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [303, 303] and len(processes) == 1
    page = admin.page("/console/running")
    assert "A backup is being made." in page.text and "/console/running/backups" not in [
        form.action for form in page.forms]
    refused = admin.post("/console/running/backups", {"_key": "another"})
    assert refused.status_code == 409 and "A backup is being made already." in Seen.of(refused).text
    developer = visit(app, "developer")
    assert "/console/running/backups" not in [form.action for form in developer.page("/console/running").forms]
    assert developer.post("/console/running/backups").status_code == 403
    evil = admin.client.post("/console/running/backups", headers={"Origin": "https://evil.example"})
    assert evil.status_code == 403


@pytest.mark.slow
def test_a_requested_backup_is_made_and_verified(tmp_path):
    instance = Instance(tmp_path / "instance", {"GATEPOST_RATE_LIMITS": "off"})
    done = instance.run("init", "--admin-email", "admin@example.org", "--admin-password-file", "-",
                        input="a long walk along the shore")
    assert done.returncode == 0, done.stderr
    with instance.served() as served:
        token = served.log_in(password="a long walk along the shore")
        assert served.call("POST", PATH, token=token)[0] == 202
        wait_until(lambda: served.call("GET", PATH, token=token)[1]["items"][0]["proved_at"])
        found = served.call("GET", PATH, token=token)[1]["items"][0]
        assert found["state"] == "made" and found["bytes"] > 0 and found["proved_at"]
    assert list((tmp_path / "instance" / "backups").glob("gatepost-*.tar.gz"))
