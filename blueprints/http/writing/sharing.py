"""Sharing one object with one person, group or role: `/api/{collection}/{id}/shares`.

A share is a row, never a policy line; the condition `shared` says which rows it opens. A caller who may share an
object names single users; groups and roles, which are many people, need `<resource>.manage`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from marshmallow import fields, validate

from models.base import is_id
from models.tables import share
from policies.evaluation.rights import RIGHTS

from ..protocol.messages import Message
from ..protocol.problems import Fault, Problem, not_found
from ..request.call import Call, Endpoint
from ..schemas.fields import Line, StrictSchema, Time, one_of
from .writable import Writable


class Grantee(Line):
    """`user:<id>`, `group:<name>` or `role:<name>`."""

    def __init__(self, **kwargs: Any) -> None:
        forms = Message("Use user:<id>, group:<name> or role:<name>.")
        check = validate.Regexp(r"\A(?:user|group|role):\S(?:.*\S)?\Z", error=forms)
        super().__init__(maximum=100, validate=[check], metadata={"description": forms}, **kwargs)


class ShareSchema(StrictSchema):
    """Who may do what with the object. A grantee has one right; write includes read, manage everything."""

    grantee = Grantee(required=True)
    right = fields.String(required=True, validate=one_of(list(RIGHTS)))
    created_at = Time(dump_only=True)


class SharesSchema(StrictSchema):
    """The grantees of an object, oldest first."""

    items = fields.List(fields.Nested(ShareSchema), required=True)


class _Withdrawal(StrictSchema):
    grantee = Grantee(required=True)


def endpoints(collection: Writable) -> Iterator[Endpoint]:
    """The shares of the rows of a collection."""
    path, permission = f"/api/{collection.name}/<id>/shares", collection.permission("share")

    def listed(call: Call) -> dict[str, Any]:
        found = share.of_object(call.tenant_id, collection.resource, call.path["id"])
        return {"items": [{"grantee": one.grantee, "right": one.right, "created_at": one.created_at}
                          for one in found]}

    def put(call: Call) -> dict[str, Any]:
        _check(call, collection, call.body["grantee"])
        share.grant(call.tenant_id, collection.resource, call.path["id"], call.body["grantee"], call.body["right"])
        return listed(call)

    def withdraw(call: Call) -> None:
        if not share.withdraw(call.tenant_id, collection.resource, call.path["id"], call.query["grantee"]):
            raise not_found()

    yield Endpoint(name="shares", method="GET", path=path, permission=permission, handler=listed,
                   load=collection.load_values, answer=SharesSchema(),
                   summary=f"List the shares of one {collection.resource}.")
    yield Endpoint(name="share", method="PUT", path=path, permission=permission, handler=put, writes=True,
                   load=collection.load_record, body=ShareSchema(), answer=SharesSchema(),
                   summary=f"Share one {collection.resource} with a grantee, or change the grantee's right.")
    yield Endpoint(name="unshare", method="DELETE", path=path, permission=permission, handler=withdraw, writes=True,
                   load=collection.load_record, query=_Withdrawal(), status=204,
                   summary=f"Stop sharing one {collection.resource} with a grantee.")


def _check(call: Call, collection: Writable, grantee: str) -> None:
    kind, _, name = grantee.partition(":")
    if kind == "user":
        users = call.services.collections["users"]
        if not is_id(name) or users.visible(call, name) is None:
            fault = Fault("invalid_reference", "There is no such user, or you may not see them.", pointer="/grantee")
            raise Problem.of([fault], "invalid_body")
        return
    # Many people at once: to share with all users is to publish.
    call.access.require(collection.manage, call.facts)
    if kind == "role" and name not in call.access.policy.vocabulary.roles:
        raise Problem.of([Fault("invalid_reference", "There is no such role.", pointer="/grantee")], "invalid_body")
