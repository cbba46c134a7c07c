"""Logging in to the console and out of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import quote

from flask import Response

from gatepost import Call, Problem
from gatepost.http.credentials import console_sessions

from ..sessions.login import routes as session
from ..sessions.login import user_checked
from .forms import form, typed
from .frame import LOGIN, drawn_again, further_step, inside, page, routes, see_other, show, texts
from .navigation import ways_to_log_in

_API = {endpoint.name: endpoint for endpoint in session.endpoints}
_OPEN = "a user who logs in has no session yet"


@routes.get(LOGIN, **page(public=_OPEN, query=texts("next"), identify=console_sessions.visitor))
def login(call: Call) -> Response:
    """Show the form to log in."""
    return _drawn(call, inside(call.query.get("next")))


def _drawn(call: Call, wanted: str, email: str = "", problem: Problem | None = None) -> Response:
    said = call.services.translations.wanted(call.request).say
    ways = [(f"{way.path}?next={quote(wanted, safe='/')}", said(way.title)) for way in ways_to_log_in(call)]
    return show(call, "login.html", wanted=wanted, email=email, ways=ways,
                problem="" if problem is None else said(problem.detail))


def _again(call: Call, problem: Problem) -> Response:
    """Draws the form again, or leads to the page of the next step."""
    sent = typed(call)
    return further_step(call, problem, sent.get("_next")) or _drawn(
        call, inside(sent.get("_next")), sent.get("email", ""), problem)


def _start(call: Call) -> None:
    console_sessions.start(call, user_checked(call))


def _in(call: Call, _: Any) -> Response:
    return see_other(call, inside(typed(call).get("_next")))


def _out(call: Call, _: Any) -> Response:
    call.headers["Clear-Site-Data"] = '"cache"'
    return see_other(call, LOGIN)


routes.endpoints += [
    form(replace(_API["log_in"], handler=_start), LOGIN, _in, drawn_again(_again),
         identify=console_sessions.visitor, carries=()),
    form(replace(_API["log_out"], handler=console_sessions.end, body=None), "/console/logout", _out,
         carries=(), by_cookie=False),
]
