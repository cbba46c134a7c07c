"""`GET /api/admin/policy/unused`: rules and permissions that nobody has used for a while, by the counts.

Rules about users hidden from the caller are left out. Only `gatepost policy unused` also replays the audit log, of all
tenants.
"""

from __future__ import annotations

from typing import Any

from marshmallow import fields, validate

from gatepost import Call, Message, Routes, StrictSchema, Time, later
from gatepost.http.schemas.parameters import Number
from gatepost.rules.redaction import visible_persons, withheld
from models.base import DAY, now
from models.tables.policy_use import KEPT, counted_since, used_since
from policies.syntax.rules import Rule
from policies.usage.gaps import Span, gaps
from policies.usage.lines import line_of
from policies.usage.unused import unused
from policies.wording.finding import single_person

routes = Routes("policy_unused", "Rules and permissions that nobody uses.")


class _Question(StrictSchema):
    days = Number(load_default=30, metadata={"description": "The number of days to look back."},
                  validate=validate.Range(1, KEPT // DAY, error=Message(
                      "Must be greater than or equal to {min} and less than or equal to {max}.")))


class UnusedLineSchema(StrictSchema):
    file = fields.String(required=True)
    line = fields.Integer(required=True)
    text = fields.String(required=True)


class IdleLineSchema(UnusedLineSchema):
    reason = fields.String(required=True, metadata={"description": "The reason why no answer changes without it."})


class UnusedPermissionSchema(StrictSchema):
    permission = fields.String(required=True)
    given = fields.Boolean(required=True, metadata={"description": "True if a rule grants it."})


class UnusedSchema(StrictSchema):
    """Rules and permissions that nobody used since a time, in the whole service."""

    since = Time(required=True)
    lines = fields.Integer(required=True, metadata={"description": "The number of rules that were examined."})
    without_effect = fields.List(fields.Nested(IdleLineSchema), required=True, metadata={
        "description": "Proved: no answer changes when all of these are removed."})
    not_seen = fields.List(fields.Nested(UnusedLineSchema), required=True, metadata={
        "description": "Rules that decided nothing since then, by the counts. They may still be needed."})
    permissions = fields.List(fields.Nested(UnusedPermissionSchema), required=True, metadata={
        "description": "Permissions that no allowed request has used since then."})
    gaps = fields.List(fields.String(), required=True, metadata={
        "description": "Sentences about periods without counts."})


@routes.get("/api/admin/policy/unused", permission="policy.view", query=_Question(), cost=5,
            operation="policy_unused", answer=UnusedSchema())
def without_use(call: Call) -> dict[str, Any]:
    """List the rules and permissions that nobody has used for some days.

    Uses are counted in memory and stored every ten seconds. Lists are sampled, and commands are not counted.
    """
    policy, since = call.access.policy, later(-call.query["days"] * DAY)
    counts = {key: used.times for key, used in used_since(since[:10]).items()}
    spans = [Span(*counted) for counted in counted_since(since)]
    result = unused(policy, since, counts, (), gaps(since, now(), spans))
    visible = visible_persons(call, {rule.sub for rule in policy.rules})

    def known(rule: Rule) -> bool:
        return single_person(rule.sub) in visible

    return withheld(call, {
        "since": since, "lines": sum(map(known, policy.rules)),
        "without_effect": [{**_line(one.rule), "reason": one.reason} for one in result.idle if known(one.rule)],
        "not_seen": [_line(one.rule) for one in result.unseen if known(one.rule)],
        "permissions": [{"permission": name, "given": given} for name, given in result.permissions.items()],
        "gaps": list(result.gaps),
    })


def _line(rule: Rule) -> dict[str, Any]:
    return {"file": rule.file, "line": rule.line, "text": line_of(rule)}
