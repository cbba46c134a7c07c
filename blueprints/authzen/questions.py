"""One evaluation: the caller that a subject is, the object that a resource is, and what the service would decide.

What the asker may not view is not there, and where the rules look at what the asker may not see, nothing is permitted:
no answer tells it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

from marshmallow import ValidationError

from blueprints.access_review.holders import Holders, asked_about, ranks
from blueprints.policy.circumstances import CircumstancesSchema, environment
from blueprints.policy.new_rows import drafted
from gatepost import Call, Collection, Endpoint, Fault, Message, Problem, Rows, is_id
from gatepost.http.request.access import Access, Supposed
from gatepost.http.request.active import is_active
from gatepost.http.request.identity import guest, principal_of
from gatepost.http.request.meant import Meant, meant
from gatepost.http.request.reasons import hidden_of
from gatepost.rules.redaction import told_by
from models.tables import share
from models.tables.service_token import ServiceToken
from models.tables.user import User
from policies import Principal
from policies.questions.holders import NotTold
from policies.syntax.attributes import ENVIRONMENT

from .schemas import Asked

_CIRCUMSTANCES = CircumstancesSchema()
USER, ROLE, SERVICE, GUEST = "user", "role", "service", "guest"
_SOMEBODY = "00000000-0000-0000-0000-000000000000"  # no user's id
_KNOWN = {"time": "at", "ip": "ip", "device": "device", "method": "method"}  # of a context


@dataclass(frozen=True)
class Subject:
    """A caller; `user` is the person who it is, or for whom a service token acts."""

    principal: Principal
    user: User | None = None


def subject_of(call: Call, asked: Asked) -> Subject | None:
    """The subject; None where there is none that the asker may view."""
    kind, id = asked["type"], asked["id"]
    if kind == USER and id == GUEST:
        return Subject(guest(call.tenant_id)) if call.tenant_id == call.services.guest_tenant else None
    if kind == USER:
        return _person(call, id)
    if kind == ROLE and id in call.access.policy.roles.of_users:
        return role(call, id)
    if kind == SERVICE and is_id(id) and call.services.collections["tokens"].sees(call, id):
        token = Rows(ServiceToken, call.tenant_id).find(id)
        return None if token is None else service(call, token)
    return None


def role(call: Call, name: str) -> Subject:
    """Somebody of a role, of whom nothing else is known."""
    return Subject(Principal(_SOMEBODY, f"user:{_SOMEBODY}", name, call.tenant_id))


def service(call: Call, token: ServiceToken) -> Subject | None:
    """A service token: what its owner may do, as far as its scopes go. None once it has expired."""
    owner = None if token.has_expired else _person(call, token.owner_id)
    return None if owner is None else Subject(
        replace(owner.principal, kind="service", scopes=frozenset(token.scopes)), owner.user)


def _person(call: Call, id: str) -> Subject | None:
    users = call.services.collections["users"]
    found = Rows(User, call.tenant_id).find(id) if is_id(id) and users.sees(call, id) else None
    if found is None or not is_active(found, call.access, users.guards, certain=True):
        return None
    return Subject(principal_of(found), found)


def circumstances(call: Call, asked: Asked) -> Mapping[str, Any]:
    """What a context says that the rules know. Raises `Problem` for what is no time, address, device or method."""
    said = {name: asked[key] for key, name in _KNOWN.items() if key in asked}
    if not said:
        return {}
    try:
        loaded: Mapping[str, Any] = _CIRCUMSTANCES.load(said)
    except ValidationError as error:
        names = {name: key for key, name in _KNOWN.items()}
        faults = [Fault("invalid_field", Message("This cannot be the {name} of a request.", name=names[name]),
                        pointer=f"/context/{names[name]}") for name in error.messages_dict]
        raise Problem.of(faults, "invalid_body") from None
    return loaded


class Known:
    """Keeps what the evaluations of one request have read: each subject, object and share once."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._subjects: dict[tuple[str, str], Subject | None] = {}
        self._rows: dict[str, dict[str, Any]] = {}
        self._shares: dict[str, dict[str, list[tuple[str, str]]]] = {}

    def subject(self, asked: Asked) -> Subject | None:
        """The subject, as `subject_of` finds it."""
        key = asked["type"], asked["id"]
        if key not in self._subjects:
            self._subjects[key] = subject_of(self._call, asked)
        return self._subjects[key]

    def read(self, resources: Iterable[Asked]) -> None:
        """Read the rows of several resources: those of a type together."""
        ids: dict[str, set[str]] = {}
        for one in resources:
            if is_id(one["id"]):
                ids.setdefault(one["type"], set()).add(one["id"])
        for kind, some in ids.items():
            self._read(kind, some)

    def row(self, kind: str, id: str) -> Any:
        """The object, if the asker may view it; None."""
        if is_id(id) and id not in self._rows.get(kind, {}):
            self._read(kind, {id})
        return self._rows.get(kind, {}).get(id)

    def shares(self, kind: str, id: str) -> list[tuple[str, str]]:
        """(grantee, right) of the shares of an object: they are read together with those of the other rows."""
        known = self._shares.setdefault(kind, {})
        if id not in known:
            others = [other for other, row in self._rows.get(kind, {}).items() if row is not None]
            wanted = {id, *others}.difference(known)
            found = share.in_effect(self._call.tenant_id, kind, wanted)
            known |= {one: found.get(one, []) for one in wanted}
        return known[id]

    def _read(self, kind: str, ids: set[str]) -> None:
        collection = cast(Collection | None, self._call.services.registry.by_resource.get(kind))
        rows = [] if collection is None else collection.rows(self._call).find_all(ids)
        visible = {row.id: row for row in rows if collection is not None and collection.shows(
            self._call, row.__data__)}
        self._rows.setdefault(kind, {}).update((id, visible.get(id)) for id in ids)


