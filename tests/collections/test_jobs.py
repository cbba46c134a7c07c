"""`/api/jobs`: callers watch, cancel and retry their jobs. Owners do so for all jobs."""

from __future__ import annotations

import pytest

from gatepost.jobs.runner import Runner
from models.tables import job_queue
from models.tables.audit import Audit
from models.tables.job import Job
from tests.apps import NO_ROW

SHOWN = {"id", "kind", "state", "progress", "attempts", "created_at", "done_at", "result"}


def runner(app, work=lambda task: None):
    return Runner(app.extensions["gatepost"], {"articles.export": work})


@pytest.fixture
def ann(as_user, given):
    given.database.transact(lambda: Job.delete().execute())
    return as_user("user")


def test_a_job_says_how_far_it_is_and_nothing_of_how_it_is_run(ann, given):
    job = given.job("running", owner_id=ann.id, progress=7, attempts=2, lease="boot/1-secret", leased_until=9e9,
                    payload='{"secret": 1}', last_error="hunter2", scopes=["read:articles"], steps=["one"])
    answer = ann.get(f"/api/jobs/{job.id}")
    assert set(answer.json) == SHOWN
    assert (answer.json["state"], answer.json["progress"], answer.json["attempts"]) == ("running", 7, 2)
    assert ann.get("/api/jobs").json["items"] == [answer.json]
    assert "secret" not in answer.text and "hunter2" not in answer.text


@pytest.mark.parametrize("field", ["payload", "lease", "last_error", "scopes", "steps", "owner_id", "run_at"])
def test_no_other_column_of_it_can_be_asked_for(field, ann):
    assert ann.get(f"/api/jobs?fields={field}").json["code"] == "invalid_parameter"


def test_its_entity_tag_changes_with_its_progress(ann, given, app):
    job = given.job(owner_id=ann.id)
    tag = ann.get(f"/api/jobs/{job.id}").headers["ETag"]
    assert ann.get(f"/api/jobs/{job.id}", headers={"If-None-Match": tag}).status_code == 304
    claimed = given.database.transact(lambda: job_queue.claim(given.database, "me", 60))
    given.database.transact(lambda: job_queue.note_progress(claimed, 5))
    answer = ann.get(f"/api/jobs/{job.id}", headers={"If-None-Match": tag})
    assert (answer.status_code, answer.json["progress"]) == (200, 5)


@pytest.mark.both_databases
def test_jobs_are_found_by_state_and_kind(ann, given):
    given.job(owner_id=ann.id)
    failed = given.job("failed", owner_id=ann.id, kind="orders.import")
    for query in ("state=failed", "kind=orders.import", "state=failed&kind=orders.import"):
        assert [job["id"] for job in ann.get(f"/api/jobs?{query}").json["items"]] == [failed.id]
    assert ann.get("/api/jobs?kind=nothing").json["items"] == []


@pytest.mark.parametrize("state", ["waiting", "running", "done", "failed", "cancelled"])
def test_jobs_of_others_and_of_the_service_are_as_good_as_absent(state, ann, as_role, given):
    others = [given.job(state), given.job(state, owner_id=as_role("editor").id)]
    assert ann.get("/api/jobs").json["items"] == []
    for job in others:
        absent = ann.get(f"/api/jobs/{NO_ROW}").json | {"instance": "", "request_id": ""}
        for answer in (ann.get(f"/api/jobs/{job.id}"), ann.delete(f"/api/jobs/{job.id}"),
                       ann.post(f"/api/jobs/{job.id}/retry")):
            assert (answer.status_code, answer.json | {"instance": "", "request_id": ""}) == (404, absent)
    assert {job.id for job in others} <= {job["id"] for job in as_role("owner").get("/api/jobs").json["items"]}


def test_a_job_that_waits_is_cancelled_and_never_begun(ann, given, app):
    job = given.job(owner_id=ann.id)
    assert ann.delete(f"/api/jobs/{job.id}").status_code == 204
    shown = ann.get(f"/api/jobs/{job.id}").json
    assert (shown["state"], shown["attempts"]) == ("cancelled", 0) and shown["done_at"]
    assert runner(app).run_due() == 0


