"""The policy, for those who may look at it: its rules as they are in force, and why somebody may or may not."""

from typing import Any

from marshmallow import fields

from blueprints import Call, Fault, Problem, Routes, StrictSchema
from models.base import Rows, is_id
from models.user import User
from policies import Principal
from policies.explain import explain

from .http.access import Access
from .http.errors import not_found
from .http.identity import guest, principal_of

routes = Routes("policy", "The access rules in force, and what they answer.")


class RuleSchema(StrictSchema):
    file = fields.String(required=True)
    line = fields.Integer(required=True)
    who = fields.String(required=True)
    permission = fields.String(required=True)
    when = fields.String(required=True)
    effect = fields.String(required=True)


class PolicySchema(StrictSchema):
    """The rules in force. `error` says why newer files are not: nothing broken is ever used."""

    version = fields.String(required=True)
    error = fields.String(required=True, allow_none=True)
    rules = fields.List(fields.Nested(RuleSchema), required=True)
    roles = fields.Dict(keys=fields.String(), values=fields.List(fields.String()), required=True)
    conditions = fields.Dict(keys=fields.String(), values=fields.String(), required=True)
    warnings = fields.List(fields.String(), required=True)


class QuestionSchema(StrictSchema):
    who = fields.String(required=True, data_key="as", metadata={"description": "An e-mail, a user's id, or a role."})
    permission = fields.String(required=True)
    id = fields.String(metadata={"description": "The object; without it, the answer is about any."})


@routes.get("/api/admin/policy", permission="policy.view", answer=PolicySchema())
def effective(call: Call) -> dict[str, Any]:
    """The rules in force, each with its file and line."""
    policy, status = call.access.policy, call.services.policy.status
    return {
        "version": policy.version,
        "error": status.error,
        "rules": [{"file": rule.file, "line": rule.line, "who": rule.sub, "permission": rule.act,
                   "when": rule.when, "effect": rule.eft} for rule in policy.rules],
        "roles": {name: [link.inherits for link in links] for name, links in policy.roles.parents.items()},
        "conditions": {name: condition.source for name, condition in policy.conditions.items()},
        "warnings": [str(finding) for finding in policy.warnings],
    }


@routes.get("/api/admin/policy/explain", permission="policy.view", query=QuestionSchema(), elusive=True,
            produces=("application/json",))
def explained(call: Call) -> dict[str, Any]:
    """Why somebody may do something to an object, or why not."""
    policy, permission = call.access.policy, call.query["permission"]
    if permission not in policy.vocabulary.by_permission:
        fault = Fault("invalid_parameter", "There is no such permission.", parameter="permission")
        raise Problem.of([fault], "invalid_parameter")
    principal = _principal(call, call.query["who"])
    row = _object(call, permission, call.query["id"]) if "id" in call.query else None
    asked = Access(policy, principal, call.access.environment)
    return explain(policy, principal, permission, row, asked.environment, asked.shared,
                   who=call.query["who"], name=call.query.get("id")).as_json()


def _principal(call: Call, who: str) -> Principal:
    """A role, or a person whom the caller may see under that name; anybody else is not found."""
    if who == "guest":
        return guest(call.tenant_id)
    if who in call.access.policy.vocabulary.roles:
        return Principal("<id>", "user:<id>", who, call.tenant_id, "<department>")
    users, rows = call.services.collections["users"], Rows(User, call.tenant_id)
    found = rows.find(who) if is_id(who) else rows.select().where(User.email == who.strip().lower()).first()
    if found is None or not call.access.allows(users.view, found.__data__):
        raise not_found()
    # Whoever may not see a person's e-mail must not learn here whether it exists.
    if not is_id(who) and "email" not in users.represent(call, [dict(found.__data__)], ("email",))[0]:
        raise not_found()
    return principal_of(found)


def _object(call: Call, permission: str, id: str) -> dict[str, Any]:
    resource = permission.partition(".")[0]
    collection = next((one for one in call.services.collections.values() if one.resource == resource), None)
    row = collection.visible(call, id) if collection is not None and is_id(id) else None
    if row is None:
        raise not_found()
    return row
