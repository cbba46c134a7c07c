"""One evaluation: the principal of a subject, the object of a resource, and the decision of the service.

An object that the caller may not view is treated as absent. If the rules read a field that the caller may not see, the
decision is a deny, so that no answer reveals it.
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
from gatepost.http.request.identity import guest, principal_of, with_login
from gatepost.http.request.implied import ImpliedRequests, implied_requests
from gatepost.http.request.reasons import hidden_of
from gatepost.rules.redaction import hidden_fields_read
from models.tables import share
from models.tables.service_token import ServiceToken
from models.tables.user import User
from policies import Principal
from policies.evaluation.principal import Login
from policies.questions.holders import Undetermined
from policies.syntax.attributes import ENVIRONMENT

from .schemas import JsonObject

_CIRCUMSTANCES = CircumstancesSchema()
USER, ROLE, SERVICE, GUEST = "user", "role", "service", "guest"
_SOMEBODY = "00000000-0000-0000-0000-000000000000"  # an id that no user has
_OPEN = frozenset(("id", "key", "role", "tenant_id", "kind"))  # fields of a subject that every caller may see
_KNOWN = {"time": "at", "ip": "ip", "device": "device", "method": "method"}  # name in a context → parameter


@dataclass(frozen=True)
class Subject:
    """A subject; `user` is its account, or the owner of a service token; None for guests and roles."""

    principal: Principal
    user: User | None = None


def subject_of(call: Call, described: JsonObject) -> Subject | None:
    """Returns the subject; None if there is none that the caller may view."""
    kind, id = described["type"], described["id"]
    if kind == USER and id == GUEST:
        return Subject(guest(call.tenant_id)) if call.tenant_id == call.services.guest_tenant else None
    if kind == USER:
        return _logged_in(call, _person(call, id), described)
    if kind == ROLE and id in call.access.policy.roles.of_users:
        return _logged_in(call, role(call, id), described)
    if kind == SERVICE and is_id(id) and call.services.collections["tokens"].sees(call, id):
        token = Rows(ServiceToken, call.tenant_id).find(id)
        return None if token is None else service(call, token)
    return None


def _logged_in(call: Call, subject: Subject | None, described: JsonObject) -> Subject | None:
    """Returns a user with the attributes of a login that the properties of the subject name."""
    login = login_of(call, described)
    if subject is None or not login:
        return subject
    return replace(subject, principal=with_login(subject.principal, login))


def login_of(call: Call, described: JsonObject) -> Login:
    """Returns the properties of a subject that are attributes of a login. Others count for nothing."""
    properties, login = described.get("properties", {}), Login()
    for name, column in call.access.policy.vocabulary.login.items():
        value = properties.get(name)
        if type(value) is column.type and (not column.values or value in column.values):
            login[name] = value
    return login


def role(call: Call, name: str) -> Subject:
    """Returns a fictitious user of a role, without other attributes."""
    return Subject(Principal(_SOMEBODY, f"user:{_SOMEBODY}", name, call.tenant_id))


def service(call: Call, token: ServiceToken) -> Subject | None:
    """Returns a service token as subject: its owner, limited to the token's scopes. None if it has expired."""
    owner = None if token.has_expired else _person(call, token.owner_id)
    return None if owner is None else Subject(
        replace(owner.principal, kind="service", scopes=frozenset(token.scopes)), owner.user)


def _person(call: Call, id: str) -> Subject | None:
    users = call.services.collections["users"]
    user = Rows(User, call.tenant_id).find(id) if is_id(id) and users.sees(call, id) else None
    if user is None or not is_active(user, call.access, users.guards, certain=True):
        return None
    return Subject(principal_of(user), user)


def circumstances(call: Call, context: JsonObject) -> Mapping[str, Any]:
    """Reads time, address, device and method from a context. Raises `Problem` for an invalid value."""
    values = {name: context[key] for key, name in _KNOWN.items() if key in context}
    if not values:
        return {}
    try:
        loaded: Mapping[str, Any] = _CIRCUMSTANCES.load(values)
    except ValidationError as error:
        names = {name: key for key, name in _KNOWN.items()}
        faults = [Fault("invalid_field", Message("This cannot be the {name} of a request.", name=names[name]),
                        pointer=f"/context/{names[name]}") for name in error.messages_dict]
        raise Problem.of(faults, "invalid_body") from None
    return loaded


