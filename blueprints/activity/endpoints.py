"""Activity and sizes of the service, for callers with `policy.view`, who also see the details of health.

Both are about the service as a whole. A caller of a tenant other than the default one sees the request counts of all
tenants together, but no numbers of rows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import suppress
from typing import Any

from marshmallow import fields, validate

from blueprints.activity.counts import quantile, this_minute
from gatepost import Call, Message, Routes, StrictSchema, Time, later
from gatepost.health import checks
from gatepost.http.schemas.parameters import Number
from models.tables.activity import FAILED, KEPT, LIMITED, REFUSED, counted_since
from models.tables.sizes import measure

routes = Routes("activity", "How busy the service is, and how large.")

_MOST = KEPT // 60  # minutes
_DEFAULT = 60  # minutes
_OF_TIME = "Milliseconds, of all requests but those that a limit refused; null without any."


class ActivityQuerySchema(StrictSchema):
    minutes = Number(
        load_default=_DEFAULT, metadata={"description": "How many minutes, up to the one that is running."},
        validate=validate.Range(1, _MOST, error=Message(
            "Must be greater than or equal to {min} and less than or equal to {max}.")))


class MinuteSchema(StrictSchema):
    """The requests that were answered in one minute."""

    start = Time(required=True)
    requests = fields.Integer(required=True, metadata={"description": "All of them."})
    refusals = fields.Integer(required=True, metadata={
        "description": "Of these, how many were answered 401, 403, or 404 for an object, which may be absent."})
    limited = fields.Integer(required=True, metadata={"description": "Of these, how many were answered 429."})
    errors = fields.Integer(required=True, metadata={
        "description": "Of these, how many were answered 500 or above."})
    median_milliseconds = fields.Float(required=True, allow_none=True, metadata={
        "description": f"Half of them took so long at most. {_OF_TIME}"})
    p95_milliseconds = fields.Float(required=True, allow_none=True, metadata={
        "description": f"95 of 100 took so long at most. {_OF_TIME}"})


class ActivitySchema(StrictSchema):
    """The last minutes, the oldest first, without gaps. The last one is running, and lacks counts of the last ten
    seconds."""

    minutes = fields.List(fields.Nested(MinuteSchema), required=True)


class TableSizeSchema(StrictSchema):
    name = fields.String(required=True)
    rows = fields.Integer(required=True, metadata={"description": "About how many there are."})
    bytes = fields.Integer(required=True, allow_none=True, metadata={
        "description": "With its indexes; null on SQLite, where that takes long to tell."})


class SizesSchema(StrictSchema):
    """Sizes of the database, its tables and its backups, and free disk space on the answering node."""

    database_bytes = fields.Integer(required=True)
    log_bytes = fields.Integer(required=True, allow_none=True, metadata={
        "description": "The write-ahead log; null on Postgres."})
    files_bytes = fields.Integer(required=True, allow_none=True, metadata={
        "description": "The files of exports, which SQLite holds beside its database; null on Postgres, where they are "
                       "in it."})
    backups_bytes = fields.Integer(required=True, allow_none=True, metadata={
        "description": "The files in the folder of backups; null where it cannot be read."})
    disk_free_bytes = fields.Integer(required=True, allow_none=True, metadata={
        "description": "Room on the disk of the instance, or of its database where there is less; null where the disk "
                       "does not say."})
    audit_since = Time(required=True, allow_none=True, metadata={
        "description": "The time of the oldest audit event."})
    tables = fields.List(fields.Nested(TableSizeSchema), metadata={
        "description": "The largest first, with the rows of all tenants: only for callers of the tenant that guests "
                       "act in."})


@routes.get("/api/admin/activity", permission="policy.view", query=ActivityQuerySchema(), answer=ActivitySchema(),
            operation="admin_activity", cost=5)
def activity(call: Call) -> dict[str, Any]:
    """Count the requests of each minute, and how long they took."""
    running = this_minute()
    starts = [later(-60 * minute, running) for minute in reversed(range(call.query["minutes"]))]
    counts: defaultdict[str, list[tuple[str, int, int]]] = defaultdict(list)
    for start, outcome, within, count in counted_since(starts[0]):
        counts[start].append((outcome, within, count))
    return {"minutes": [{"start": start, **_minute(counts.get(start, []))} for start in starts]}


@routes.get("/api/admin/sizes", permission="policy.view", answer=SizesSchema(), operation="admin_sizes")
def sizes(call: Call) -> dict[str, Any]:
    """Measure the database, its tables and its backups."""
    services = call.services
    size, settings = measure(services.database), services.settings
    answer: dict[str, Any] = {
        "database_bytes": size.database, "log_bytes": size.log, "files_bytes": size.files,
        "backups_bytes": None, "disk_free_bytes": None, "audit_since": size.since}
    with suppress(OSError):
        answer["backups_bytes"] = sum(checks.kept_backups(settings.backups))
    with suppress(OSError):
        answer["disk_free_bytes"] = checks.free(checks.folders(settings))
    if call.tenant_id == services.guest_tenant:
        answer["tables"] = [table._asdict() for table in size.tables]
    return answer


def _minute(counts: list[tuple[str, int, int]]) -> dict[str, Any]:
    """Returns the answer for a minute from its (outcome, microseconds, count)."""
    outcomes, times = Counter[str](), Counter[int]()
    for outcome, within, count in counts:
        outcomes[outcome] += count
        # Requests over a limit are answered quickly, and many of them would hide the durations of the others.
        if outcome != LIMITED:
            times[within] += count
    return {"requests": outcomes.total(), "refusals": outcomes[REFUSED], "limited": outcomes[LIMITED],
            "errors": outcomes[FAILED], "median_milliseconds": _rounded(quantile(times, 0.5)),
            "p95_milliseconds": _rounded(quantile(times, 0.95))}


def _rounded(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else round(milliseconds, 2)
