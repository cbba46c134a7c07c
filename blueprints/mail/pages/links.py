"""Pages where mail is on: ask for a link after a password was forgotten, send one to a user, and invite a new user."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from flask import Response

from gatepost import Call, Collection, Problem, Routes
from gatepost.collections.asking import ask
from gatepost.http.credentials import console_sessions
from gatepost.http.credentials.console_sessions import member
from gatepost.http.request.endpoint import Endpoint
from settings import Settings

from ...console.pages import drawn_again, form, page, see_other, sentence, served, showing, typed
from ...console.people import new
from ...console.people.person import may_run
from .. import configured
from ..endpoints import routes as api
from ..jobs import password_link

FORGOTTEN = "/console/forgotten"
SENT = f"{FORGOTTEN}/sent"
_PERSON = "/console/people/<id>/password-link/mail"
_INVITE = f"{new.NEW}/invite"
_INVITED = "/console/people/<id>/invited"
_OPEN = "a user who forgot their password cannot log in"
_API: dict[str, Endpoint] = {endpoint.name: endpoint for endpoint in api.endpoints}


def when(settings: Settings) -> bool:
    """True if pages of the console are served, and mail is on."""
    return served(settings) and configured.is_on(settings)


show = showing(__package__)
routes = Routes("console_mail", "Pages that are served where mail is on.", when=when)


@routes.get(FORGOTTEN, **page(public=_OPEN, identify=console_sessions.visitor))
def forgotten(call: Call) -> Response:
    """Show the form that asks for a link."""
    return _drawn(call, "")


def _drawn(call: Call, email: str, problem: Problem | None = None) -> Response:
    return show(call, "password_forgotten.html", framed=False, email=email,
                problem="" if problem is None else sentence(call, problem))


def _again(call: Call, problem: Problem) -> Response:
    return _drawn(call, typed(call).get("email", ""), problem)


@routes.get(SENT, **page(public=_OPEN, identify=console_sessions.visitor))
def sent(call: Call) -> Response:
    """Say that a message is on its way, if there is such an account."""
    return show(call, "password_mailed.html", framed=False, person="", hours=call.services.settings.password_link_hours)


@routes.of_each
def invitations(collection: Collection) -> Iterator[Endpoint]:
    """The form that creates a user and sends the link at once."""
    if collection.name == "users":
        create = next(endpoint for endpoint in collection.served if endpoint.name == "create")
        yield form(replace(create, handler=partial(_invite, create)), _INVITE, _created, drawn_again(new.drawn),
                   identify=member)


def _invite(create: Endpoint, call: Call) -> dict[str, Any]:
    user: dict[str, Any] = create.handler(call)
    if not may_run(call, "users_send_password_link", user["id"]):
        raise Problem("forbidden", "You may not send this user a link. Create the user without an invitation.")
    password_link.post(call.row.tenant_id, user["id"])
    call.write.note, call.write.enqueued = "invited by mail", True
    return user


def _created(call: Call, user: dict[str, Any]) -> Response:
    return see_other(call, _INVITED.replace("<id>", user["id"]))


@routes.get(_INVITED, **page("user.create_password_link", narrows=True, identify=member))
def invited(call: Call) -> Response:
    """Say that the invitation of a new user is on its way."""
    user = ask(call, "users_get", {"fields": "id"}, path={"id": call.path["id"]})
    return show(call, "password_mailed.html", person=user["id"], hours=call.services.settings.password_link_hours)


def _requested(call: Call, _: Any) -> Response:
    return see_other(call, SENT)


def _mailed(call: Call, result: dict[str, Any]) -> Response:
    return show(call, "password_mailed.html", person=call.row.id, hours=result["hours"])


routes.endpoints += [
    form(_API["request_reset"], FORGOTTEN, _requested, drawn_again(_again), identify=console_sessions.visitor),
    form(_API["send_link"], _PERSON, _mailed, identify=member),
]
