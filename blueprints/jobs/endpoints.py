"""Jobs over HTTP: their owners watch, cancel and retry work that the service does outside of requests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from marshmallow import fields

from gatepost import Call, Collection, Endpoint, Id, Int, StrictSchema, Time, action
from gatepost.http.writing.actions import Conflict
from gatepost.http.writing.rules_in_code import STATE, RuleInCode, state_is
from gatepost.jobs import exports
from models.tables.job import FAILED, RUNNING, STATES, WAITING, Job
from models.tables.job_chunk import drop

CHUNKS = 40  # chunks of a job's file that are deleted with it, about 10 MB
_SUMMARIES = {
    "list": "List jobs.",
    "get": "Get a job, and what became of it.",
    "delete": "Cancel a job that waits or runs, or remove one that has ended.",
}


class JobSchema(StrictSchema):
    """A job with its state and result. It waits, runs or has ended."""

    id = Id(dump_only=True)
    kind = fields.String(dump_only=True, metadata={"description": "What is done, such as users.export."})
    state = fields.String(dump_only=True, metadata={
        "description": "waiting, running, done, failed or cancelled."})
    progress = Int(dump_only=True, metadata={"description": "Rows that were done so far."})
    attempts = Int(dump_only=True, metadata={
        "description": "How often it was begun; errors of the server are followed by another attempt."})
    created_at = Time(dump_only=True)
    done_at = Time(dump_only=True, allow_none=True, metadata={"description": "When it ended, however it did."})
    result = fields.Raw(dump_only=True, allow_none=True, metadata={
        "description": "Of a job that is done, what its kind says; of one that has failed, a problem (RFC 9457)."})


class Jobs(Collection):
    """Work outside of requests. A job begins with an import or export that prefers `respond-async`, with a plugin, or
    by the clock; here it is watched, cancelled and tried again."""

    name, resource = "jobs", "job"
    model, schema = Job, JobSchema
    shares = imports = False
    on_erase = "delete"
    filters = {"state": ("eq",), "kind": ("eq",), "owner_id": ("eq",)}
    computed = ()
    overview = ("kind", "state", "progress", "created_at", "done_at")

    def values_of(self, name: str) -> tuple[str, ...]:
        # Most states are reached without an action.
        return tuple(sorted(STATES)) if name == "state" else super().values_of(name)

    def rules_in_code(self, call: Call, verb: str, row: Job | None) -> Iterator[RuleInCode]:
        yield from super().rules_in_code(call, verb, row)
        if row is not None and verb == "delete":
            refusal = self._refusal(row)
            yield RuleInCode(STATE, state_is("state", row.state, refusal), refusal, reads=("state",))

    @staticmethod
    def _refusal(row: Job) -> Conflict | None:
        """Returns the reason why an ended job cannot be removed; None if it can, or has not ended."""
        if row.state in (WAITING, RUNNING) or not row.notes_tick:
            return None
        return Conflict("This job says which tick of the clock is done. It can be removed after the next one.")

    def endpoints(self) -> Iterator[Endpoint]:
        for endpoint in super().endpoints():
            if endpoint.name in _SUMMARIES:
                yield replace(endpoint, summary=_SUMMARIES[endpoint.name])
            elif endpoint.name == "retry":
                yield endpoint
        yield exports.file_endpoint(self)

    @action("retry", transitions={FAILED: WAITING}, state="state")
    def retry(self, row: Job) -> None:
        """Run it again, with as many attempts as a new one; committed steps are not repeated."""
        row.begin_anew()

    def delete(self, call: Call, row: Job) -> None:
        """Cancels a waiting job, requests the end of a running one, or removes an ended one with its file."""
        if (refusal := self._refusal(row)) is not None:
            raise refusal
        if row.call_off():
            self.rows(call).save(row)
        else:
            self.rows(call).delete(row)
            # A background task deletes the rest of a long file.
            drop(call.tenant_id, row.id, CHUNKS)
