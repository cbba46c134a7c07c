"""The audit log over HTTP: lists of events, single events, and their proofs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

from marshmallow import fields

from gatepost import Call, Collection, Endpoint, Id, StrictSchema, Time
from gatepost.http.auditing.writer import sealer
from gatepost.http.request.audit import note_look
from gatepost.http.schemas.fields import IdText, one_of
from models.tables.audit import Audit
from models.tables.seals import proof_of


class AuditSchema(StrictSchema):
    """One audit event: an action of a caller or operator, allowed, refused or failed."""

    id = Id(dump_only=True)
    time = Time(dump_only=True)
    principal = IdText(dump_only=True, maximum=100)
    role = fields.String(dump_only=True)
    action = fields.String(dump_only=True)
    resource = fields.String(dump_only=True)
    resource_id = Id(dump_only=True, allow_none=True)
    address = fields.String(dump_only=True, allow_none=True)
    result = fields.String(dump_only=True, validate=one_of(["allowed", "refused", "failed"]))
    reason = fields.String(dump_only=True, allow_none=True)
    policy_version = fields.String(dump_only=True, allow_none=True)
    request_id = fields.String(dump_only=True, allow_none=True)
    facts = fields.Dict(dump_only=True, allow_none=True, metadata={
        "description": "The facts of the decision; or the e-mail of a failed login, the fields that a body could not "
                       "set, the filters and the number of rows of an export."})
    count = fields.Integer(dump_only=True, metadata={
        "description": "The number of equal events that this one stands for."})


class SealSchema(StrictSchema):
    """The seal of an audit event and its verification; null while the event is too new to have a seal."""

    created_at = Time(required=True, allow_none=True, metadata={"description": "The time of the seal."})
    head = fields.String(required=True, allow_none=True, metadata={
        "description": "The head, as `gatepost audit export --heads` writes it."})
    proved = fields.Boolean(required=True, allow_none=True, metadata={
        "description": "True if this event, and each other event that its seal covers, is unchanged. "
                       "`gatepost audit verify --heads` also proves that the end of the chain was not cut off."})


class Audits(Collection):
    """Audit events: what was done, tried and refused. The service writes them, and they are only read here."""

    name, resource = "audit", "audit"
    model = Audit  # type: ignore[assignment] # only read: it has none of the columns that writing needs
    schema = AuditSchema
    sort = ("time",)
    default_sort = "-time"
    born = "time"
    guarded = {"facts": "audit.view_facts"}
    overview = ("time", "action", "resource", "resource_id", "result")
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
                              summary="List the audit events: what was done, tried and refused.")
            elif endpoint.name == "get":
                yield replace(endpoint, handler=self._one, summary="Get an audit event.")
                yield replace(endpoint, name="seal", path=f"{endpoint.path}/seal", query=None, answer=SealSchema(),
                              handler=self._seal, summary="Verify an audit event by its seal.")

    def _listed(self, call: Call) -> dict[str, Any]:
        page = self.listing.answer(call)
        note_look(call)
        return page

    def _one(self, call: Call) -> dict[str, Any]:
        # A row never changes, and has no version.
        names, expand = self._item_query.read(call.query)
        note_look(call)
        return self.represent(call, [call.row], names, expand)[0]

    def _seal(self, call: Call) -> dict[str, Any]:
        note_look(call)
        proof = proof_of(call.path["id"], sealer(call.services.keys))
        return dict.fromkeys(("created_at", "head", "proved")) if proof is None else asdict(proof)
