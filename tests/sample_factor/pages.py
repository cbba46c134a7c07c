"""The page of the console that asks for the code, and completes the login."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flask import Response

from blueprints.console.pages import drawn_again, form, page, see_other, showing, texts, typed
from gatepost import Call, Problem, Routes
from gatepost.http.credentials import console_sessions
from models.tables.user import User
from tests import sample_factor

show = showing(__package__)
routes = Routes("factor_pages", "The code of a login, as a page.")
_PATH = "/console/code/<challenge>"
_COMPLETE = next(endpoint for endpoint in sample_factor.routes.endpoints if endpoint.name == "complete")


@routes.get(_PATH, **page(public="the login is not complete", query=texts("next"), identify=console_sessions.visitor))
def code(call: Call) -> Response:
    """Show the form for the code."""
    return show(call, "code.html", challenge=call.path["challenge"], problem="")


@routes.get("/console/lamps", **page("product.create"))
def lamps(call: Call) -> Response:
    """Show a page that a rule about the login opens."""
    return show(call, "code.html", challenge="", problem="")


def _again(call: Call, problem: Problem) -> Response:
    return show(call, "code.html", challenge=typed(call).get("challenge", ""), problem=problem.detail)


def _start(call: Call) -> None:
    user = User.by_id(call.prepared)
    assert user is not None
    console_sessions.start(call, user, {"mfa": True})


def _inside(call: Call, _: Any) -> Response:
    return see_other(call, "/console")


routes.endpoints.append(form(replace(_COMPLETE, handler=_start), "/console/code", _inside, drawn_again(_again),
                             identify=console_sessions.visitor, carries=()))
