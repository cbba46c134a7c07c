"""Backups over HTTP: the newest ones, and a request for another.

A backup holds the rows of all tenants and the keys of the service. So the answers name no file, and only callers of the
default tenant get any. Nobody can download a backup.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from marshmallow import fields

from gatepost import Call, Problem, Routes, StrictSchema, Time
from gatepost.http.schemas.fields import one_of
from models.tables import backup as backups
from models.tables.backup import Backup

from .schedule import requested

MADE, RUNNING, FAILED = "made", "running", "failed"
MOST = 10  # backups of an answer

routes = Routes("backups", "Backups of the service.")


class BackupSchema(StrictSchema):
    """A backup."""

    id = fields.String(required=True)
    made_at = Time(required=True, metadata={"description": "When it was begun."})
    state = fields.String(required=True, validate=one_of([MADE, RUNNING, FAILED]))
    bytes = fields.Integer(required=True, metadata={"description": "0 until it is made."})
    seconds = fields.Float(required=True, metadata={"description": "How long it took."})
    proved_at = Time(required=True, allow_none=True, metadata={
        "description": "When it was restored in a scratch place, as a proof."})
    scheduled = fields.Boolean(required=True, metadata={"description": "Whether it is one of the schedule."})


class BackupListSchema(StrictSchema):
    """The newest backups, the newest first."""

    items = fields.List(fields.Nested(BackupSchema), required=True)


@routes.get("/api/admin/backups", permission="policy.view", answer=BackupListSchema(), operation="admin_backups")
def newest(call: Call) -> dict[str, Any]:
    """List the newest backups."""
    _require_home(call)
    return {"items": [_shown(row) for row in backups.newest(MOST)]}


@contextmanager
def _starting(call: Call) -> Iterator[None]:
    yield
    # After the commit, so that the process finds the row.
    requested(call.services).start(call.prepared)


@routes.post("/api/admin/backups", permission="backup.create", answer=BackupSchema(), status=202, around=_starting,
             operation="admin_backup", problems=(409,), cost=50)
def begin(call: Call) -> dict[str, Any]:
    """Make a backup, as the schedule does: it is verified, and passed to the operator's command."""
    _require_home(call)
    row = backups.begin_requested()
    if row is None:
        raise Problem("conflict", "A backup is being made already.")
    call.prepared, call.write.note = row.id, f"backup {row.id}"
    return _shown(row)


def _require_home(call: Call) -> None:
    if call.tenant_id != call.services.guest_tenant:
        raise Problem("forbidden", "Backups are about all tenants. Only callers of the default tenant may see and make "
                                   "them.")


def _shown(row: Backup) -> dict[str, Any]:
    state = MADE if row.digest is not None else RUNNING if row.is_under_way else FAILED
    return {"id": row.id, "made_at": row.made_at, "state": state, "bytes": row.bytes, "seconds": row.seconds,
            "proved_at": row.proved_at, "scheduled": row.scheduled}
