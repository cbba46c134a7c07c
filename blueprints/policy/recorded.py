"""`GET /api/admin/policy/explain/<id>`: explains an audit event by its facts and by the policy version of that time.

For callers who may see the rules and the audit event with its facts. The answer adds only names that the caller may
see.
"""

from __future__ import annotations

from typing import Any, cast

from marshmallow import fields

from blueprints.policy.past import NotKept, Past, explained, gone, recorded, rules_of
from gatepost import Call, Collection, Routes, StrictSchema, Time
from gatepost.collections.names import Names, shown_to
from gatepost.http.protocol.problems import not_found
from gatepost.http.request.audit import note_look
from gatepost.rules.redaction import refuse_hidden_fields, visible_persons, withheld
from models.tables.audit import Audit, of_tenant
from policies import Policy
from policies.questions.recorded import ALLOWED, HIDDEN, REFUSED, UNKNOWN
from policies.wording.finding import single_person

from .explaining import LineSchema

routes = Routes("policy_past", "Explanations of past decisions.")

_ANSWERED = [ALLOWED, REFUSED, HIDDEN]


class PastDecisionSchema(StrictSchema):
    """A past decision. `policy_alone` is the answer of the policy version; a rule in code may have refused it, too."""

    audit = fields.String(required=True)
    time = Time(required=True)
    who = fields.String(required=True, data_key="as")
    role = fields.String(required=True)
    summary = fields.String(required=True)
    permission = fields.String(required=True)
    asked = fields.List(fields.String(), required=True, metadata={
        "description": "The permissions in the order in which they were evaluated."})
    object = fields.String(required=True, allow_none=True)
    count = fields.Integer(required=True, metadata={"description": "The number of equal decisions."})
    answered = fields.String(required=True, allow_none=True, metadata={
        "enum": _ANSWERED, "description": "`hidden` is a refusal with 404; null: it was not recorded which."})
    policy_alone = fields.String(required=True, metadata={"enum": [*_ANSWERED, UNKNOWN]})
    agrees = fields.Boolean(required=True, allow_none=True, metadata={
        "description": "True if both answers are the same; null if that depends on unrecorded facts."})
    not_recorded = fields.List(fields.String(), required=True, metadata={
        "description": "Unrecorded facts that the decision depends on."})
    decided_by = fields.Nested(LineSchema, required=True, allow_none=True)
    nearest_misses = fields.List(fields.Nested(LineSchema), required=True)
    policy_version = fields.String(required=True)


class PastSchema(StrictSchema):
    """The decisions of an audit event: none, one, or for an import one for each group of its rows."""

    decisions = fields.List(fields.Nested(PastDecisionSchema), required=True)
    error = fields.String(required=True, allow_none=True, metadata={
        "description": "The reason why the policy version of that time cannot be used; null if it can."})


@routes.get("/api/admin/policy/explain/<id>", permission="policy.view", problems=(404,),
            operation="policy_explain_past", answer=PastSchema(), recorded="audit.view", cost=5)
def explained_past(call: Call) -> dict[str, Any]:
    """Explain the decisions of an audit event, by its facts and the policy version of that time."""
    row = _row(call)
    note_look(call)
    decisions = recorded(row, call.access.policy.vocabulary)
    if not decisions:
        return {"decisions": [], "error": None}
    try:
        policy = _policy_of(call, row.policy_version)
    except NotKept as reason:
        return {"decisions": [], "error": str(reason)}
    names = Names(shown_to(call))
    collection = call.services.registry.by_resource.get(row.resource)
    explanations = (explained(policy, decision, row.rule, names, cast(Collection | None, collection))
                    for decision in decisions)
    return withheld(call, {"decisions": [_without_others(call, past).as_json() for past in explanations],
                           "error": None})


def _row(call: Call) -> Audit:
    """Returns the audit event of the path. Raises `Problem`: 404 if the caller may not see it, 403 for its facts."""
    audit = cast(Collection, call.services.collections["audit"])
    row: Audit | None = of_tenant(call.tenant_id).where(Audit.id == call.path["id"]).first()
    if row is None or not audit.shows(call, row.__data__):
        raise not_found()
    refuse_hidden_fields(audit.hidden(call, row.__data__, list(audit.guards)))
    return row


def _policy_of(call: Call, version: str | None) -> Policy:
    current = call.access.policy
    policy = current if version == current.version else rules_of(version, current.vocabulary)
    if policy is None:
        raise gone(version)
    return policy


def _without_others(call: Call, past: Past) -> Past:
    """Removes rules about users of other tenants, which a custom matcher may apply to any user."""
    visible = visible_persons(call, [step.rule.sub for step in past.lines])
    return past.with_lines(step for step in past.lines if single_person(step.rule.sub) in visible)
