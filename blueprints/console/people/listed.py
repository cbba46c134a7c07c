"""*People*: accounts and their roles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from flask import Response

from gatepost import Call, Message, Problem, Rows
from gatepost.collections.asking import ask
from gatepost.http.credentials.console_sessions import member
from models.tables import demo_row
from models.tables.user import User
from policies import ALWAYS

from ..frame import page, routes, show, texts
from ..naming import sentence
from ..overview import Step, suggest

PEOPLE = "/console/people"
_PRIVATE = "user.view_private"
_FILTERS = ("q", "role", "group", "active")
_PARAMETERS = (*_FILTERS, "cursor", "before")
_SHOWN = ("email", "role", "department", "groups", "active")
_ROWS = 50
_GROUPS = 50  # that are counted


@routes.get(PEOPLE, **page("user.view", query=texts(*_PARAMETERS), narrows=True, identify=member))
def listed(call: Call) -> Response:
    """Show who has an account."""
    parameters = {name: call.query.get(name, "").strip() for name in _PARAMETERS}
    users: dict[str, Any] = {"items": [], "next_cursor": None, "prev_cursor": None}
    problem = ""
    try:
        users = ask(call, "users_list", _query(parameters))
    except Problem as refusal:
        problem = sentence(call, refusal)
    items = users["items"]
    return show(call, "people.html", parameters=parameters, items=items, problem=problem,
                columns=[name for name in _SHOWN if any(name in one for one in items)],
                roles=call.access.policy.roles.of_users, private=call.access.may_ever(_PRIVATE),
                ways=ways(call), may_create=call.access.may_ever("user.create"),
                later=users["next_cursor"] and _link(parameters, cursor=users["next_cursor"]),
                earlier=users["prev_cursor"] and _link(parameters, before=users["prev_cursor"]))


def _has_others(call: Call) -> bool:
    """True if the tenant has users besides the caller and the demo users."""
    others = Rows(User, call.tenant_id).select(User.id).where(
        User.erased_at.is_null(), User.id != (call.principal.id or ""),
        User.id.not_in(demo_row.ids_of(call.tenant_id, User)))
    return bool(others.limit(1).exists())


suggest(Step("/console/people/new", "user.create", Message("Add a user"),
             Message("A role decides what the user may do."), _has_others, place=30))


@routes.get(f"{PEOPLE}/roles", **page("user.view", narrows=True, identify=member, cost=20))
def by_role(call: Call) -> Response:
    """Show how many have which role, and how many are in each group that a rule names."""
    roles, known = call.access.policy.roles, list[dict[str, Any]]()
    for name in roles.of_users:
        parents = [link.inherits for link in roles.parents.get(name, ())]
        known.append({"name": name, "inherits": parents, "count": _number(call, {"role": name})})
    everybody = _number(call, {})
    left = everybody - sum(one["count"] for one in known)
    return show(call, "people_roles.html", roles=known, everybody=everybody, left=max(0, left),
                groups=[{"name": name, "role": role, "count": _number(call, {"groups__has": name})}
                        for name, role in _groups(call).items()], ways=ways(call))


def _groups(call: Call) -> Mapping[str, str]:
    """The first groups that rules name → the role that a login gives to members; empty: none.

    For callers who may know the rules, and of everybody in which groups they are.
    """
    access = call.access
    if not access.may_ever("policy.view") or access.plan(_PRIVATE).outcome is not ALWAYS:
        return {}
    named = access.policy.looks_at(tuple(access.policy.vocabulary.by_permission)).groups
    roles = {line.group: line.role for line in access.policy.roles.groups}
    return {name: roles.get(name, "") for name in sorted({*named, *roles})[:_GROUPS]}


def ways(call: Call) -> list[str]:
    """The pages of people that are served and are for the caller."""
    may = call.access.may_ever
    found = ["all", "roles", *(("who", "unused") if may("policy.view") else ())]
    if "who" in found and all(map(may, ("audit.view", "token.view", _PRIVATE))):
        found.append("review")
    return [name for name in found if name in ("all", "roles") or f"{PEOPLE}/{name}" in call.services.registry.paths]


def _number(call: Call, query: Mapping[str, Any]) -> int:
    answer = ask(call, "users_list", {**query, "page": 1, "limit": 1, "fields": "id"})
    return int(answer["total"] if answer.get("total") is not None else answer.get("total_estimate", 0))


def _query(parameters: Mapping[str, str]) -> dict[str, Any]:
    by = "email__startswith" if "@" in parameters["q"] else "name__contains"
    return {by: parameters["q"], "role": parameters["role"], "groups__has": parameters["group"],
            "active": parameters["active"], "cursor": parameters["cursor"],
            "before": parameters["before"], "limit": _ROWS, "fields": ",".join(("id", "name", *_SHOWN))}


def _link(parameters: Mapping[str, str], **changes: str) -> str:
    return f"{PEOPLE}?{urlencode({**{name: parameters[name] for name in _FILTERS if parameters[name]}, **changes})}"
