"""`GET /api/admin/policy/explain/<id>`: why it was answered so, by the facts and the rules of that day.

For callers who may see the rules and the row of the audit trail with its facts: it tells nothing else but names, as far
as the caller may see those.
"""

from __future__ import annotations

from typing import Any, cast

from marshmallow import fields

from blueprints.policy.past import NotKept, Past, explained, gone, recorded, rules_of
from gatepost import Call, Collection, Routes, StrictSchema, Time
from gatepost.collections.names import Names, shown_to
from gatepost.http.protocol.problems import not_found
from gatepost.http.request.audit import note_look
from gatepost.rules.redaction import refuse_to_tell_fields, told_persons, withheld
from models.tables.audit import Audit, of_tenant
from policies import Policy
from policies.questions.recorded import ALLOWED, HIDDEN, REFUSED, UNKNOWN
from policies.wording.finding import single_person

from .explaining import LineSchema

routes = Routes("policy_past", "Why something was allowed or refused.")

_ANSWERED = [ALLOWED, REFUSED, HIDDEN]


class PastDecisionSchema(StrictSchema):
    """A decision of the past. `policy_alone` is what the rules of then say by themselves: what refused it may be a rule
    in code."""

    audit = fields.String(required=True)
    time = Time(required=True)
    who = fields.String(required=True, data_key="as")
    role = fields.String(required=True)
    summary = fields.String(required=True)
    permission = fields.String(required=True)
    asked = fields.List(fields.String(), required=True, metadata={
        "description": "The permissions in the order in which they were asked."})
    object = fields.String(required=True, allow_none=True)
    count = fields.Integer(required=True, metadata={"description": "How many decisions were alike."})
    answered = fields.String(required=True, allow_none=True, metadata={
        "enum": _ANSWERED, "description": "`hidden` is a refusal with 404; null: nobody knows which."})
    policy_alone = fields.String(required=True, metadata={"enum": [*_ANSWERED, UNKNOWN]})
    agrees = fields.Boolean(required=True, allow_none=True, metadata={
        "description": "Whether the two are the same; null: that depends on what was not recorded."})
    not_recorded = fields.List(fields.String(), required=True, metadata={
        "description": "What would have to be known to say more."})
    decided_by = fields.Nested(LineSchema, required=True, allow_none=True)
    nearest_misses = fields.List(fields.Nested(LineSchema), required=True)
    policy_version = fields.String(required=True)


class PastSchema(StrictSchema):
    """What a row of the audit trail tells of decisions of the policy: none, one, or of an import one for each group of
    its rows."""

    decisions = fields.List(fields.Nested(PastDecisionSchema), required=True)
    error = fields.String(required=True, allow_none=True, metadata={
        "description": "Why the rules of then cannot be asked any more."})


@routes.get("/api/admin/policy/explain/<id>", permission="policy.view", problems=(404,),
            operation="policy_explain_past", answer=PastSchema(), recorded="audit.view", cost=5)
def explained_past(call: Call) -> dict[str, Any]:
    """Explain what a row of the audit trail records, by the facts and the rules of then."""
    row = _row(call)
    note_look(call)
    told = recorded(row, call.access.policy.vocabulary)
    if not told:
        return {"decisions": [], "error": None}
    try:
        policy = _of_then(call, row.policy_version)
    except NotKept as reason:
        return {"decisions": [], "error": str(reason)}
    names = Names(shown_to(call))
    collection = call.services.registry.by_resource.get(row.resource)
    found = [explained(policy, decision, row.rule, names, cast(Collection | None, collection)) for decision in told]
    return withheld(call, {"decisions": [_without_others(call, one).as_json() for one in found], "error": None})


def _row(call: Call) -> Audit:
    """The row that the path names. Raises `Problem`: 404 for one that the caller may not see, 403 where its facts are
    not for them."""
    trail = cast(Collection, call.services.collections["audit"])
    row: Audit | None = of_tenant(call.tenant_id).where(Audit.id == call.path["id"]).first()
    if row is None or not trail.shows(call, row.__data__):
        raise not_found()
    refuse_to_tell_fields(trail.hidden(call, row.__data__, list(trail.guards)))
    return row


def _of_then(call: Call, version: str | None) -> Policy:
    policy = call.access.policy
    found = policy if version == policy.version else rules_of(version, policy.vocabulary)
    if found is None:
        raise gone(version)
    return found


def _without_others(call: Call, one: Past) -> Past:
    """Without lines about persons of other tenants: a matcher of one's own may let them reach anybody."""
    told = told_persons(call, [step.rule.sub for step in one.lines])
    return one.with_lines(step for step in one.lines if single_person(step.rule.sub) in told)
