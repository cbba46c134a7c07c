"""Sharing of one object with one user, group or role: `/api/{collection}/{id}/shares`.

A share is a row, not a rule; the condition `shared` in rules refers to it. A caller who may share an object can name
single users. Groups and roles, which are many users, need `<resource>.manage`. Shares that a grantee has granted end
with the grantee's right to share (`revocation`). A user may always give up a right of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from marshmallow import fields, validate

from models.base import Record, is_id, with_read_id
from models.engine.prepared import Bind
from models.tables import share
from models.tables.share import Share
from policies.evaluation.rights import RIGHTS
from policies.evaluation.sql import Where
from policies.syntax.roles import GUEST

from ..protocol.messages import Message
from ..protocol.problems import Fault, Problem, not_found, read_only
from ..reading.listing import Listing
from ..reading.readable import Readable
from ..request.access import Narrowing
from ..request.call import Call
from ..request.endpoint import Endpoint
from ..schemas.documented import example_id
from ..schemas.fields import Id, Line, StrictSchema, Time, one_of
from .revocation import SHARING, retract
from .writable import Writable

MOST_SHARES = 1_000  # of one object: each change of a right to share reads all of them
ME = "me"
GUESTS = f"role:{GUEST}"  # not allowed as a grantee, because every role inherits it
_FORMS = Message("Use user:<id>, group:<name> or role:<name>.")
_GRANTEE = r"(?:user|group|role):\S(?:.*\S)?"


class Grantee(Line):
    """Field for a grantee: `user:<id>`, `group:<name>` or `role:<name>`."""

    def __init__(self, *, forms: str = _GRANTEE, about: str = _FORMS, **kwargs: Any) -> None:
        check = validate.Regexp(rf"\A{forms}\Z", error=_FORMS)
        super().__init__(maximum=100, validate=[check], metadata={
            "description": about, "example": f"user:{example_id('users')}"}, **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        return with_read_id(super()._deserialize(value, attr, data, **kwargs))


class ShareSchema(StrictSchema):
    """Share of an object. A grantee has one right; `write` includes `read`, and `manage` includes everything.

    `granted_by` is the user who granted it; null if the owner did.
    """

    grantee = Grantee(required=True)
    right = fields.String(required=True, validate=one_of(list(RIGHTS)), metadata={"example": "read"})
    granted_by = Id(dump_only=True, allow_none=True)
    created_at = Time(dump_only=True)


class NewShareSchema(ShareSchema):
    """Right for a grantee, which replaces any other. `write` includes `read`, and `manage` includes everything."""


class _Withdrawal(StrictSchema):
    """Query of a withdrawal. Its description includes `me`, which `_Leaving` takes: both are one operation."""

    grantee = Grantee(required=True, forms=f"(?:{ME}|{_GRANTEE})", about=(
        f"{_FORMS} `{ME}` is the caller's own user:<id>, which no permission is needed to give up."))


class _Leaving(StrictSchema):
    grantee = fields.String(required=True, validate=one_of([ME]))


class _Shares(Readable):
    """Shares of one object, the oldest first. A caller who may share the object may read them all."""

    name, resource = "shares", "share"
    model, schema = Share, ShareSchema
    default_sort = "created_at"
    shares = False


_LISTING = Listing(_Shares())
_PAGE = _LISTING.envelope()
_OF_OBJECT = Where(((Share.resource == Bind("resource")) & (Share.object_id == Bind("object")),), by_id=(False,))


def endpoints(collection: Writable) -> Iterator[Endpoint]:
    """Yields the endpoints for shares of the rows of a collection."""
    resource = collection.resource
    path, permission = f"/api/{collection.name}/<id>/shares", collection.permission("share")

    def list_shares(call: Call) -> dict[str, Any]:
        id = call.path["id"]
        mine = Narrowing(_OF_OBJECT, {"resource": resource, "object": id})
        return _LISTING.within(call, mine, f"shares of {resource} {id}")

    def put(call: Call) -> dict[str, Any]:
        _put(call, collection)
        return list_shares(call)

    def withdraw(call: Call) -> None:
        _withdraw(call, resource, call.query["grantee"])

    def leave(call: Call) -> None:
        _withdraw(call, resource, call.principal.key)

    def load_shared(call: Call) -> Record | None:
        """Returns the row, even if the caller may not view it; None if it is not shared with the caller."""
        # A guest has no share. A token cannot give up a share that it could not grant.
        nothing = call.principal.kind == "guest" or call.access.is_lost
        if nothing or not call.access.policy.covers(call.principal, permission):
            raise call.access.refusal(permission)
        if share.find(call.tenant_id, resource, call.path["id"], call.principal.key) is None:
            return None
        row: Record | None = collection.rows(call).find(call.path["id"], lock=True)
        return row

    leaving = Endpoint(
        name="leave", method="DELETE", path=path, public="everybody may give up a right of their own", handler=leave,
        writes=True, load=load_shared, query=_Leaving(), status=204, recorded=collection.permission("leave"),
        summary=f"Give up one's own right to {collection.a_row}.")
    yield Endpoint(name="shares", method="GET", path=path, permission=permission, handler=list_shares,
                   load=collection.load_values, query=_LISTING.query.schema, answer=_PAGE,
                   summary=f"List the shares of {collection.a_row}.")
    yield Endpoint(name="share", method="PUT", path=path, permission=permission, handler=put, writes=True,
                   load=collection.load_record, body=NewShareSchema(), answer=_PAGE, carries=("Link",),
                   summary=f"Share {collection.a_row} with a grantee, or change the grantee's right.")
    yield Endpoint(name="unshare", method="DELETE", path=path, permission=permission, handler=withdraw, writes=True,
                   load=collection.load_record, query=_Withdrawal(), status=204, variant=("grantee", ME, leaving),
                   summary=f"Stop sharing {collection.a_row} with a grantee. `me` gives up one's own right, which "
                           "needs no permission.")


def _put(call: Call, collection: Writable) -> None:
    resource, id = collection.resource, call.path["id"]
    grantee, right = call.body["grantee"], call.body["right"]
    _check(call, collection, grantee)
    old = share.find(call.tenant_id, resource, id, grantee)
    _refuse_read_only(call.read_only, old)
    if old is None and share.number(call.tenant_id, resource, id) >= MOST_SHARES:
        raise Problem("conflict", Message("An object has at most {most} shares.", most=MOST_SHARES))
    old_right = None if old is None else old.right
    share.grant(call.tenant_id, resource, id, grantee, right, _granter(call, old, right))
    if old_right in SHARING and right not in SHARING:
        _retract(call, resource, grantee)


def _granter(call: Call, old: Share | None, right: str) -> str | None:
    """Returns the granter of the new share: None for the owner, else the last caller who extended the right."""
    if call.facts.get("owner_id") == call.principal.id:
        return None
    if old is not None and set(RIGHTS[right]) <= set(RIGHTS[old.right]):
        return old.granted_by  # a repeated or reduced right keeps its granter
    return call.principal.id


def _withdraw(call: Call, resource: str, grantee: str) -> None:
    old = share.find(call.tenant_id, resource, call.path["id"], grantee)
    if old is None:
        raise not_found()
    share.withdraw(call.tenant_id, resource, old.object_id, grantee)
    if old.right in SHARING:
        _retract(call, resource, grantee)


def _retract(call: Call, resource: str, grantee: str) -> None:
    if number := retract(call, resource, call.row, [grantee]):
        call.write.note = f"{number} more shares withdrawn"


def _refuse_read_only(fields: Mapping[str, Any], old: Share | None) -> None:
    """Raises 400 for a field that the caller cannot set, unless it has the stored value."""
    faults = [read_only(name) for name, value in fields.items()
              if value != (None if old is None else old.__data__[name])]
    if faults:
        raise Problem.of(faults, "invalid_body")


def _check(call: Call, collection: Writable, grantee: str) -> None:
    kind, _, name = grantee.partition(":")
    if kind == "user":
        users = call.services.collections["users"]
        if not is_id(name) or users.visible(call, name) is None:
            fault = Fault("invalid_reference", "There is no such user, or you may not see them.", pointer="/grantee")
            raise Problem.of([fault], "invalid_body")
        return
    # Groups and roles are many users: sharing with all users is publishing.
    call.access.require(collection.manage, call.facts)
    if grantee == GUESTS:
        fault = Fault("invalid_reference", "Nothing is shared with guests. Name role:user for all users.",
                      pointer="/grantee")
        raise Problem.of([fault], "invalid_body")
    if kind == "role" and name not in call.access.policy.roles:
        raise Problem.of([Fault("invalid_reference", "There is no such role.", pointer="/grantee")], "invalid_body")
