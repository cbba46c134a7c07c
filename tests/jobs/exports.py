"""Exports as jobs, for tests."""

from __future__ import annotations

from contextlib import contextmanager

from gatepost.http.operations import housekeeping
from models.tables.article import Article
from models.tables.job import Job
from models.tables.job_chunk import JobChunk

ASYNC = {"Prefer": "respond-async"}
NDJSON = {"Content-Type": "application/x-ndjson"}


@contextmanager
def quota(services, size):
    before = services.settings.job_quota
    object.__setattr__(services.settings, "job_quota", size)
    try:
        yield
    finally:
        object.__setattr__(services.settings, "job_quota", before)


def export(caller, query=""):
    return caller.get(f"/api/articles/export{query}", headers=ASYNC)


def done(services, caller, query=""):
    """Runs an export. Returns its id, and the bytes of its file."""
    asked = export(caller, query)
    assert asked.status_code == 202, asked.text
    services.jobs.run_due()
    job = caller.get(asked.headers["Location"]).json
    assert job["state"] == "done", job
    return job["id"], job["result"]["bytes"]


def file(caller, id):
    return caller.get(f"/api/jobs/{id}/file")


def state(given, id):
    job = given.found(Job, id)
    return job.state, (job.result or {}).get("status")


def chunks(database):
    with database.connected():
        return JobChunk.select().count()


def emptied(app, given):
    """The services of an app with no job and no file of one, and three long articles."""
    found = app.extensions["gatepost"]
    given.database.transact(lambda: (JobChunk.delete().execute(), Job.delete().execute(), Article.delete().execute()))
    housekeeping.delete_expired(given.database)
    for number in range(3):
        given.article(body=f"{number}" * 200_000)
    return found
