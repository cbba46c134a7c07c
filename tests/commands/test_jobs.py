"""`gatepost jobs`: operators list, cancel and retry jobs. `gatepost worker` runs them."""

from __future__ import annotations

import signal
import subprocess

import pytest

from models.base import Rows, later
from models.engine.connect import open_database
from models.tables.job import Job, enqueue
from models.tables.tenant import Tenant
from tests.running import GATEPOST, Instance, wait_until

NONE = "01930000-0000-7000-8000-000000000000"


@pytest.fixture(scope="module")
def instance(tmp_path_factory):
    return Instance(tmp_path_factory.mktemp("made") / "instance").made()


@pytest.fixture
def database(instance):
    found = open_database(f"sqlite:///{instance.folder / 'gatepost.db'}", pool_size=1)
    found.transact(lambda: Job.delete().execute())
    yield found
    found.close_all()


def add(database, state="waiting", **columns):
    def work():
        job = enqueue(Tenant.by_name("default").id, columns.pop("kind", "notes.digest"), {"ids": [1]}, **columns)
        job.state = state
        return Rows(Job, job.tenant_id).save(job).id

    return database.transact(work)


def state(database, id):
    with database.connected():
        return Job.by_id(id).state


def test_jobs_are_listed_the_newest_first_with_what_went_wrong(instance, database):
    first = add(database, "failed", last_error="TimeoutError: no answer", attempts=5)
    second = add(database, kind="articles.export")
    lines = instance.run("jobs", "list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [second, first]
    assert "waiting    articles.export" in lines[0]
    assert lines[1].endswith("attempt 5 of 5: TimeoutError: no answer")
    assert instance.run("jobs", "list", "--state", "failed").stdout.splitlines() == lines[1:]
    assert instance.run("jobs", "list", "--kind", "articles.export").stdout.splitlines() == lines[:1]
    assert instance.run("jobs", "list", "--limit", "1").stdout.splitlines() == lines[:1]


def test_the_list_reads_no_payload_and_no_result(database):
    add(database)
    with database.connected():
        (job,) = Job.newest(1)
    assert job.__data__.keys().isdisjoint({"payload", "result", "steps"})


def test_a_job_is_shown_with_its_payload_and_error(instance, database):
    id = add(database, "failed", last_error="TimeoutError: no answer")
    shown = instance.run("jobs", "show", id).stdout
    for line in ("kind          notes.digest", "state         failed", "requested by  the service",
                 "last error    TimeoutError: no answer", 'payload       {"ids":[1]}'):
        assert line in shown.splitlines()


@pytest.mark.parametrize(("command", "before", "after", "said"), [
    ("retry", "failed", "waiting", "waits."), ("cancel", "waiting", "cancelled", "is cancelled."),
    ("cancel", "running", "running", "stops after its batch."),
])
def test_a_job_is_tried_again_or_cancelled_and_the_trail_says_so(command, before, after, said, instance, database):
    id = add(database, before)
    done = instance.run("jobs", command, id)
    assert (done.returncode, done.stdout) == (0, f"{id} {said}\n")
    assert state(database, id) == after
    assert id in instance.run("audit", "tail").stdout


def test_an_id_may_be_in_capitals(instance, database):
    id = add(database)
    assert instance.run("jobs", "cancel", id.upper()).returncode == 0
    assert state(database, id) == "cancelled"


@pytest.mark.parametrize(("command", "before", "why"), [
    ("retry", "waiting", "is waiting; only a failed job can be retried."),
    ("retry", "done", "is done; only a failed job can be retried."),
    ("cancel", "done", "is done already."), ("cancel", "cancelled", "is cancelled already."),
])
def test_what_is_not_possible_is_said_and_changes_nothing(command, before, why, instance, database):
    id = add(database, before)
    done = instance.run("jobs", command, id)
    assert (done.returncode, done.stderr) == (1, f"Error: The job {id} {why}\n")
    assert state(database, id) == before


@pytest.mark.parametrize("command", ["show", "retry", "cancel"])
@pytest.mark.parametrize("id", [NONE, "nothing"])
def test_a_job_that_is_not_there_is_said(command, id, instance):
    done = instance.run("jobs", command, id)
    assert (done.returncode, done.stderr) == (1, f"Error: There is no job {id}.\n")


def test_the_doctor_counts_jobs_and_says_when_nobody_runs_them(instance, database):
    add(database, "failed")
    assert "0 waiting, 0 running, 1 failed; gatepost jobs list --state failed" in instance.run("doctor").stdout
    add(database, run_at=later(-3 * 3600))
    assert "1 wait, one of them for 3 hours: no process runs jobs" in instance.run("doctor").stdout


@pytest.mark.slow
def test_a_worker_runs_jobs_without_serving_and_stops_in_order(instance, database):
    id = add(database, kind="gone.plugin")
    worker = subprocess.Popen([*GATEPOST, "worker"], env={**instance.environ(), "GATEPOST_RUN_JOBS": "off"},
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert worker.stdout.readline() == "Running jobs (Ctrl-C stops)\n"
        wait_until(lambda: state(database, id) == "failed")
    finally:
        worker.send_signal(signal.SIGTERM)
        output, errors = worker.communicate(timeout=60)
    assert (worker.returncode, output, errors) == (0, "", "")


@pytest.mark.parametrize("run_jobs", ["on", "off"])
def test_a_server_runs_jobs_unless_the_setting_says_otherwise(run_jobs, instance, database):
    id = add(database, kind="gone.plugin")
    served = Instance(instance.folder, {"GATEPOST_RUN_JOBS": run_jobs})
    with served.answering() as service:
        assert service.call("GET", "/api/health")[0] == 200
        if run_jobs == "on":
            wait_until(lambda: state(database, id) == "failed")
    assert state(database, id) == ("failed" if run_jobs == "on" else "waiting")
