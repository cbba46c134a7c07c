"""*New user*: an account without a password, whose user then chooses one by a link."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from flask import Response

from gatepost import Call, Collection, Endpoint, Problem
from gatepost.http.credentials.console_sessions import member

from ..forms import form, typed
from ..frame import drawn_again, page, routes, see_other, show
from ..naming import sentence
from .listed import PEOPLE
from .person import may_run

NEW = f"{PEOPLE}/new"
_FIELDS, _MANAGED = ("name", "email"), ("role", "department", "groups")


@routes.get(NEW, **page("user.create", narrows=True, identify=member))
def new(call: Call) -> Response:
    """Show the form for a new user."""
    return drawn(call)


@routes.of_each
def forms(collection: Collection) -> Iterator[Endpoint]:
    """The form of the page: a run of the endpoint that creates a user."""
    if collection.name == "users":
        create = next(endpoint for endpoint in collection.served if endpoint.name == "create")
        yield form(create, NEW, _created, drawn_again(drawn), identify=member)


def _created(call: Call, result: Any) -> Response:
    path, may_link = f"{PEOPLE}/{result['id']}", may_run(call, "users_create_password_link", result["id"])
    return see_other(call, f"{path}/password-link" if may_link else path)


def drawn(call: Call, problem: Problem | None = None) -> Response:
    """Returns the page of the form, also after a refusal."""
    say, access = call.services.translations.wanted(call.request).say, call.access
    fixed = cast(Collection, call.services.collections["users"]).fixed_for(access, None, creates=True)
    names = (*_FIELDS, *(name for name in _MANAGED if name not in fixed))
    faults = dict.fromkeys(names, "")
    for fault in problem.faults if problem is not None else ():
        if (name := (fault.pointer or "/").split("/")[1]) in faults:
            faults[name] = f"{faults[name]} {say(fault.detail)}".strip()
    sent = typed(call)
    values = {name: sent.get(name, "user" if name == "role" else "") for name in names}
    invites = f"{NEW}/invite" in call.services.registry.paths and access.may_ever("user.create_password_link")
    return show(call, "person_new.html", values=values, faults=faults, invites=invites,
                problem="" if problem is None or any(faults.values()) else sentence(call, problem),
                roles=[role for role in access.policy.roles.of_users if access.ranks_over(role)])
