"""The audit trail: what callers and operators did, tried and were refused, in pages and one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from marshmallow import fields

from gatepost import Call, Collection, Endpoint, Id, StrictSchema, Time
from models.tables.audit import Audit

from .http.request.audit import note_look


class AuditSchema(StrictSchema):
    """One thing that a caller or operator did, tried, or was refused."""

    id = Id(dump_only=True)
    time = Time(dump_only=True)
    principal = fields.String(dump_only=True)
    role = fields.String(dump_only=True)
    action = fields.String(dump_only=True)
    resource = fields.String(dump_only=True)
    resource_id = Id(dump_only=True, allow_none=True)
    address = fields.String(dump_only=True, allow_none=True)
    result = fields.String(dump_only=True, metadata={"enum": ["allowed", "refused", "failed"]})
    reason = fields.String(dump_only=True, allow_none=True)
    policy_version = fields.String(dump_only=True, allow_none=True)
    request_id = fields.String(dump_only=True, allow_none=True)
    facts = fields.Dict(dump_only=True, allow_none=True, metadata={
        "description": "By what the policy decided; or the e-mail of a failed login, the fields that a body could not "
                       "set, the filters and the number of rows of an export."})
    count = fields.Integer(dump_only=True, metadata={"description": "How many of the same this stands for."})


class Audits(Collection):
    """What was done, tried and refused. Rows are only read here; the service writes them."""

    name, resource = "audit", "audit"
    model = Audit  # type: ignore[assignment] # only read: it has none of the columns that writing needs
    schema = AuditSchema
    sort = ("time",)
    default_sort = "-time"
    born = "time"
    guarded = {"facts": "audit.view_facts"}
    shares = False
    filters = {
        "principal": ("eq",),
        "action": ("eq", "in"),
        "resource": ("eq",),
        "resource_id": ("eq",),
        "result": ("eq", "in"),
        "time": ("gte", "lt"),
    }

    def endpoints(self) -> Iterator[Endpoint]:
        for endpoint in super().endpoints():
            if endpoint.name == "list":
                yield replace(endpoint, handler=self._listed,
                              summary="List the audit trail: what was done, tried and refused.")
            elif endpoint.name == "get":
                yield replace(endpoint, handler=self._one, summary="Get one row of the audit trail.")

    def _listed(self, call: Call) -> dict[str, Any]:
        page = self.listing.answer(call)
        note_look(call)
        return page

    def _one(self, call: Call) -> dict[str, Any]:
        # A row never changes, and has no version.
        names, expand = self._item_query.read(call.query)
        note_look(call)
        return self.represent(call, [call.row], names, expand)[0]
