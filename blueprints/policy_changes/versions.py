"""Endpoints of the policy history, for callers with `policy.view`: earlier policies and their files.

Rules about users of other tenants are hidden from the caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from marshmallow import fields

from gatepost import Call, Routes, StrictSchema, Time
from gatepost.http.protocol.problems import not_found
from gatepost.http.reading.listing import Listing
from gatepost.http.reading.readable import Readable
from gatepost.http.request.access import Narrowing
from gatepost.rules.redaction import hidden_ids, mentions, withheld
from models.tables import policy_version
from models.tables.policy_version import PolicyHistory
from policies.evaluation.sql import Where

LEFT_OUT = "# a rule about a user of another tenant is left out"
_EVERYTHING = Narrowing(Where(None), {})

routes = Routes("policy_history", "Earlier versions of the access rules, and their effects.")


class VersionSchema(StrictSchema):
    """A policy that came into force. The same version may come back."""

    version = fields.String(dump_only=True)
    applied_at = Time(dump_only=True)
    cause = fields.String(dump_only=True, metadata={
        "description": "`start`, `files` (they were edited), `command`, `http`, `revert` or `accept`."})
    by = fields.String(dump_only=True, metadata={
        "description": "`operator`, `user:<id>`, or `system` if the author is not known."})
    note = fields.String(dump_only=True, allow_none=True)
    late = fields.Boolean(dump_only=True, metadata={
        "description": "True if the database could not be written when it came into force."})
    changes = fields.List(fields.Dict(), dump_only=True, allow_none=True, metadata={
        "description": "Its differences from the previous policy: `change` (`more`, `less`, `other`, `undecided`), "
                       "`permission`, `who`, `before`, `after`; null until they are computed."})


class VersionWithFilesSchema(VersionSchema):
    """A policy that came into force, with its files by name."""

    files = fields.Dict(keys=fields.String(), values=fields.String(), dump_only=True)
    packaged = fields.List(fields.String(), dump_only=True, metadata={
        "description": "The names of the files that came with plugins. To return to this version, leave them out."})


class _Versions(Readable):
    name, resource = "policy versions", "policy"
    model, schema = PolicyHistory, VersionSchema  # type: ignore[assignment] # only read: it has no columns for writing
    sort = ("applied_at",)
    default_sort = "-applied_at"
    born = "applied_at"
    shares = False


_LISTING = Listing(_Versions())


@routes.get("/api/admin/policy/versions", permission="policy.view", query=_LISTING.query.schema,
            operation="policy_versions", answer=_LISTING.envelope())
def versions(call: Call) -> dict[str, Any]:
    """List the policy versions, the newest first."""
    page = _LISTING.within(call, _EVERYTHING, "policy versions")
    for item in page["items"]:
        _withhold(call, item)
    return withheld(call, page)


@routes.get("/api/admin/policy/versions/<version>", permission="policy.view", problems=(404,),
            operation="policy_version", answer=VersionWithFilesSchema())
def version_with_files(call: Call) -> dict[str, Any]:
    """Get a policy version with its files, by at least eight characters of the version."""
    row = policy_version.named(call.path["version"])
    if row is None:
        raise not_found()
    item = {"version": row.version, "applied_at": row.applied_at, "cause": row.cause, "by": row.author,
            "note": row.note, "late": row.late, "changes": row.changes}
    _withhold(call, item)
    return withheld(call, {**item, "files": _files(call, row.files), "packaged": row.packaged})


def _withhold(call: Call, item: dict[str, Any]) -> None:
    """Removes users hidden from the caller from the changes. Such an author becomes `user`."""
    if item.get("changes"):
        hidden = hidden_ids(call, (text for change in item["changes"] for text in _named(change)))
        item["changes"] = [shown for change in item["changes"] if (shown := _shown(change, hidden)) is not None]
    if (by := str(item.get("by", ""))).startswith("user:") and hidden_ids(call, (by,)):
        item["by"] = "user"


def _named(change: Mapping[str, Any]) -> Iterable[str]:
    return (*change.get("who", ()), str(change.get("line", "")))


def _shown(change: dict[str, Any], hidden: frozenset[str]) -> dict[str, Any] | None:
    if not any(mentions(text, hidden) for text in _named(change)):
        return change
    who = [name for name in change.get("who", ()) if not mentions(name, hidden)]
    return {**change, "who": who} if who else None


def _files(call: Call, files: Mapping[str, str]) -> dict[str, str]:
    hidden = hidden_ids(call, files.values())
    return {name: "".join(f"{LEFT_OUT}\n" if mentions(line, hidden) else line
                          for line in text.splitlines(keepends=True)) for name, text in files.items()}
