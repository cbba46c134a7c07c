"""`GET /api/profile/export`: export of everything about the caller."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from typing import Any, cast

from flask import Response

from gatepost import Call, Routes, Rows
from gatepost.collections.erasing import Collections
from gatepost.http.reading import long_answers
from gatepost.http.reading.readable import Readable
from gatepost.http.request import audit
from gatepost.http.schemas import file_formats
from models.tables.user import User

from . import exporting

routes = Routes("profile_export", "One's own data.")

# Until the e-mail address of an account is verified, messages from that address may be another person's.
_UNPROVED = ("contact",)


def _own_account(call: Call) -> User | None:
    return Rows(User, call.tenant_id).find(call.principal.id or "")


@routes.get("/api/profile/export", permission="profile.export", load=_own_account, cost=10,
            operation="profile_export", produces=(file_formats.NDJSON,), carries=("Content-Disposition",))
def export(call: Call) -> Response:
    """Export everything about the caller, as NDJSON."""
    event = audit.Export(call, {})
    headers = {"Content-Disposition": 'attachment; filename="profile.ndjson"', "Cache-Control": "no-store"}
    response = long_answers.answer(call, lambda: _content(call, event), mimetype=file_formats.NDJSON, headers=headers)
    # If the client disconnects, the audit event has the rows sent until then.
    response.call_on_close(event.note)
    return response


def _content(call: Call, event: audit.Export) -> Iterator[bytes]:
    def hidden(collection: Readable, row: Mapping[str, Any]) -> Collection[str]:
        # A condition may query the database, and the request's own connection is released by now.
        with call.services.database.connected():
            return collection.hidden(call, row, tuple(collection.guards))

    collections = cast(Collections, call.services.collections)  # typed there with fewer methods
    without = _UNPROVED if call.row.email_verified_at is None else ()
    lines = exporting.lines(call.services.database, call.row, collections, without, hidden)
    # Read the first line now, so that an error is answered as a problem document.
    first = next(lines)
    return file_formats.write(file_formats.NDJSON, (), _counted(chain([first], lines), event))


def _counted(lines: Iterator[exporting.Line], event: audit.Export) -> Iterator[exporting.Line]:
    for line in lines:
        event.count(1)
        yield line