class _Looking(Supposed):
    """The access of a subject, to whom nothing is there that the asker may not view, too."""

    __slots__ = ("_asker",)

    def __init__(self, asker: Access, subject: Principal, environment: Any) -> None:
        super().__init__(asker.policy, subject, environment)
        self._asker = asker

    def allows(self, permission: str, row: Mapping[str, Any] | None = None) -> bool:
        viewed = permission.endswith(".view")
        return self.would_allow(permission, row) and (not viewed or self._asker.would_allow(permission, row))


class Question:
    """One resource type and action, in certain circumstances, as one asker asks about them."""

    def __init__(self, call: Call, kind: str, action: str, context: Asked, known: Known | None = None) -> None:
        self.call, self.permission, self.verb = call, f"{kind}.{action}", action
        self._kind, self._read = kind, known or Known(call)
        self.known = self.permission in call.access.policy.vocabulary.by_permission
        self.collection = cast(Collection | None, call.services.registry.by_resource.get(kind))
        self._said = circumstances(call, context)
        self._requests: dict[bool, Meant] = {}

    def requests(self, *, about_row: bool) -> Meant:
        """The requests that would ask for it."""
        if about_row not in self._requests:  # a search asks about many rows
            endpoints = self.call.services.registry.by_permission.get(self.permission, ())
            self._requests[about_row] = meant(endpoints, self.permission, self.collection, about_row=about_row,
                                              method=self._said.get("method"))
        return self._requests[about_row]

    def access(self, subject: Subject, method: str) -> Access:
        """The access of a subject by a request of this method."""
        return Access(self.call.access.policy, subject.principal, self._environment(method))

    def _environment(self, method: str) -> Any:
        return environment(self._said, method, self.call.services.settings.zone, self.call.access.environment)

    def row(self, id: str) -> Any:
        """The object, if the asker may view it; None."""
        return self._read.row(self._kind, id)

    def holders(self, row: Any) -> Holders:
        """Those who may do it to a row, or to any (None)."""
        call, requests = self.call, self.requests(about_row=row is not None)
        at = self._environment(requests.methods[0])
        about = asked_about(requests, row, call.tenant_id, {
            name: getattr(at, name) for name in ENVIRONMENT if name not in ("method", "request")}, each=True,
            shares=() if row is None else self._read.shares(self._kind, row.id))
        return Holders(call.services.database, call.access.policy, about, viewer=call.access,
                       ranks=ranks(call.access.policy, self.permission, self.collection, row),
                       guards=call.services.collections["users"].guards,
                       guests=call.tenant_id == call.services.guest_tenant, certain=True)

    def permits(self, subject: Subject | None, resource: Asked) -> bool:
        """Whether a request of the subject would be permitted."""
        if subject is None or not self.known:
            return False
        if self.drafts(resource):
            return self._creates(subject, resource["properties"])
        if self.verb == "create":  # of an object that is to be made the id is not known
            return self._decided(subject, None)
        if not resource["id"]:
            return self._decided(subject, None)
        row = self.row(resource["id"])
        return row is not None and self.permits_on(subject, row)

    def drafts(self, resource: Asked) -> bool:
        """True if a new row with certain properties is asked about."""
        return bool(self.verb == "create" and self._endpoint is not None and resource["properties"])

    @cached_property
    def _endpoint(self) -> Endpoint | None:
        """The one that makes rows of the collection."""
        served = self.collection.served if self.collection is not None else ()
        return next((one for one in served if one.permission == self.permission and one.load is not None), None)

    def permits_on(self, subject: Subject, row: Any) -> bool:
        """The same of a row that the asker may view."""
        return not self.hides(row) and self._decided(subject, row)

    def hides(self, row: Any) -> bool:
        """Whether the rules look at something of a row that the asker may not see."""
        assert self.collection is not None
        read = set(self.call.access.policy.looks_at(self.requests(about_row=True).needed).obj)
        return bool(read & hidden_of(self.call, self.collection, dict(row.__data__)))

    def _decided(self, subject: Subject, row: Any) -> bool:
        """True if each of the requests is permitted, whatever its method is."""
        policy, who, requests = self.call.access.policy, subject.principal, self.requests(about_row=row is not None)
        needed = requests.needed
        if not all(policy.covers(who, permission) for permission in needed):
            return False
        # Turned round, rules are about users and guests.
        as_user = who.kind != SERVICE or "kind" not in policy.looks_at(needed).sub
        if (subject.user is not None and as_user) or who.kind == GUEST:
            try:
                holders = self.holders(row)
                return holders.guests is not None if subject.user is None else holders.permits(subject.user)
            except NotTold:  # a plugin's function has to be asked about this caller
                pass
        if self._tells(subject, needed):
            return False
        every = [self.access(subject, method) for method in requests.told_apart(policy)]
        if row is None:
            return all(access.may_ever(one) for access in every for one in needed)
        roles = ranks(policy, self.permission, self.collection, row)
        return (roles is None or who.role in roles) and all(
            access.would_allow(one, row.__data__) for access in every for one in needed)

    def _tells(self, subject: Subject, permissions: tuple[str, ...]) -> bool:
        """Whether the rules look at something of a person that the asker may not see."""
        person = None if subject.user is None else dict(subject.user.__data__)
        access = Supposed(self.call.access.policy, subject.principal, self.call.access.environment)
        return bool(told_by(self.call, access, permissions, person, None, (), creates=self.verb == "create"))

    def _creates(self, subject: Subject, properties: Mapping[str, Any]) -> bool:
        """Returns true if the service would let the subject create an object with these properties."""
        assert self.collection is not None and self._endpoint is not None
        access = _Looking(self.call.access, subject.principal, self._environment(self._endpoint.method))
        if self._tells(subject, (self.permission,)):
            return False
        asked = Call(self.call.services, self._endpoint, self.call.request, {})
        asked.principal, asked.access = subject.principal, access
        try:
            row, unknown = drafted(self.collection, asked, properties)
        except Problem:
            return False
        roles = ranks(access.policy, self.permission, self.collection, row)
        return (roles is None or subject.principal.role in roles) and access.is_certain(
            self.permission, row.__data__, unknown)