class Cache:
    """A cache for the evaluations of one request: each subject, object and share is read once."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._questions: dict[tuple[str, str, str], Question] = {}
        self._subjects: dict[tuple[object, ...], Subject | None] = {}
        self._rows: dict[str, dict[str, Any]] = {}
        self._shares: dict[str, dict[str, list[tuple[str, str]]]] = {}

    def subject(self, described: JsonObject) -> Subject | None:
        """Returns the subject, as `subject_of` does."""
        key = described["type"], described["id"], *login_of(self._call, described).items()
        if key not in self._subjects:
            self._subjects[key] = subject_of(self._call, described)
        return self._subjects[key]

    def question(self, kind: str, action: str, context: JsonObject) -> Question:
        """Returns the question about a resource type and an action. Raises `Problem` for an invalid context."""
        key = kind, action, repr([(name, context[name]) for name in _KNOWN if name in context])
        if key not in self._questions:
            self._questions[key] = Question(self._call, kind, action, context, self)
        return self._questions[key]

    def read(self, resources: Iterable[JsonObject]) -> None:
        """Reads the rows of several resources, with one statement for each type."""
        ids: dict[str, set[str]] = {}
        for resource in resources:
            if is_id(resource["id"]):
                ids.setdefault(resource["type"], set()).add(resource["id"])
        for kind, ids_of_kind in ids.items():
            self._read(kind, ids_of_kind)

    def row(self, kind: str, id: str) -> Any:
        """Returns the object; None if the caller may not view it."""
        if is_id(id) and id not in self._rows.get(kind, {}):
            self._read(kind, {id})
        return self._rows.get(kind, {}).get(id)

    def shares(self, kind: str, id: str) -> list[tuple[str, str]]:
        """Lists (grantee, right) of the shares of an object. Reads the shares of all cached rows at once."""
        cached = self._shares.setdefault(kind, {})
        if id not in cached:
            visible = [row_id for row_id, row in self._rows.get(kind, {}).items() if row is not None]
            missing = {id, *visible}.difference(cached)
            shares = share.in_effect(self._call.tenant_id, kind, missing)
            cached |= {object_id: shares.get(object_id, []) for object_id in missing}
        return cached[id]

    def _read(self, kind: str, ids: set[str]) -> None:
        collection = cast(Collection | None, self._call.services.registry.by_resource.get(kind))
        rows = [] if collection is None else collection.rows(self._call).find_all(ids)
        visible = {row.id: row for row in rows if collection is not None and collection.shows(
            self._call, row.__data__)}
        self._rows.setdefault(kind, {}).update((id, visible.get(id)) for id in ids)


class _AlsoVisible(Supposed):
    """The access of a subject, limited to objects that the caller may also view."""

    __slots__ = ("_caller",)

    def __init__(self, caller: Access, subject: Principal, environment: Any) -> None:
        super().__init__(caller.policy, subject, environment)
        self._caller = caller

    def allows(self, permission: str, row: Mapping[str, Any] | None = None) -> bool:
        viewed = permission.endswith(".view")
        return self.would_allow(permission, row) and (not viewed or self._caller.would_allow(permission, row))


class _ToUnshared(Supposed):
    """The access of a subject to an object that is shared with nobody."""

    __slots__ = ()

    def shared(self, principal: Principal, row: Mapping[str, Any], permission: str) -> bool:
        return False


class Question:
    """One resource type and action, with a context, asked by one caller."""

    def __init__(self, call: Call, kind: str, action: str, context: JsonObject, cache: Cache | None = None) -> None:
        self.call, self.permission, self.verb = call, f"{kind}.{action}", action
        self._kind, self._cache = kind, cache or Cache(call)
        self.is_known = self.permission in call.access.policy.vocabulary.by_permission
        self.collection = cast(Collection | None, call.services.registry.by_resource.get(kind))
        self._circumstances = circumstances(call, context)
        self._requests: dict[bool, ImpliedRequests] = {}
        self._environments: dict[str, Any] = {}

    def requests(self, *, about_row: bool) -> ImpliedRequests:
        """Returns the requests that need the permission."""
        if about_row not in self._requests:  # cached, because a search evaluates many rows
            endpoints = self.call.services.registry.by_permission.get(self.permission, ())
            self._requests[about_row] = implied_requests(endpoints, self.permission, self.collection,
                                                         about_row=about_row, method=self._circumstances.get("method"))
        return self._requests[about_row]

    def access(self, subject: Subject, method: str) -> Access:
        """Returns the access of a subject for a request with this method."""
        return Access(self.call.access.policy, subject.principal, self._environment(method))

    def _environment(self, method: str) -> Any:
        if method not in self._environments:
            self._environments[method] = environment(
                self._circumstances, method, self.call.services.settings.zone, self.call.access.environment)
        return self._environments[method]

    def row(self, id: str) -> Any:
        """Returns the object; None if the caller may not view it."""
        return self._cache.row(self._kind, id)

    def holders(self, row: Any, login: Mapping[str, Any]) -> Holders:
        """Returns the users who are permitted on a row, with a login that has these attributes; None: on any row."""
        call, requests = self.call, self.requests(about_row=row is not None)
        at = self._environment(requests.methods[0])
        about = asked_about(requests, row, call.tenant_id, {
            name: getattr(at, name) for name in ENVIRONMENT if name not in ("method", "request")}, each=True,
            shares=() if row is None else self._cache.shares(self._kind, row.id), login=login)
        return Holders(call.services.database, call.access.policy, about, viewer=call.access,
                       ranks=ranks(call.access.policy, self.permission, self.collection, row),
                       guards=call.services.collections["users"].guards,
                       guests=call.tenant_id == call.services.guest_tenant, certain=True)

    def permits(self, subject: Subject | None, resource: JsonObject) -> bool:
        """True if a request of the subject would be permitted."""
        if subject is None or not self.is_known:
            return False
        if self.drafts(resource):
            return self._may_create(subject, resource["properties"])
        if self.verb == "create":  # the id of an object to create is ignored
            return self._is_permitted(subject, None)
        if not resource["id"]:
            return self._is_permitted(subject, None)
        row = self.row(resource["id"])
        return row is not None and self.permits_on(subject, row)

    def drafts(self, resource: JsonObject) -> bool:
        """True if the question is about a new row with given properties."""
        return bool(self.verb == "create" and self._endpoint is not None and resource["properties"])

    @cached_property
    def _endpoint(self) -> Endpoint | None:
        """The endpoint that creates rows of the collection."""
        served = self.collection.served if self.collection is not None else ()
        return next((endpoint for endpoint in served
                     if endpoint.permission == self.permission and endpoint.load is not None), None)

    def permits_on(self, subject: Subject, row: Any) -> bool:
        """True if a request of the subject on this row, which the caller may view, would be permitted."""
        return not self.hides(row) and self._is_permitted(subject, row)

    def hides(self, row: Any) -> bool:
        """True if the rules read a field of the row that the caller may not see."""
        assert self.collection is not None
        columns = set(self.call.access.policy.looks_at(self.requests(about_row=True).needed).obj)
        return bool(columns & hidden_of(self.call, self.collection, dict(row.__data__)))

    def _is_permitted(self, subject: Subject, row: Any) -> bool:
        """True if every one of the requests is permitted, with every method."""
        policy, principal = self.call.access.policy, subject.principal
        requests = self.requests(about_row=row is not None)
        needed = requests.needed
        if not all(policy.covers(principal, permission) for permission in needed):
            return False
        is_open = row is not None and self._is_open(needed, row)
        if not is_open:
            # `holders` answers for users and guests only.
            as_user = principal.kind != SERVICE or "kind" not in policy.looks_at(needed).sub
            if (subject.user is not None and as_user) or principal.kind == GUEST:
                try:
                    holders = self.holders(row, getattr(principal, "login", {}))
                    return holders.guests is not None if subject.user is None else holders.permits(subject.user)
                except Undetermined:  # a plugin's function must be evaluated for this subject
                    pass
            if self._would_reveal(subject, needed):
                return False
        made: type[Access] = _ToUnshared if is_open else Access
        accesses = [made(policy, principal, self._environment(method)) for method in requests.distinct_methods(policy)]
        if row is None:
            return all(access.may_ever(name) for access in accesses for name in needed)
        roles = ranks(policy, self.permission, self.collection, row)
        return (roles is None or principal.role in roles) and all(
            access.would_allow(name, row.__data__) for access in accesses for name in needed)

    def _is_open(self, permissions: tuple[str, ...], row: Any) -> bool:
        """True if a decision about this row depends on nothing of the subject that the caller may not see, nor on the
        login."""
        reads = self.call.access.policy.looks_at(permissions)
        return (_OPEN.issuperset(reads.sub) and not reads.groups and not reads.group_columns
                and not self._cache.shares(self._kind, row.id))

    def _would_reveal(self, subject: Subject, permissions: tuple[str, ...]) -> bool:
        """True if the rules read a field of the subject's user that the caller may not see."""
        person = None if subject.user is None else dict(subject.user.__data__)
        access = Supposed(self.call.access.policy, subject.principal, self.call.access.environment)
        return bool(hidden_fields_read(self.call, access, permissions, person, None, (), creates=self.verb == "create"))

    def _may_create(self, subject: Subject, properties: Mapping[str, Any]) -> bool:
        """True if the subject would be permitted to create an object with these properties."""
        assert self.collection is not None and self._endpoint is not None
        access = _AlsoVisible(self.call.access, subject.principal, self._environment(self._endpoint.method))
        if self._would_reveal(subject, (self.permission,)):
            return False
        call_of_subject = Call(self.call.services, self._endpoint, self.call.request, {})
        call_of_subject.principal, call_of_subject.access = subject.principal, access
        try:
            row, unknown = drafted(self.collection, call_of_subject, properties)
        except Problem:
            return False
        roles = ranks(access.policy, self.permission, self.collection, row)
        return (roles is None or subject.principal.role in roles) and access.is_certain(
            self.permission, row.__data__, unknown)
