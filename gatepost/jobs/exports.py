"""Exports as jobs, and the file that such a job has made: for who asked for it, while their rights stay what they were.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from hashlib import sha256
from typing import Any

from flask import Response

from models.tables import job_chunk
from models.tables.job import DONE
from policies.syntax.vocabulary import Function

from ..http.protocol.problems import Problem, not_found
from ..http.reading import exporting, long_answers
from ..http.reading.listing import Listing
from ..http.request import audit
from ..http.request.call import Call, Write
from ..http.request.endpoint import Endpoint
from ..http.schemas import file_formats
from ..http.writing.writable import Writable
from . import files, requests
from .task import Task


def endpoint(listing: Listing) -> Endpoint:
    """The export of a collection, which may be asked for as a job."""
    made = exporting.endpoint(listing)

    def check(call: Call) -> None:
        exporting.wanted(call.request)
        with call.services.database.connected():
            listing.check(call, listing.collection.permission("export"))

    return requests.deferrable(made, listing.collection.name, check, admit=files.require_room)


def run(task: Task, call: Call, listing: Listing) -> None:
    """Make the file that the request has asked for. `progress` are its rows."""
    media_type, output, rows = exporting.wanted(call.request), files.Output(task), 0

    def count(some: int) -> None:
        nonlocal rows
        rows += some
        task.progress(rows)

    with call.services.database.connected():
        content = exporting.content(listing, call, media_type, count)
    for data in content:
        output.write(data)
        task.check()
    output.close()
    task.rows_done = rows

    def end() -> dict[str, Any]:
        call.write = Write()
        requests.check_unchanged(call, task)
        audit.note_decision(call)
        call.write.facts = audit.facts_of_export(exporting.filters(call), rows)
        call.write.note = f"job {task.id}"
        audit.record(call)
        job_chunk.publish(task.job, rights(call, listing), output.size)
        return {"rows": rows, "bytes": output.size, "media_type": media_type}

    task.finish(end)


def file_endpoint(collection: Writable) -> Endpoint:
    """`GET /api/jobs/{id}/file`."""
    return Endpoint(name="file", method="GET", path=f"/api/{collection.name}/<id>/file", permission=collection.view,
                    load=collection.load_values, handler=_file, produces=file_formats.MEDIA_TYPES, cost=10,
                    carries=("Content-Disposition",), problems=(410,),
                    summary="Get the file that an export has made, within a day.")


def _file(call: Call) -> Response:
    job = call.facts
    if job["owner_id"] != call.principal.id:
        raise Problem("forbidden", "Only the user who started this export can download it.")
    if job["state"] != DONE or job["expires_at"] is None:
        raise not_found()
    found = call.services.collections.get(job["kind"].partition(".")[0])
    if job_chunk.is_over(job["expires_at"]) or found is None:
        raise files.gone()
    listing: Listing = found.listing  # type: ignore[attr-defined]
    permission = listing.collection.permission("export")
    if not call.access.may_ever(permission):
        raise call.access.refusal(permission)
    if rights(call, listing) != job["payload"].get("rights"):
        raise Problem("forbidden", "Your rights have changed since this export. Start a new one.")
    made = job["result"]
    headers = {"Content-Disposition": exporting.disposition(found.name, made["media_type"])}
    return long_answers.answer(
        call, lambda: files.chunks(call.services, call.tenant_id, job["id"], made["bytes"]),
        mimetype=made["media_type"], headers=headers)


def rights(call: Call, listing: Listing) -> str:
    """A digest of what the policy lets the caller see in an export, with whatever is expanded, and of who they are."""
    access, principal, collection = call.access, call.principal, listing.collection
    peers = call.services.collections
    seen = [collection, *(peers[one.collection] for one in collection.expansions.values())]
    permissions = {permission for one in seen for permission in (one.view, *one.guards.values())}
    permissions.add(collection.permission("export"))
    known = [[principal.id, principal.kind, principal.role, principal.department, sorted(principal.groups)],
             sorted(access.grantees), [_plain(access.plan(permission)) for permission in sorted(permissions)]]
    return sha256(repr(known).encode()).hexdigest()


def _plain(value: Any) -> Any:
    """A plan in values whose `repr` is the same in every process."""
    match value:
        case Function():
            return value.name
        case Enum():
            return value.value
        case tuple():
            return [_plain(part) for part in value]
        case frozenset():
            return sorted(map(repr, value))
    if is_dataclass(value):
        return [type(value).__name__,
                *(_plain(getattr(value, one.name)) for one in fields(value) if one.compare)]
    return value
