"""Exports as jobs, and download of their files. Only the user who started the export can download it, and only while
their rights are the same.
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
    """Returns the export endpoint of a collection. A client may request it as a job."""
    result = exporting.endpoint(listing)

    def check(call: Call) -> None:
        exporting.media_type_of(call.request)
        with call.services.database.connected():
            listing.check(call, listing.collection.permission("export"))

    return requests.deferrable(result, listing.collection.name, check, admit=files.require_room)


def run(task: Task, call: Call, listing: Listing) -> None:
    """Writes the file of a requested export. Reports its rows as progress."""
    media_type, output, rows = exporting.media_type_of(call.request), files.Output(task), 0

    def count(number: int) -> None:
        nonlocal rows
        rows += number
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
    """Returns the endpoint `GET /api/jobs/{id}/file`."""
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
    collection = call.services.collections.get(job["kind"].partition(".")[0])
    if job_chunk.is_over(job["expires_at"]) or collection is None:
        raise files.gone()
    listing: Listing = collection.listing  # type: ignore[attr-defined]
    permission = listing.collection.permission("export")
    if not call.access.may_ever(permission):
        raise call.access.refusal(permission)
    if rights(call, listing) != job["payload"].get("rights"):
        raise Problem("forbidden", "Your rights have changed since this export. Start a new one.")
    file = job["result"]
    headers = {"Content-Disposition": exporting.disposition(collection.name, file["media_type"])}
    return long_answers.answer(
        call, lambda: files.chunks(call.services, call.tenant_id, job["id"], file["bytes"]),
        mimetype=file["media_type"], headers=headers)


def rights(call: Call, listing: Listing) -> str:
    """Returns a hex digest of the caller's identity, and of the rules that decide what an export shows them.

    It changes if the caller could see other rows or fields, expanded ones included.
    """
    access, principal, collection = call.access, call.principal, listing.collection
    peers = call.services.collections
    collections = [collection, *(peers[expansion.collection] for expansion in collection.expansions.values())]
    permissions = {permission for peer in collections for permission in (peer.view, *peer.guards.values())}
    permissions.add(collection.permission("export"))
    facts = [[principal.id, principal.kind, principal.role, principal.department, sorted(principal.groups)],
             sorted(access.grantees), [_plain(access.plan(permission)) for permission in sorted(permissions)]]
    return sha256(repr(facts).encode()).hexdigest()


def _plain(value: Any) -> Any:
    """Converts a plan to values with the same `repr` in every process."""
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
                *(_plain(getattr(value, field.name)) for field in fields(value) if field.compare)]
    return value