@pytest.mark.both_databases
def test_a_job_that_runs_is_asked_to_stop(ann, given, app, monkeypatch):
    monkeypatch.setattr("gatepost.jobs.task.NOTED", 0)
    job = given.job(owner_id=ann.id)

    def work(task):
        assert ann.delete(f"/api/jobs/{job.id}").status_code == 204
        assert ann.get(f"/api/jobs/{job.id}").json["state"] == "running"
        task.check()
        raise AssertionError("went on")

    runner(app, work).run_due()
    assert ann.get(f"/api/jobs/{job.id}").json["state"] == "cancelled"


@pytest.mark.parametrize("state", ["done", "failed", "cancelled"])
def test_a_job_that_has_ended_is_removed(state, ann, given):
    job = given.job(state, owner_id=ann.id)
    assert ann.delete(f"/api/jobs/{job.id}").status_code == 204
    assert given.found(Job, job.id) is None


@pytest.mark.both_databases
@pytest.mark.parametrize("state", ["done", "failed", "cancelled"])
def test_the_last_job_of_the_clock_is_not_removed_because_its_tick_would_come_again(state, ann, as_role, given):
    owner, ticks = as_role("owner"), ("2026-11-23T05:00:00Z", "2026-11-23T06:00:00Z")
    before, last = [given.job(state, kind="notes.digest", tick=tick) for tick in ticks]
    answer = owner.delete(f"/api/jobs/{last.id}")
    assert (answer.status_code, answer.json["code"]) == (409, "conflict")
    assert answer.json["detail"].startswith("This job says which tick of the clock is done.")
    assert given.found(Job, last.id).state == state
    assert owner.delete(f"/api/jobs/{before.id}").status_code == 204


def test_a_job_of_the_clock_that_waits_is_cancelled(ann, as_role, given):
    job = given.job(kind="notes.digest", tick="2026-11-23T05:00:00Z")
    assert as_role("owner").delete(f"/api/jobs/{job.id}").status_code == 204
    assert given.found(Job, job.id).state == "cancelled"


def test_the_explanation_knows_that_the_last_job_of_the_clock_stays(ann, as_role, given):
    job = given.job("done", kind="notes.digest", tick="2026-11-23T05:00:00Z")
    query = f"as={as_role('owner').id}&permission=job.delete&id={job.id}"
    told = as_role("admin").get(f"/api/admin/policy/explain?{query}").json
    assert (told["verdict"], told["status"], told["code"]) == ("refused", 409, "conflict")


def test_a_job_that_has_failed_is_tried_again_from_the_first_attempt(ann, given, app):
    job = given.job("failed", owner_id=ann.id, attempts=5, result='{"code": "forbidden"}', steps=["one"])
    answer = ann.post(f"/api/jobs/{job.id}/retry")
    assert (answer.status_code, answer.json["state"], answer.json["attempts"]) == (200, "waiting", 0)
    assert (answer.json["result"], answer.json["done_at"]) == (None, None)
    assert given.found(Job, job.id).steps == ["one"], "what was committed is not done again"
    assert runner(app, lambda task: {"rows": 1}).run_due() == 1
    shown = ann.get(f"/api/jobs/{job.id}").json
    assert (shown["state"], shown["attempts"], shown["result"]) == ("done", 1, {"rows": 1})


@pytest.mark.parametrize("state", ["waiting", "running", "done", "cancelled"])
def test_only_a_job_that_has_failed_is_tried_again(state, ann, given):
    answer = ann.post(f"/api/jobs/{given.job(state, owner_id=ann.id).id}/retry")
    assert (answer.status_code, answer.json["code"]) == (409, "invalid_transition")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_nobody_writes_a_job_over_http(method, as_role):
    path = "/api/jobs" if method == "POST" else f"/api/jobs/{NO_ROW}"
    assert as_role("admin").call(method, path, {"kind": "articles.export"}).status_code == 405


def test_cancel_and_retry_are_in_the_audit_trail(ann, given):
    job = given.job("failed", owner_id=ann.id)
    ann.post(f"/api/jobs/{job.id}/retry")
    ann.delete(f"/api/jobs/{job.id}")
    with given.database.connected():
        rows = Audit.select(Audit.action, Audit.result).where(Audit.resource_id == job.id).order_by(Audit.id).tuples()
        assert list(rows) == [("retry", "allowed"), ("delete", "allowed")]
