"""The policy as endpoints, for callers with `policy.view`: the rules in force, and the reasons of a decision.

Of lines about single persons a caller is told those about users of the caller's own tenant.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from marshmallow import fields

from gatepost import Call, Fault, Id, Line, Message, Problem, Routes, Rows, StrictSchema, is_id
from models.tables.user import User
from policies import Principal
from policies.questions.explain import READS, explain
from policies.syntax.finding import single_person
from policies.tools.lint import warnings

from .http.protocol.problems import not_found
from .http.request.access import Access
from .http.request.call import Peer
from .http.request.environment import RequestEnvironment
from .http.request.identity import guest, principal_of

routes = Routes("policy", "The access rules in force, and why they allow or refuse.")


class RuleSchema(StrictSchema):
    file = fields.String(required=True)
    line = fields.Integer(required=True)
    who = fields.String(required=True)
    permission = fields.String(required=True)
    when = fields.String(required=True)
    effect = fields.String(required=True)


class PolicySchema(StrictSchema):
    """The rules in force. `error` says why newer files are not, or cannot be known: nothing broken is ever used."""

    version = fields.String(required=True)
    error = fields.String(required=True, allow_none=True)
    rules = fields.List(fields.Nested(RuleSchema), required=True)
    roles = fields.Dict(keys=fields.String(), values=fields.List(fields.String()), required=True)
    conditions = fields.Dict(keys=fields.String(), values=fields.String(), required=True)
    warnings = fields.List(fields.String(), required=True)


class QuestionSchema(StrictSchema):
    who = Line(required=True, maximum=254, data_key="as",
               metadata={"description": "An e-mail, a user's id, or a role."})
    permission = Line(required=True)
    id = Id(metadata={"description": "The object; without it, the answer is about any."})


class FactSchema(StrictSchema):
    text = fields.String(required=True)
    holds = fields.Boolean(required=True, allow_none=True, metadata={
        "description": "null: it depends on the object, and none was named."})


class LineSchema(StrictSchema):
    """A policy line that applies to the caller, the roles through which it does, the facts it reads."""

    file = fields.String(required=True)
    line = fields.Integer(required=True)
    rule = fields.String(required=True)
    roles = fields.List(fields.String(), required=True)
    facts = fields.List(fields.Nested(FactSchema), required=True)


class ExplanationSchema(StrictSchema):
    """`allowed`, `refused`, or `depends` on the object; `summary` says why in one sentence."""

    who = fields.String(required=True, data_key="as")
    role = fields.String(required=True)
    kind = fields.String(required=True)
    roles = fields.List(fields.String(), required=True)
    permission = fields.String(required=True)
    object = fields.String(required=True, allow_none=True)
    verdict = fields.String(required=True)
    summary = fields.String(required=True)
    hidden = fields.Boolean(required=True, metadata={
        "description": "The user or role may not view the object either, and would be answered 404."})
    decided_by = fields.Nested(LineSchema, required=True, allow_none=True)
    nearest_misses = fields.List(fields.Nested(LineSchema), required=True)
    granted_to = fields.Dict(keys=fields.String(), values=fields.List(fields.String()), required=True)
    scopes = fields.List(fields.String(), required=True, allow_none=True)
    scopes_cover = fields.Boolean(required=True)
    needed_scopes = fields.List(fields.String(), required=True)
    sql = fields.String(required=True, allow_none=True)
    policy_version = fields.String(required=True)


@routes.get("/api/admin/policy", permission="policy.view", answer=PolicySchema())
def effective(call: Call) -> dict[str, Any]:
    """The rules in force, each with its file and line; of lines about persons those of the caller's tenant."""
    policy = call.access.policy
    told = _told(call, {*(rule.sub for rule in policy.rules), *policy.roles.parents})
    return {
        "version": policy.version,
        "error": trouble(call),
        "rules": [{"file": rule.file, "line": rule.line, "who": rule.sub, "permission": rule.act,
                   "when": rule.when, "effect": rule.eft} for rule in policy.rules if single_person(rule.sub) in told],
        "roles": {name: [link.inherits for link in links] for name, links in policy.roles.parents.items()
                  if single_person(name) in told},
        "conditions": {name: condition.source for name, condition in policy.conditions.items()},
        "warnings": [str(finding) for finding in warnings(policy) if finding.person in told],
    }


@routes.get("/api/admin/policy/explain", permission="policy.view", query=QuestionSchema(), answers_404=True,
            answer=ExplanationSchema())
