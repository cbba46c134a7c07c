"""One user: account, sessions and tokens, and the actions open to the caller."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from flask import Response

from gatepost import Call, Collection, Endpoint, Problem
from gatepost.collections.asking import ask, ask_with_headers
from gatepost.http.credentials import console_sessions
from gatepost.http.credentials.console_sessions import member
from gatepost.http.credentials.step_up import FIELD
from models.base import read_id

from ..data.listed import Kind, possible
from ..forms import form, typed
from ..frame import LOGIN, drawn_again, page, routes, see_other, show
from ..naming import sentence
from ..values import with_commas
from .listed import PEOPLE

_CHANGEABLE = ("name", "email", "role", "department", "groups")
_MOST = 50  # sessions or tokens that are listed
_ACTIONS = ("disable", "enable")

Row = dict[str, Any]


@routes.get(f"{PEOPLE}/<id>", **page("user.view", narrows=True, identify=member, cost=2))
def person(call: Call) -> Response:
    """Show one person."""
    return _drawn(call)


@routes.of_each
def forms(collection: Collection) -> Iterator[Endpoint]:
    """The forms of the page: runs of the endpoints of users, sessions and tokens."""
    served = {endpoint.name: endpoint for endpoint in collection.served}
    again = drawn_again(_drawn)
    if collection.name == "users":
        for name in _ACTIONS:
            yield form(served[name], f"{PEOPLE}/<id>/{name}", _back, again, identify=member)
        yield form(served["update"], f"{PEOPLE}/<id>/change", _back, again, identify=member)
    elif collection.name in ("sessions", "tokens"):
        yield form(served["delete"], f"{PEOPLE}/<person>/{collection.name}/<id>/end", _ended, again, identify=member)


def _back(call: Call, _: Any) -> Response:
    return see_other(call, f"{PEOPLE}/{_whose(call)}")


def _ended(call: Call, _: Any) -> Response:
    if call.path["id"] != call.credential_id:
        return see_other(call, f"{PEOPLE}/{_whose(call)}")
    call.headers["Clear-Site-Data"] = '"cache"'
    call.headers["Set-Cookie"] = console_sessions.cleared(call.services.settings, call.request)
    return see_other(call, LOGIN)


def _whose(call: Call) -> str:
    id = read_id(call.path.get("person", call.path["id"]))
    if id is None:
        raise Problem("not_found")
    return id


def _drawn(call: Call, problem: Problem | None = None) -> Response:
    id, access = _whose(call), call.access
    users = cast(Collection, call.services.collections["users"])
    fields = ",".join((*users.representation.names, *users.computed))
    account, headers = ask_with_headers(call, "users_get", {"fields": fields}, path={"id": id})
    sessions, tokens = (listed_of(call, name, id) for name in ("sessions", "tokens"))
    allowed = account.get("allowed_actions", [])
    faults = _faults(call, problem)
    return show(call, "person.html", account=account, tag=headers.get("ETag", "").strip('"'), allowed=allowed,
                fields=_fields(call, users, account) if "update" in allowed else {}, sent=typed(call), faults=faults,
                changing=problem is not None and call.request.path.endswith("/change"),
                roles=[role for role in access.policy.roles.of_users if access.ranks_over(role)],
                problem="" if problem is None or any(faults.values()) else sentence(call, problem),
                sessions=sessions, tokens=tokens, oneself=id == call.principal.id,
                may_ask=access.may_ever("policy.view"), may_look=access.may_ever("audit.view"),
                may_link=may_run(call, "users_create_password_link", id),
                may_remove_factor=may_run(call, "users_remove_second_factor", id))


def may_run(call: Call, operation: str, id: str) -> bool:
    """True if an operation on the user is served, and neither the policy nor its rules in code refuse it."""
    endpoint = call.services.registry.by_operation.get(operation)
    row = cast(Collection, call.services.collections["users"]).rows(call).find(id)
    if endpoint is None or row is None or not call.access.would_allow(endpoint.permission or "", row.__data__):
        return False
    return endpoint.rules is None or not any(rule.refuses for rule in endpoint.rules(call, row))


def _fields(call: Call, users: Collection, account: Row) -> dict[str, str]:
    """Returns the fields of the user that the caller may see and change: name → text for the form."""
    row = users.visible(call, account["id"])
    fixed = users.fixed_for(call.access, row)
    return {name: with_commas(account[name]) if isinstance(account[name], list) else account[name] or ""
            for name in _CHANGEABLE if name in account and name not in fixed}


def _faults(call: Call, problem: Problem | None) -> dict[str, str]:
    """Returns the faults of the form that changes a user, by name of the field."""
    say, texts_by_field = call.services.translations.wanted(call.request).say, dict.fromkeys((*_CHANGEABLE, FIELD), "")
    for fault in problem.faults if problem is not None else ():
        name = (fault.pointer or "").split("/")[1] if fault.pointer else ""
        if name in texts_by_field:
            texts_by_field[name] = f"{texts_by_field[name]} {say(fault.detail)}".strip()
    return texts_by_field


def listed_of(call: Call, name: str, owner: str) -> Row | None:
    """Returns the sessions or tokens of a user; None if the caller may see none of any user.

    Each has `ends`: true if the caller may end it.
    """
    collection = cast(Collection, call.services.collections[name])
    if not call.access.may_ever(collection.view):
        return None
    answer = ask(call, f"{name}_list", {"owner_id": owner, "limit": _MOST})
    return {"more": answer["has_next"], "items": [
        {**one, "ends": "delete" in possible(call, Kind.of(collection), one["id"], None)} for one in answer["items"]]}
