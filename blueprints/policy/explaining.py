"""Endpoints about the policy, for callers with `policy.view`: the current rules, and the reasons of a decision.

Of rules about single users, a caller sees only those about users of their own tenant. No answer has the id of another
tenant's user.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from marshmallow import fields

from blueprints.policy.circumstances import CircumstancesSchema, environment, named_row, require_known
from blueprints.policy.persons import Who, named_person
from blueprints.policy.predicted import Prediction, Question, predict
from gatepost import Call, Collection, Fault, Id, Line, Message, Problem, Routes, StrictSchema
from gatepost.collections.names import Names, shown_to
from gatepost.http.request.access import Supposed
from gatepost.http.request.call import Peer
from gatepost.http.request.identity import guest, principal_of, with_login, without_login
from gatepost.http.request.implied import implied_requests
from gatepost.http.request.reasons import hidden_of
from gatepost.rules.redaction import hidden_fields_read, refuse_hidden_fields, trouble, visible_persons, withheld
from models.tables.user import User
from policies import Principal
from policies.explaining.explanation import ALLOWED, DEPENDS, REFUSED
from policies.explaining.openings import Opening, openings
from policies.invariants.lines import INVARIANTS_FILE, lines_of
from policies.lint.warnings import warnings
from policies.wording.finding import single_person

routes = Routes("policy", "The current access rules, and explanations of their decisions.")


class RuleSchema(StrictSchema):
    file = fields.String(required=True)
    line = fields.Integer(required=True)
    who = fields.String(required=True)
    permission = fields.String(required=True)
    when = fields.String(required=True)
    effect = fields.String(required=True, metadata={"enum": ["allow", "deny"]})


class InvariantSchema(StrictSchema):
    """A rule of invariants.csv, which every policy must satisfy."""

    file = fields.String(required=True)
    line = fields.Integer(required=True)
    kind = fields.String(required=True, metadata={"enum": ["never", "only", "atmost", "always"]})
    who = fields.String(required=True)
    permission = fields.String(required=True)
    when = fields.String(required=True, allow_none=True, metadata={
        "description": "The condition of `atmost` and `always`."})
    exceptions = fields.List(fields.String(), required=True, data_key="except", metadata={
        "description": "What `never` and `only` leave out."})


class RoleOfGroupSchema(StrictSchema):
    """A rule that gives a role to a group of an identity provider, at the login of each member."""

    file = fields.String(required=True)
    line = fields.Integer(required=True)
    group = fields.String(required=True)
    role = fields.String(required=True)


class PolicySchema(StrictSchema):
    """The current rules. `error` is the reason why newer files are not used: a broken policy is never used."""

    version = fields.String(required=True)
    error = fields.String(required=True, allow_none=True)
    rules = fields.List(fields.Nested(RuleSchema), required=True)
    roles = fields.Dict(keys=fields.String(), values=fields.List(fields.String()), required=True)
    groups = fields.List(fields.Nested(RoleOfGroupSchema), required=True)
    conditions = fields.Dict(keys=fields.String(), values=fields.String(), required=True)
    invariants = fields.List(fields.Nested(InvariantSchema), required=True)
    warnings = fields.List(fields.String(), required=True)


class QuestionSchema(CircumstancesSchema):
    who = Who(required=True, data_key="as", metadata={
        "description": "An e-mail, a user's id, or a role.", "example": "editor"})
    permission = Line(required=True, metadata={"description": "The permission, such as user.update.",
                                               "example": "user.update"})
    id = Id(metadata={"description": "The object. Without it, the answer is about any object."})


class FactSchema(StrictSchema):
    text = fields.String(required=True)
    holds = fields.Boolean(required=True, allow_none=True, metadata={
        "description": "null: it depends on the object, and the request names none."})


class LineSchema(StrictSchema):
    """A rule that applies to the caller, the roles through which it applies, and the facts that it reads."""

    file = fields.String(required=True)
    line = fields.Integer(required=True)
    rule = fields.String(required=True)
    person = fields.String(required=True, allow_none=True, metadata={
        "description": "The name of the user whom the rule names."})
    roles = fields.List(fields.String(), required=True)
    facts = fields.List(fields.Nested(FactSchema), required=True)


class RuleInCodeSchema(StrictSchema):
    """A rule in code, which no policy can override; `status` is the answer if it does not hold."""

    name = fields.String(required=True)
    text = fields.String(required=True)
    holds = fields.Boolean(required=True, allow_none=True, metadata={
        "description": "null: it depends on what the request sends, or on the object."})
    status = fields.Integer(required=True, allow_none=True)


class OpeningSchema(StrictSchema):
    """A rule that would allow the refused request, and the file to add it to."""

    file = fields.String(required=True)
    rule = fields.String(required=True)
    when = fields.String(required=True)


class CircumstancesAnswerSchema(StrictSchema):
    now = fields.String(required=True)
    hour = fields.Integer(required=True)
    weekday = fields.Integer(required=True)
    date = fields.String(required=True)
    ip = fields.String(required=True, allow_none=True)
    device = fields.String(required=True)
    method = fields.String(required=True)
    request = fields.String(required=True)


class OtherRequestSchema(StrictSchema):
    """A request for the same permission with another method and another decision."""

    request = fields.String(required=True)
    verdict = fields.String(required=True, metadata={"enum": [ALLOWED, REFUSED, DEPENDS]})
    status = fields.Integer(required=True, allow_none=True)
    summary = fields.String(required=True)


class ExplanationSchema(StrictSchema):
    """The decision, `allowed`, `refused` or `depends` on the object; `summary` is the reason in one sentence.

    `verdict` is the decision of the policy and the rules in code together. `policy_verdict` is that of the policy.
    """

    who = fields.String(required=True, data_key="as")
    as_name = fields.String(required=True, allow_none=True, metadata={
        "description": "The name of the user; null for a role, or if the caller may not see it."})
    role = fields.String(required=True)
    kind = fields.String(required=True, metadata={"enum": ["user", "service", "guest"]})
    roles = fields.List(fields.String(), required=True)
    given_by = fields.Nested(RoleOfGroupSchema, required=True, allow_none=True, metadata={
        "description": "The rule by which a group of the user has the role; null also if you may not see the groups."})
    permission = fields.String(required=True)
    object = fields.String(required=True, allow_none=True)
    object_name = fields.String(required=True, allow_none=True)
    verdict = fields.String(required=True, metadata={"enum": [ALLOWED, REFUSED, DEPENDS]})
    policy_verdict = fields.String(required=True, metadata={"enum": [ALLOWED, REFUSED, DEPENDS]})
    summary = fields.String(required=True)
    hidden = fields.Boolean(required=True, metadata={
        "description": "True if the user or role may not view the object. The answer would be 404."})
    status = fields.Integer(required=True, allow_none=True, metadata={
        "description": "Status code of the answer; null: it depends on the object, or no request needs only this "
                       "permission."})
    code = fields.String(required=True, allow_none=True, metadata={"description": "Code of the problem, if any."})
    request = fields.String(required=True, allow_none=True, metadata={
        "description": "The request that would get this answer, such as `PATCH /api/users/<id>`."})
    other_requests = fields.List(fields.Nested(OtherRequestSchema), required=True, metadata={
        "description": "Requests with other methods and another answer; empty if the question names a method."})
    view = fields.String(required=True, allow_none=True, metadata={
        "description": "The reason why the user or role may not view the object; null if they may."})
    rules = fields.List(fields.Nested(RuleInCodeSchema), required=True)
    circumstances = fields.Nested(CircumstancesAnswerSchema, required=True)
    decided_by = fields.Nested(LineSchema, required=True, allow_none=True)
    nearest_misses = fields.List(fields.Nested(LineSchema), required=True)
    granted_to = fields.Dict(keys=fields.String(), values=fields.List(fields.String()), required=True)
    scopes = fields.List(fields.String(), required=True, allow_none=True)
    scopes_cover = fields.Boolean(required=True)
    needed_scopes = fields.List(fields.String(), required=True)
    would_allow = fields.List(fields.Nested(OpeningSchema), required=True, metadata={
        "description": "Rules that would each allow a request that the policy refuses, `always` last. "
                       "`POST /api/admin/policy/try` shows what else such a rule would allow."})
    sql = fields.String(required=True, allow_none=True)
    policy_version = fields.String(required=True)


@routes.get("/api/admin/policy", permission="policy.view", answer=PolicySchema(), operation="policy_rules")
def effective(call: Call) -> dict[str, Any]:
    """List the current rules, each with its file and line. Rules about users of other tenants are left out."""
    policy = call.access.policy
    invariants = lines_of(policy)
    visible = visible_persons(call, {*(rule.sub for rule in policy.rules), *policy.roles.parents,
                                  *(invariant.who for invariant in invariants)})
    return withheld(call, {
        "version": policy.version,
        "error": trouble(call),
        "rules": [{"file": rule.file, "line": rule.line, "who": rule.sub, "permission": rule.act,
                   "when": rule.when, "effect": rule.eft}
                  for rule in policy.rules if single_person(rule.sub) in visible],
        "roles": {name: [link.inherits for link in links] for name, links in policy.roles.parents.items()
                  if single_person(name) in visible},
        "groups": [line.as_json() for line in policy.roles.groups],
        "conditions": {name: condition.source for name, condition in policy.conditions.items()},
        "invariants": [{"file": INVARIANTS_FILE, "line": one.line, "kind": one.kind, "who": one.who,
                        "permission": one.act, "when": one.when or None, "except": list(one.exceptions)}
                       for one in invariants if single_person(one.who) in visible],
        "warnings": [str(finding) for finding in warnings(policy, User.held_roles(call.services.database))
                     if finding.person in visible],
    })


@routes.get("/api/admin/policy/explain", permission="policy.view", query=QuestionSchema(), problems=(404,),
            operation="policy_explain", answer=ExplanationSchema())
def explained(call: Call) -> dict[str, Any]:
    """Explain the answer that a user or a role would get.

    The defaults are the current time and the address of the caller.
    """
    policy, permission = call.access.policy, call.query["permission"]
    require_known(call.access, permission)
    person, principal = named_principal(call, call.query["who"])
    principal = _scoped(call, principal)
    collection = call.services.registry.by_resource.get(permission.partition(".")[0])
    row = named_row(call, collection, call.query["id"]) if "id" in call.query else None
    requests = implied_requests(call.services.registry.by_permission.get(permission, ()), permission, collection,
                     about_row=row is not None, method=call.query.get("method"))
    access = Supposed(policy, principal, environment(call.query, requests.methods[0], call.services.settings.zone,
                                                     call.access.environment))
    supposed = Call(call.services, requests.endpoint or call.endpoint, call.request,
                    {} if row is None else {"id": row.id})
    supposed.principal, supposed.access = principal, access
    names = Names(shown_to(call))
    served = cast(Collection | None, collection)
    hidden = set() if person is None else hidden_of(call, call.services.collections["users"], person)
    prediction = predict(Question(
        who=call.query["who"], permission=permission, access=access, requests=requests,
        collection=served, call=supposed, row=row, person=person is not None,
        active=None if person is None or "active" in hidden else person["active"],
        title="" if row is None or collection is None else names.of(collection.name, row.id),
        called=names.called(served)))
    refuse_to_tell(call, prediction, person, collection)
    name = names.of("users", person["id"]) if person is not None else ""
    explanation = prediction.as_json()
    if "groups" in hidden:
        explanation["given_by"] = None
    return withheld(call, {**explanation, "as_name": name or None,
                           "would_allow": [one.as_json() for one in _openings(call, prediction.question, person)]})


def _openings(call: Call, question: Question, person: dict[str, Any] | None) -> list[Opening]:
    """Lists rules that would allow the refused request, with conditions about fields that the caller may see."""
    if question.row is None and question.collection is not None and question.loads:
        return []
    row, access = None if question.row is None else dict(question.row.__data__), question.access
    hidden = {"obj": set() if row is None or question.collection is None else hidden_of(call, question.collection, row),
              "sub": set() if person is None else hidden_of(call, call.services.collections["users"], person)}
    if access.policy.decide(access.principal, question.permission, row, access.environment, access.shared):
        return []
    return openings(access.policy, access.principal, question.permission, row, access.environment, access.shared,
                    sees=lambda attribute: attribute.name not in hidden.get(attribute.root, ()))


def refuse_to_tell(call: Call, prediction: Prediction, person: dict[str, Any] | None, collection: Peer | None) -> None:
    """Raises `Problem` (403) if the reasons would reveal a field that the caller may not see."""
    question, row = prediction.question, None if prediction.question.row is None else prediction.question.row.__data__
    secret = hidden_fields_read(call, question.access, question.requests.needed, person, collection,
                                [] if row is None else [row], creates=question.verb == "create")
    if collection is not None and row is not None:
        secret |= {name for rule in prediction.rules for name in rule.reads} & hidden_of(call, collection, dict(row))
    users = call.services.collections["users"]
    if any(rule.user_id is not None and users.visible(call, rule.user_id) is None for rule in prediction.rules):
        secret.add("role")
    refuse_hidden_fields(secret)


def named_principal(call: Call, who: str) -> tuple[dict[str, Any] | None, Principal]:
    """Returns the row of a user whom the caller may see under that name, and the principal; for a role, None as row.

    Raises Problem (404) for any other name. A guest's tenant is the one that guests act in, not the caller's.
    """
    if who == "guest":
        return None, guest(call.services.guest_tenant)
    if who in call.access.policy.roles:
        return None, Principal("<id>", "user:<id>", who, call.tenant_id, "<department>")
    user = named_person(call, who)
    principal = principal_of(user)
    if user.id == call.principal.id and call.services.caller and call.principal.kind == "user":
        principal = with_login(principal, call.principal.login)  # of others, the login is unknown
    return dict(user.__data__), principal


def _scoped(call: Call, principal: Principal) -> Principal:
    """Returns the principal as a service token with the scopes of the query; unchanged without scopes."""
    scopes, names = call.query.get("scopes"), call.access.policy.scope_names
    if scopes is None:
        return principal
    faults = [Fault("invalid_parameter", Message("There is no scope {scope!r}.", scope=scope[:80]), parameter="scope")
              for scope in scopes if scope not in names]
    if principal.kind == "guest":
        faults = [Fault("invalid_parameter", "A guest has no token.", parameter="scope")]
    if faults:
        raise Problem.of(faults, "invalid_parameter")
    return replace(without_login(principal), kind="service", scopes=frozenset(scopes))
