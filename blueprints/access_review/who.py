"""`GET /api/admin/policy/who`: everybody who may do something, page by page, and the line that lets each of them.

Of users it tells those whom the caller may view, and by nothing of them or of the object that the caller may not see.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from marshmallow import Schema, fields

from blueprints.access_review.holders import Holders, Reason, asked_about, ranks
from blueprints.policy.circumstances import CircumstancesSchema, fixed, named_row, require_known
from gatepost import Call, Fault, Id, Line, Message, Problem, Routes, StrictSchema
from gatepost.http.reading import listing
from gatepost.http.reading.listing import Listing
from gatepost.http.reading.query import PAGING, ListQuery
from gatepost.http.reading.readable import Readable
from gatepost.http.request.access import NOTHING
from gatepost.http.request.call import Peer
from gatepost.http.request.implied import implied_requests
from gatepost.http.request.reasons import hidden_of
from gatepost.rules.redaction import refuse_hidden_fields
from models.tables.service_token import ServiceToken
from models.tables.user import User
from policies.questions.holders import Undetermined

routes = Routes("policy_who", "The users who may do something.")



class _UserSchema(StrictSchema):
    """Fields of a user that determine the reason."""

    id = Id(dump_only=True)
    name = fields.String(dump_only=True)
    role = fields.String(dump_only=True)
    department = fields.String(dump_only=True)
    groups = fields.List(fields.String(), dump_only=True)


class PersonSchema(StrictSchema):
    id = Id(required=True)
    name = fields.String(required=True)


class PlaceSchema(StrictSchema):
    file = fields.String(required=True)
    line = fields.Integer(required=True)


class HolderSchema(StrictSchema):
    """A user who may do it. Guests are one entry before all others, in addition to the size of the page."""

    user = fields.Nested(PersonSchema, required=True, allow_none=True, metadata={"description": "null: guests."})
    role = fields.String(required=True)
    rule = fields.Nested(PlaceSchema, required=True, allow_none=True, metadata={
        "description": "A rule that allows it, if possible one without a condition."})
    when = fields.String(required=True, allow_none=True, metadata={
        "description": "The required time, address or device, in the words of model.conf; null: always."})
    tokens = fields.Integer(required=True, metadata={
        "description": "The number of valid service tokens of the user that may do it. Tokens hidden from the caller "
                       "do not count."})


class _Query(ListQuery):
    """Query parameters: permission, object, circumstances and paging."""

    def _schema(self, kind: str, found: dict[str, Any]) -> Schema:
        circumstances = CircumstancesSchema().fields
        return super()._schema(kind, {
            "permission": Line(required=True, metadata={
                "description": "The permission, such as user.update.", "example": "user.update"}),
            "id": Id(metadata={
                "description": "The object. Without it, the answer lists the users who may do it to some object."}),
            **{name: circumstances[name] for name in ("at", "ip", "device", "method")},
            **{name: found[name] for name in PAGING if name in found}})


class _Users(Readable):
    name, resource = "who", "user"
    model, schema = User, _UserSchema
    sort, default_sort = ("name",), "name"
    guarded = dict.fromkeys(("department", "groups"), "user.view_private")
    shares = False


_LISTING = Listing(_Users(), _Query)


@routes.get("/api/admin/policy/who", permission="policy.view", query=_LISTING.query.schema, problems=(404,),
            operation="policy_who", answer=listing.page_schema(HolderSchema()), cost=5)
def who(call: Call) -> dict[str, Any]:
    """List everybody who may do something: to one object, or to some object."""
    try:
        holders = _holders(call)
        page = _LISTING.within(call, holders.narrowing or NOTHING, _name(call))
        tokens = _tokens(call, holders, page["items"])
        page["items"] = [_entry(user, user["role"], holders.reason(user), tokens[user["id"]])
                         for user in page["items"]]
        if not page.get("has_prev") and page.get("page", 1) == 1 and holders.guests is not None:
            page["items"].insert(0, _entry(None, "guest", holders.guests, 0))
    except Undetermined as error:
        raise _refusal(error) from None
    return page


def _holders(call: Call) -> Holders:
    permission, policy = call.query["permission"], call.access.policy
    require_known(call.access, permission)
    collection = call.services.registry.by_resource.get(permission.partition(".")[0])
    row = named_row(call, collection, call.query["id"]) if "id" in call.query else None
    requests = implied_requests(call.services.registry.by_permission.get(permission, ()), permission, collection,
                     about_row=row is not None, method=call.query.get("method"))
    question = asked_about(requests, row, call.tenant_id, fixed(call.query, call.services.settings.zone))
    if row is not None and collection is not None:
        _refuse_to_tell(call, collection, question.permissions, row.__data__)
    return Holders(call.services.database, policy, question, viewer=call.access,
                   ranks=ranks(policy, permission, collection, row),
                   guards=call.services.collections["users"].guards,
                   guests=call.tenant_id == call.services.guest_tenant,
                   tokens=lambda: _visible(call, ServiceToken.valid_of(call.tenant_id)))


def _refuse_to_tell(call: Call, collection: Peer, permissions: tuple[str, ...], row: Mapping[str, Any]) -> None:
    """Raises 403 if the rules read a field of the object that is hidden from the caller: the answer would reveal it."""
    read = set(call.access.policy.looks_at(permissions).obj)
    refuse_hidden_fields(read & hidden_of(call, collection, dict(row)))


def _refusal(error: Undetermined) -> Problem:
    detail = Message("The function {function} of a plugin must be called for each caller, or at a certain time. "
                     "Use explain.", function=error.function) if error.function else \
        Message("There are too many conditions on time, address, device and method. Set at, ip, device and method.")
    return Problem.of([Fault("invalid_parameter", detail, parameter="permission")], "invalid_parameter")


def _name(call: Call) -> str:
    """The list in its cursors: those of another question are not taken."""
    values = (call.query.get(name, "") for name in ("permission", "id", "at", "ip", "device", "method"))
    return "who may {} {} {} {} {} {}".format(*values)


def _entry(user: Mapping[str, Any] | None, role: str, reason: Reason, tokens: int) -> dict[str, Any]:
    line = reason.line
    return {"user": None if user is None else {"id": user["id"], "name": user["name"]}, "role": role,
            "rule": None if line is None else {"file": line.file, "line": line.line}, "when": reason.when,
            "tokens": tokens}


def _tokens(call: Call, holders: Holders, users: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Counts for each user the service tokens that may do it too. Tokens hidden from the caller do not count."""
    owners = [user["id"] for user in users if holders.lets_in_tokens(user)]
    tokens = _visible(call, ServiceToken.valid_of(call.tenant_id, owners))
    return Counter(token.owner_id for token in tokens if holders.covers(token))


def _visible(call: Call, tokens: Iterable[ServiceToken]) -> Iterator[ServiceToken]:
    view = call.services.collections["tokens"].view
    return (token for token in tokens if call.access.allows(view, token.__data__))
