"""Commands about jobs, for operators: `gatepost jobs …`."""

from __future__ import annotations

from collections.abc import Callable

import click
import orjson

from gatepost.commands.instance import open_instance, record
from gatepost.commands.printing import Group, echo
from models.base import Rows, read_id
from models.tables.job import CANCELLED, DONE, FAILED, STATES, Job

_LISTED = 50
_LONGEST = 2000  # printed characters of a payload or a result


@click.group(cls=Group)
def jobs() -> None:
    """List, show, cancel and retry jobs."""


@jobs.command("list")
@click.option("--state", type=click.Choice(STATES), help="Only those in this state.")
@click.option("--kind", metavar="KIND", help="Only those of this kind, such as articles.export.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=_LISTED, show_default=True, metavar="N",
              help="At most N jobs.")
def list_jobs(state: str | None, kind: str | None, limit: int) -> None:
    """List jobs of all tenants, the newest first.

    \b
    Example: gatepost jobs list --state failed
    """
    with open_instance():
        for job in Job.newest(limit, state=state, kind=kind):
            echo(f"{job.id}  {job.state:9}  {job.kind}, since {job.created_at}, attempt {job.attempts} of "
                 f"{job.max_attempts}{f': {job.last_error}' if job.last_error and job.state != DONE else ''}")


@jobs.command()
@click.argument("id")
def show(id: str) -> None:
    """Show all fields of a job.

    \b
    Example: gatepost jobs show 01930f2e-8a4b-7c3d-9e1f-2a3b4c5d6e7f
    """
    with open_instance():
        job = _find(id)
        fields = {
            "kind": job.kind,
            "state": job.state,
            "tenant": job.tenant_id,
            "requested by": job.owner_id or "the service",
            "created": job.created_at,
            "not before": job.run_at,
            "attempts": f"{job.attempts} of {job.max_attempts}",
            "rows": job.progress,
            "steps done": ", ".join(job.steps) or None,
            "run by": job.lease,
            "to be stopped": "yes" if job.stopping else None,
            "ended": job.done_at,
            "last error": job.last_error,
            "payload": orjson.dumps(job.payload).decode()[:_LONGEST],
            "result": None if job.result is None else orjson.dumps(job.result).decode()[:_LONGEST],
        }
        for name, value in fields.items():
            if value is not None:
                echo(f"{name:13} {value}")


@jobs.command()
@click.argument("id")
def retry(id: str) -> None:
    """Run a failed job again. Committed steps are not repeated.

    \b
    Example: gatepost jobs retry 01930f2e-8a4b-7c3d-9e1f-2a3b4c5d6e7f
    """
    def work(job: Job) -> str:
        if job.state != FAILED:
            raise click.ClickException(f"The job {id} is {job.state}; only a failed job can be retried.")
        job.begin_anew()
        return f"{id} waits."

    _change(id, "retry", work)


@jobs.command()
@click.argument("id")
def cancel(id: str) -> None:
    """Cancel a waiting job, or stop a running one.

    \b
    Example: gatepost jobs cancel 01930f2e-8a4b-7c3d-9e1f-2a3b4c5d6e7f
    """
    def work(job: Job) -> str:
        if not job.call_off():
            raise click.ClickException(f"The job {id} is {job.state} already.")
        return f"{id} is cancelled." if job.state == CANCELLED else f"{id} stops after its batch."

    _change(id, "delete", work)


def _find(id: str, *, lock: bool = False) -> Job:
    normalized = read_id(id)
    job = None if normalized is None else Job.by_id(normalized, lock=lock)
    if job is None:
        raise click.ClickException(f"There is no job {id}.")
    return job


def _change(id: str, action: str, change: Callable[[Job], str]) -> None:
    """Changes a job and adds an audit event in one transaction, and prints the sentence that `change` returns."""
    with open_instance() as instance:
        def work() -> str:
            job = _find(id, lock=True)
            sentence = change(job)
            Rows(Job, job.tenant_id).save(job)
            record(job.tenant_id, "job", action, job.id)
            return sentence

        sentence = instance.database.transact(work)
    echo(sentence)