def explained(call: Call) -> dict[str, Any]:
    """Explain why a user or a role may do something to an object, or why not: now, from the caller's address."""
    policy, permission = call.access.policy, call.query["permission"]
    if permission not in policy.vocabulary.by_permission:
        fault = Fault("invalid_parameter", "There is no such permission.", parameter="permission")
        raise Problem.of([fault], "invalid_parameter")
    person, principal = _principal(call, call.query["who"])
    collection, row = _object(call, permission, call.query["id"]) if "id" in call.query else (None, None)
    _refuse_to_tell(call, principal, permission, person, collection, row)
    resource, _, verb = permission.partition(".")
    asked = Access(policy, principal, _environment(call, verb))
    answer = explain(policy, principal, permission, row, asked.environment, asked.shared,
                     who=call.query["who"], name=call.query.get("id")).as_json()
    return {**answer, "hidden": row is not None and not asked.allows(f"{resource}.view", row)}


def trouble(call: Call) -> str | None:
    """Why the policy in force may not be what the files say (`Watcher.trouble`), as the caller may be told it."""
    status = call.services.policy.status
    if status.error is None:
        return call.services.policy.trouble
    told = _told(call, (finding.person for finding in status.findings))
    lines = [str(finding) for finding in status.findings if finding.person in told]
    if hidden := len(status.findings) - len(lines):
        lines.append(f"{hidden} findings about persons of other tenants are left out")
    return "\n".join(lines)


def _told(call: Call, names: Iterable[str]) -> frozenset[str]:
    """Those of the persons among `names` (`user:<id>`) of whom the caller may be told; and "", which is no person."""
    by_id = {name.partition(":")[2]: name for name in names}
    ids = {id for id in by_id if is_id(id)}
    if not ids or call.principal.kind == "guest":
        return frozenset(("",))
    found = Rows(User, call.tenant_id).select(User.id).where(User.id.in_(ids))
    return frozenset(("", *(by_id[user.id] for user in found)))


def _principal(call: Call, who: str) -> tuple[dict[str, Any] | None, Principal]:
    """A role, or a person whom the caller may see under that name. Raises Problem (404) for any other name."""
    if who == "guest":
        return None, guest(call.tenant_id)
    if who in call.access.policy.vocabulary.roles:
        return None, Principal("<id>", "user:<id>", who, call.tenant_id, "<department>")
    users, rows = call.services.collections["users"], Rows(User, call.tenant_id)
    found = rows.find(who) if is_id(who) else rows.select().where(User.email == who.strip().lower()).first()
    if found is None or not call.access.allows(users.view, found.__data__):
        raise not_found()
    row = dict(found.__data__)
    # A caller who may not see a person's e-mail must not learn here whether it exists.
    if not is_id(who) and "email" in _hidden(call, users, row):
        raise not_found()
    return row, principal_of(found)


def _object(call: Call, permission: str, id: str) -> tuple[Peer, dict[str, Any]]:
    resource = permission.partition(".")[0]
    collection = next((one for one in call.services.collections.values() if one.resource == resource), None)
    row = None if collection is None else collection.visible(call, id)
    if collection is None or row is None:
        raise not_found()
    return collection, row


def _refuse_to_tell(call: Call, principal: Principal, permission: str, person: dict[str, Any] | None,
                    collection: Peer | None, row: dict[str, Any] | None) -> None:
    """403 when the rules look at a field that the caller may not see: the reasons would tell what is in it."""
    reads = call.access.policy.reads(principal, permission)
    secret = set[str]()
    if person is not None and ("sub", "department") in reads:
        secret |= {"department"} & _hidden(call, call.services.collections["users"], person)
    if collection is not None and row is not None:
        secret |= {name for root, name in reads if root == "obj"} & _hidden(call, collection, row)
    if secret:
        raise Problem("forbidden", Message("The reasons would tell {fields}, which you may not see.",
                                           fields=", ".join(sorted(secret))))


def _hidden(call: Call, collection: Peer, row: dict[str, Any]) -> set[str]:
    """The fields of a row that the caller may not see, and cannot know."""
    hidden = set(collection.hidden(call, row, collection.guards))
    # Users own themselves: that is no secret.
    return hidden - {"owner_id"} if row.get("owner_id") == row["id"] else hidden


def _environment(call: Call, verb: str) -> RequestEnvironment:
    """The caller's own, had they asked for this instead of for its explanation."""
    found = RequestEnvironment(call.request, call.services.settings.zone)
    if verb not in READS:
        found.method, found.request = "POST", "write"
    return found
