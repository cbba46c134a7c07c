"""What is around the rows of a page: the envelope, its total, its links, and how long it may be kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import Schema, fields

from models import paging

from ..protocol.preferences import preferences
from ..protocol.versions import sent_path
from ..request.call import Call
from ..request.urls import url_of
from ..schemas.documented import component_name
from ..schemas.fields import StrictSchema
from .query import MAX_OFFSET, ListRequest

EXACT_UP_TO = 10_000
PUBLIC_FOR = 10  # seconds that a shared cache may answer guests with a page


def schema(row: Schema) -> Schema:
    """The schema of both envelopes around rows as they are answered, for the documentation."""
    text = fields.String(allow_none=True)
    return StrictSchema.from_dict({
        "items": fields.List(fields.Nested(row), required=True),
        "has_next": fields.Boolean(required=True), "has_prev": fields.Boolean(),
        "next_cursor": text, "prev_cursor": text,
        "page": fields.Integer(), "page_size": fields.Integer(),
        "total": fields.Integer(allow_none=True), "total_estimate": fields.Integer(),
    }, name=f"{component_name(type(row))}List")()


def total(call: Call, shape: paging.Shape, values: Mapping[str, Any]) -> dict[str, Any]:
    """The total as `Prefer: count=` asks (RFC 7240): exact, none, or exact up to a bound."""
    call.headers["Vary"] = "Prefer"
    database, wish = call.services.database, _preferred_count(call)
    if wish is not None:
        call.headers["Preference-Applied"] = f"count={wish}"
    if wish == "none":
        return {}
    found = paging.count(database, shape, values, limit=None if wish == "exact" else EXACT_UP_TO + 1)
    if wish == "exact" or found <= EXACT_UP_TO:
        return {"total": found}
    return {"total": None, "total_estimate": max(found, paging.estimate(database, shape, values))}


def _preferred_count(call: Call) -> str | None:
    wish = preferences(call.request.headers.get("Prefer")).get("count", "").strip().lower()
    return wish if wish in ("exact", "none") else None


def link_by_cursor(call: Call, asked: ListRequest, after: str | None, before: str | None) -> None:
    """`Link` (RFC 8288) to the first page and the neighbours, by cursor."""
    _link(call, asked.repeated, {"first": "", "next": after and f"cursor={after}",
                                 "prev": before and f"before={before}"})


def link_by_number(call: Call, asked: ListRequest, has_next: bool) -> None:
    """`Link` to the first page and the neighbours, by the parameter that asked for this one."""
    skipped = asked.offset or 0
    later: int | None = skipped + asked.size if has_next and skipped + asked.size <= MAX_OFFSET else None
    earlier = max(0, skipped - asked.size) if skipped else None

    def written(offset: int | None) -> str | None:
        if offset is None:
            return None
        return f"page={offset // asked.size + 1}" if asked.offset_parameter == "page" else f"offset={offset}"

    _link(call, asked.repeated, {"first": written(0), "next": written(later), "prev": written(earlier)})


def _link(call: Call, query: str, parameters: Mapping[str, str | None]) -> None:
    path, links = url_of(call.services.settings, call.request, sent_path(call.request)), []
    for relation, parameter in parameters.items():
        if parameter is not None:
            both = f"{query}&{parameter}" if query and parameter else query or parameter
            links.append(f'<{path}{"?" if both else ""}{both}>; rel="{relation}"')
    # Beside the successor of what is deprecated.
    call.headers["Link"] = ", ".join(filter(None, (call.headers.get("Link"), *links)))
