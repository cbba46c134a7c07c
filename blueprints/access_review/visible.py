"""`GET /api/admin/policy/visible`: rows of a collection that both the caller and another user or role may view.

The endpoint only reports the rights of the other user. It never acts with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from marshmallow import fields

from blueprints.policy.circumstances import environment
from blueprints.policy.persons import Who
from gatepost import Call, Collection, Fault, Id, Line, Message, Problem, Routes, StrictSchema
from gatepost.http.pipeline.limiting import spend_more
from gatepost.http.request.access import Supposed
from gatepost.http.request.audit import note_look
from gatepost.http.request.reasons import hidden_of
from gatepost.http.schemas.fields import length
from gatepost.http.schemas.parameters import ListParameter
from gatepost.rules.redaction import hidden_fields_read, refuse_hidden_fields

from ..policy.explaining import named_principal

routes = Routes("policy_visible", "Rows that another user or a role may view.")

MOST = 100  # ids of one question
_IDS_OF_A_UNIT = 20


class _Question(StrictSchema):
    who = Who(required=True, data_key="as", metadata={
        "description": "An e-mail, a user's id, or a role.", "example": "editor"})
    collection = Line(required=True, metadata={"description": "The plural name of a collection.",
                                               "example": "users"})
    ids = ListParameter(Id(), validate=length(1, MOST), metadata={
        "description": "Ids of rows of the collection, separated by commas. Without them, the answer is only about the "
                       "user or role."})


class VisibleRowSchema(StrictSchema):
    """A row that the caller may view, and the rights of the other user or role to it."""

    id = Id(required=True)
    visible = fields.Boolean(required=True)
    hidden = fields.List(fields.String(), required=True, metadata={
        "description": "The fields of the row that they do not get."})
    actions = fields.List(fields.String(), required=True, metadata={
        "description": "The actions that they may perform on it now: their `allowed_actions`."})


class VisibleSchema(StrictSchema):
    """The requested rows that the caller may view, in the order of the request."""

    who = fields.String(required=True, data_key="as")
    role = fields.String(required=True)
    name = fields.String(required=True, allow_none=True, metadata={"description": "null for a role."})
    active = fields.Boolean(required=True, allow_none=True, metadata={
        "description": "True if they can log in; null for a role, or if you may not see it."})
    collection = fields.String(required=True)
    items = fields.List(fields.Nested(VisibleRowSchema), required=True)


@routes.get("/api/admin/policy/visible", permission="policy.view", query=_Question(), problems=(404,),
            recorded="policy.visible", operation="policy_visible", answer=VisibleSchema())
def visible(call: Call) -> dict[str, Any]:
    """List which of these rows a user or a role may view.

    The answer is for now and for the caller's address. It is recorded, once an hour for each user or role.
    """
    spend_more(call, len(call.query.get("ids", ())) // _IDS_OF_A_UNIT)
    collection = _collection(call)
    person, principal = named_principal(call, call.query["who"])
    circumstances = environment({}, "GET", call.services.settings.zone, call.access.environment)
    supposed = Call(call.services, call.endpoint, call.request, {})
    supposed.principal, supposed.access = principal, Supposed(call.access.policy, principal, circumstances)
    unseen = set() if person is None else hidden_of(call, call.services.collections["users"], person)
    active = None if person is None or "active" in unseen else bool(person["active"])
    rows = _rows(call, collection)
    refuse_hidden_fields(_secret(call, supposed, collection, person, list(rows.values())))
    note_look(call, None if person is None else person["id"])
    return {"as": call.query["who"], "role": principal.role, "name": None if person is None else person["name"],
            "active": active, "collection": collection.name,
            "items": [_entry(supposed, collection, row, active=active is not False) for row in rows.values()]}


def _collection(call: Call) -> Collection:
    collection = call.services.collections.get(call.query["collection"])
    if collection is None:
        fault = Fault("invalid_parameter", Message("There is no such collection."), parameter="collection")
        raise Problem.of([fault], "invalid_parameter")
    return cast(Collection, collection)


def _rows(call: Call, collection: Collection) -> dict[str, Mapping[str, Any]]:
    """Returns the requested rows that the caller may view."""
    ids = list(dict.fromkeys(call.query.get("ids", ())))
    by_id = {row.id: row.__data__ for row in collection.rows(call).find_all(set(ids))}
    return {id: by_id[id] for id in ids if id in by_id and collection.shows(call, by_id[id])}


def _secret(call: Call, supposed: Call, collection: Collection, person: dict[str, Any] | None,
            rows: Sequence[Mapping[str, Any]]) -> set[str]:
    """Returns the fields that the answer about these rows would reveal, and that are hidden from the caller."""
    permissions = {collection.view, *collection.guards.values(),
                   *(collection.permission(verb) for verb in ("update", "delete", "share")),
                   *(collection.permission(action.name) for action in collection.actions)}
    states = [action.state for action in collection.actions]
    return hidden_fields_read(call, supposed.access, permissions, person, collection, rows).union(
        *(collection.hidden(call, row, states) for row in rows))


def _entry(supposed: Call, collection: Collection, row: Mapping[str, Any], *, active: bool) -> dict[str, Any]:
    sees = active and row["tenant_id"] == supposed.tenant_id and collection.shows(supposed, row)
    acts = sees and "allowed_actions" in collection.computed
    return {"id": row["id"], "visible": sees,
            "hidden": sorted(collection.hidden(supposed, row, list(collection.guards))) if sees else [],
            "actions": collection.allowed_actions(supposed, row) if acts else []}
