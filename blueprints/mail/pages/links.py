"""Pages where mail is on: ask for a link after a password was forgotten, and send one to a user."""

from __future__ import annotations

from typing import Any

from flask import Response

from gatepost import Call, Problem, Routes
from gatepost.http.credentials import console_sessions
from gatepost.http.credentials.console_sessions import member
from gatepost.http.request.endpoint import Endpoint
from settings import Settings

from ...console.pages import drawn_again, form, page, see_other, sentence, served, showing, typed
from .. import configured
from ..endpoints import routes as api

FORGOTTEN = "/console/forgotten"
SENT = f"{FORGOTTEN}/sent"
_PERSON = "/console/people/<id>/password-link/mail"
_OPEN = "a user who forgot their password cannot log in"
_API: dict[str, Endpoint] = {endpoint.name: endpoint for endpoint in api.endpoints}


def _when(settings: Settings) -> bool:
    return served(settings) and configured.is_on(settings)


show = showing(__package__)
routes = Routes("console_mail", "Pages that are served where mail is on.", when=_when)


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


def _requested(call: Call, _: Any) -> Response:
    return see_other(call, SENT)


def _mailed(call: Call, result: dict[str, Any]) -> Response:
    return show(call, "password_mailed.html", person=call.row.id, hours=result["hours"])


routes.endpoints += [
    form(_API["request_reset"], FORGOTTEN, _requested, drawn_again(_again), identify=console_sessions.visitor),
    form(_API["send_link"], _PERSON, _mailed, identify=member),
]
