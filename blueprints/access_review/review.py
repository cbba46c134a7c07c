"""`GET /api/admin/policy/review`: the roles of each user, how they got them, and whether and how they log in, in pages.

Features add `facts` about users, such as a second factor. It lists users that the caller may view. The last activity is
shown to callers who may view the whole audit log, every session and every token of the tenant, because it is derived
from all three.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from marshmallow import Schema, fields

from gatepost import Call, Id, Routes, StrictSchema, Time
from gatepost.http.reading import listing
from gatepost.http.reading.listing import Listing
from gatepost.http.reading.query import PAGING, ListQuery
from gatepost.http.reading.readable import Readable
from gatepost.http.request.user_fact import UserFact
from gatepost.http.security.passwords import UNUSABLE
from models.tables.audit import Audit
from models.tables.reviews import Account, accounts_of
from models.tables.service_token import ServiceToken
from models.tables.session import Session
from models.tables.user import User
from policies.usage.holdings import Holdings
from settings import Settings

routes = Routes("policy_review", "The roles of users, and their last activity.")

_ASKED = (*PAGING, "role", "active")
_MADE_OF: Mapping[str, Any] = {"audit.view": Audit, "session.view": Session, "token.view": ServiceToken}


class HoldingSchema(StrictSchema):
    role = fields.String(required=True)
    how = fields.List(fields.String(), required=True, metadata={
        "description": "The sources of the role: `stored`, `inherited from editor`, `lent by roles.csv:14`, `given to "
                       "oidc:team/staff by roles.csv:15`. The last one is left out if you may not see the groups."})


class _UserSchema(StrictSchema):
    id = Id(dump_only=True)
    name = fields.String(dump_only=True)
    email = fields.String(dump_only=True)
    role = fields.String(dump_only=True)
    active = fields.Boolean(dump_only=True)


class ReviewedSchema(StrictSchema):
    """A user, their roles, and their last activity."""

    id = Id(required=True)
    name = fields.String(required=True)
    email = fields.String(metadata={"description": "Left out if you may not see it, like `active`."})
    role = fields.String(required=True)
    active = fields.Boolean(metadata={"description": "True if they can log in."})
    roles = fields.List(fields.Nested(HoldingSchema), required=True)
    lines = fields.List(fields.String(), required=True, metadata={
        "description": "The places of rules that name this user: `users.csv:14`."})
    last_login = Time(required=True, allow_none=True, metadata={"description": "null: not known."})
    last_use = Time(required=True, allow_none=True, metadata={
        "description": "The time of their newest audit event, session refresh or use of a token; null: not known. "
                       "Reads within a session are not recorded."})
    tokens = fields.Integer(required=True, metadata={"description": "The number of valid service tokens."})
    groups = fields.List(fields.String(), metadata={"description": "Left out like `email`, and so are the next three."})
    email_verified_at = Time(allow_none=True)
    password = fields.Boolean(metadata={"description": "True if they can log in with a password."})
    facts = fields.Dict(keys=fields.String(), metadata={
        "description": "Facts of features by name: `second_factor` (a truth value), `passkeys` (a number), "
                       "`identities` (names of providers).",
        "example": {"second_factor": True, "passkeys": 0, "identities": ["keycloak"]}})


class _Query(ListQuery):
    def _schema(self, kind: str, found: dict[str, Any]) -> Schema:
        return super()._schema(kind, {name: found[name] for name in _ASKED if name in found})


class _Users(Readable):
    name, resource = "review", "user"
    model, schema = User, _UserSchema
    sort, default_sort = ("name",), "name"
    guarded = dict.fromkeys(("email", "active"), "user.view_private")
    filters = {"role": ("eq",), "active": ("eq",)}
    shares = False


_LISTING = Listing(_Users(), _Query)


@routes.get("/api/admin/policy/review", permission="policy.view", query=_LISTING.query.schema,
            operation="policy_review", answer=listing.page_schema(ReviewedSchema()), cost=5)
def review(call: Call) -> dict[str, Any]:
    """List the users with their roles, the sources of each role, and their last activity."""
    for permission, model in _MADE_OF.items():
        seen = call.access.narrow(permission, model)
        if seen is None or not seen.where.is_everything:
            raise call.access.refusal(permission)
    page, held = _LISTING.answer(call), Holdings(call.access.policy)
    used = accounts_of(call.tenant_id, [user["id"] for user in page["items"]], UNUSABLE)
    facts = facts_of(call.services.facts, call.services.settings, list(used))
    page["items"] = [_entry(user, held, used[user["id"]], facts[user["id"]])
                     for user in page["items"] if user["id"] in used]
    return page


def facts_of(facts: Iterable[UserFact], settings: Settings, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Returns the facts about these users, at most a page of them, by id."""
    values = [(fact, fact.values(settings, ids)) for fact in facts] if ids else []
    return {id: {fact.name: of_fact.get(id, fact.empty) for fact, of_fact in values} for id in ids}


def _entry(user: dict[str, Any], held: Holdings, used: Account, facts: dict[str, Any]) -> dict[str, Any]:
    key, groups = f"user:{user['id']}", used.groups if "email" in user else ()
    private = {"groups": list(groups), "email_verified_at": used.email_verified_at, "password": used.password,
               "facts": facts} if "email" in user else {}
    roles = [{"role": holding.role, "how": list(holding.how)} for holding in held.of(key, user["role"], groups)]
    return {**user, **private, "roles": roles,
            "lines": [*(rule.place for rule in held.lines(key)), *held.links(key)],
            "last_login": used.last_login, "last_use": used.last_use, "tokens": used.tokens}
