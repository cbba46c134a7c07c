"""Queue of jobs: finds the job that is due, leases it to a process, and stores its outcome.

Every change of a running job requires its lease. So a process that was given up as dead, and comes back, changes
nothing. Everything here crosses tenants: a process runs the jobs of all of them.
"""

from __future__ import annotations

from typing import Any

import orjson
import peewee as pw

from models.engine.database import Database, current
from models.engine.lease_clock import Moment, moment
from models.records.times import now
from models.tables.job import CANCELLED, DONE, FAILED, RUNNING, WAITING, Job


def has_due(database: Database) -> bool:
    """True if a job is due. The caller holds a connection."""
    return _due(moment(database)).exists()


def claim(database: Database, holder: str, seconds: float) -> Job | None:
    """Takes the job that has been due for the longest, under a lease of so many seconds; None if there is none.

    Needs a transaction. A job whose lease has expired was run by a process that died. `attempts` includes this one.
    """
    at = moment(database)
    query = _due(at)
    if database.dialect == "postgres":
        # Another process may be taking it: this one takes the next.
        query = query.for_update("FOR UPDATE SKIP LOCKED")  # type: ignore[arg-type]
    job: Job | None = query.first()
    if job is None:
        return None
    job.state, job.attempts = RUNNING, job.attempts + 1
    job.lease, job.leased_until = f"{at.epoch}/{holder}", at.seconds + seconds
    names = ("state", "attempts", "lease", "leased_until")
    _update({name: getattr(job, name) for name in names}, Job.id == job.id)
    return job


def renew(job: Job, seconds: float) -> bool:
    """Extends the lease. Returns False if it is no longer held. Needs a transaction."""
    return _change(job, {"leased_until": moment(current).seconds + seconds})


def note_step(job: Job, steps: list[str]) -> bool:
    """Notes the steps that are done, in the transaction of their effect. Returns False if the lease is no longer held.
    """
    return _change(job, {"steps": steps})


def note_progress(job: Job, progress: int) -> bool:
    """Notes the number of rows that are done. Returns False if the lease is no longer held."""
    return _change(job, {"progress": progress})


def asked_to_stop(job: Job) -> bool | None:
    """True if the job was cancelled; None if the lease is no longer held. The caller holds a connection."""
    row = Job.select(Job.stopping).where(*_held(job)).tuples().first()
    return None if row is None else bool(row[0])


def finish(job: Job, progress: int, result: Any) -> bool:
    """Marks the job as done, with this result (JSON-ready). Returns False, without a change, if the lease is no longer
    held."""
    return _end(job, DONE, {"progress": progress, "result": result})


def fail(job: Job, progress: int, result: Any, error: str) -> bool:
    """Marks the job as failed, without a retry. `result`: the reason for its owner; `error`: for operators."""
    return _end(job, FAILED, {"progress": progress, "result": result, "last_error": error})


def cancel(job: Job, progress: int) -> bool:
    """Marks the job as cancelled, after it was asked to stop."""
    return _end(job, CANCELLED, {"progress": progress})


def put_off(job: Job, run_at: str, error: str) -> bool:
    """Schedules a retry at that time, or cancels the job if it was asked to stop. Needs a transaction."""
    has_lease = _change(job, {**_FREE, "state": WAITING, "run_at": run_at, "progress": 0, "last_error": error})
    if has_lease:
        # This transaction has changed the row, so nobody can ask it to stop meanwhile.
        ended = {"state": CANCELLED, "stopping": False, "done_at": now()}
        _update(ended, Job.id == job.id, Job.stopping == True)  # noqa: E712
    return has_lease


def give_back(job: Job) -> bool:
    """Returns the job to the queue because its process stops. It can start again at once, and this attempt does not
    count."""
    return _change(job, {**_FREE, "state": WAITING, "progress": 0, "attempts": job.attempts - 1})


_FREE = {"lease": None, "leased_until": None}


def _due(at: Moment) -> pw.ModelSelect[Job]:
    waits = (Job.state == WAITING) & (Job.run_at <= now())
    abandoned = (Job.state == RUNNING) & ((Job.leased_until < at.seconds) | ~Job.lease.startswith(f"{at.epoch}/"))
    return Job.select().where(waits | abandoned).order_by(Job.run_at, Job.id).limit(1)


def _end(job: Job, state: str, changes: dict[str, Any]) -> bool:
    if changes.get("result") is not None:
        changes["result"] = orjson.dumps(changes["result"]).decode()
    return _change(job, {**_FREE, "state": state, "stopping": False, "done_at": now(), **changes})


def _held(job: Job) -> tuple[pw.Expression, ...]:
    """Returns the condition that the job still runs under its lease."""
    return Job.id == job.id, Job.lease == job.lease, Job.state == RUNNING


def _change(job: Job, changes: dict[str, Any]) -> bool:
    return _update(changes, *_held(job))


def _update(changes: dict[str, Any], *where: pw.Expression) -> bool:
    values = {Job._meta.fields[name]: value for name, value in changes.items()}
    stamps = {Job.version: Job.version + 1, Job.updated_at: now()}
    return bool(Job.update({**stamps, **values}).where(*where).execute())
